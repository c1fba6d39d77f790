#include "streams.h"

int segd_attached(const AVStream *s)
{
	return (s->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
}

int segd_best_video(AVFormatContext *f, const uint8_t *skip)
{
	// FFmpeg has no list of streams to be left out: these are none of video meanwhile.
	for (unsigned i = 0; i < f->nb_streams; i++)
		if (skip[i])
			f->streams[i]->codecpar->codec_type = AVMEDIA_TYPE_ATTACHMENT;
	const AVCodec *decoder; // with it, one that can be decoded
	int best = av_find_best_stream(f, AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0);
	if (best == AVERROR_DECODER_NOT_FOUND)
		best = av_find_best_stream(f, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
	for (unsigned i = 0; i < f->nb_streams; i++)
		if (skip[i])
			f->streams[i]->codecpar->codec_type = AVMEDIA_TYPE_VIDEO;
	return best;
}
