#ifndef SEGD_SCALE_H
#define SEGD_SCALE_H

#include <stddef.h>
#include <stdint.h>
#include <libavutil/frame.h>
#include <libswscale/swscale.h>

// A conversion between two pixel formats and sizes, kept while these, the colour matrix
// and the range stay what they were.
typedef struct SegdScaler {
	struct SwsContext *sws;
	int width, height, dst_width, dst_height;
	int src_format, dst_format;
	int matrix, full;
} SegdScaler;

// segd_turn copies BGR24 whose rows are so many bytes apart tight into out, mirrored, left for
// right, if mirrored, and then turned clockwise by quarters of a circle, 0 to 3.
void segd_turn(uint8_t *out, const uint8_t *in, ptrdiff_t row, int in_width, int in_height, int quarters, int mirrored);

// segd_to_bgr converts src to BGR24 in dst (allocated, aligned) and then copies
// it tight into out, 3*width*height bytes, turned as by segd_turn.
int segd_to_bgr(SegdScaler *s, const AVFrame *src, AVFrame *dst, uint8_t *out, int quarters, int mirrored);

// segd_to_yuv converts src, of any format, to dst's planar YUV by dst's own
// matrix and range.
int segd_to_yuv(SegdScaler *s, const AVFrame *src, AVFrame *dst);

// segd_fill copies tight BGR24 rows into an aligned frame.
void segd_fill(AVFrame *dst, const uint8_t *bgr);

void segd_scaler_free(SegdScaler *s);

int64_t segd_frame_pts(const AVFrame *f);
int segd_frame_damaged(const AVFrame *f);
int segd_frame_interlaced(const AVFrame *f);
// segd_frame_bytes is what all of the frame's buffers take.
int64_t segd_frame_bytes(const AVFrame *f);
int segd_copy_props(AVFrame *dst, const AVFrame *src);
void segd_frame_set_matrix(AVFrame *f, int bt709);

#endif
