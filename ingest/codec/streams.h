#ifndef SEGD_STREAMS_H
#define SEGD_STREAMS_H

#include <libavformat/avformat.h>

// segd_attached tells whether a stream is a picture attached to the file, such as a cover.
int segd_attached(const AVStream *s);

// segd_best_video is the index of FFmpeg's best video stream, or below 0. Streams whose byte of
// skip, one a stream, is not 0 are not looked at.
int segd_best_video(AVFormatContext *f, const uint8_t *skip);

#endif
