#include "scale.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <libavutil/avutil.h>
#include <libavutil/pixdesc.h>

// The yuvj formats are the full-range twins of the yuv ones; swscale wants the
// range said apart.
static int plain_format(int format, int *full)
{
	switch (format) {
	case AV_PIX_FMT_YUVJ420P: *full = 1; return AV_PIX_FMT_YUV420P;
	case AV_PIX_FMT_YUVJ422P: *full = 1; return AV_PIX_FMT_YUV422P;
	case AV_PIX_FMT_YUVJ444P: *full = 1; return AV_PIX_FMT_YUV444P;
	case AV_PIX_FMT_YUVJ440P: *full = 1; return AV_PIX_FMT_YUV440P;
	case AV_PIX_FMT_YUVJ411P: *full = 1; return AV_PIX_FMT_YUV411P;
	}
	return format;
}

// What a stream does not say is taken as players take it: BT.601 up to
// standard definition, BT.709 above.
static int matrix_of(const AVFrame *f)
{
	switch (f->colorspace) {
	case AVCOL_SPC_BT709: return SWS_CS_ITU709;
	case AVCOL_SPC_FCC: return SWS_CS_FCC;
	case AVCOL_SPC_BT470BG:
	case AVCOL_SPC_SMPTE170M: return SWS_CS_ITU601;
	case AVCOL_SPC_SMPTE240M: return SWS_CS_SMPTE240M;
	case AVCOL_SPC_BT2020_NCL:
	case AVCOL_SPC_BT2020_CL: return SWS_CS_BT2020;
	default: return f->height >= 720 ? SWS_CS_ITU709 : SWS_CS_ITU601;
	}
}

static int is_rgb(int format)
{
	const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
	return d && (d->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL));
}

static int prepare(SegdScaler *s, const AVFrame *src, const AVFrame *dst)
{
	int src_full = src->color_range == AVCOL_RANGE_JPEG;
	int dst_full = dst->color_range == AVCOL_RANGE_JPEG;
	int src_format = plain_format(src->format, &src_full);
	int dst_format = plain_format(dst->format, &dst_full);
	// One side is RGB or both are YUV of the same description, so one matrix and
	// one range say everything; the YUV side decides.
	const AVFrame *yuv = is_rgb(src_format) ? dst : src;
	int matrix = matrix_of(yuv);
	int full = yuv == src ? src_full : dst_full;

	if (s->sws && s->width == src->width && s->height == src->height &&
	    s->dst_width == dst->width && s->dst_height == dst->height &&
	    s->src_format == src_format && s->dst_format == dst_format &&
	    s->matrix == matrix && s->full == full)
		return 0;

	// swscale's short cut from BGR24 to YUV knows the range of television only.
	int flags = SWS_BILINEAR | (dst_full && is_rgb(src_format) ? SWS_ACCURATE_RND : 0);
	sws_freeContext(s->sws);
	s->sws = sws_getContext(src->width, src->height, src_format,
	                        dst->width, dst->height, dst_format,
	                        flags, NULL, NULL, NULL);
	if (!s->sws)
		return AVERROR(EINVAL);
	const int *coefficients = sws_getCoefficients(matrix);
	sws_setColorspaceDetails(s->sws, coefficients, src_full, coefficients, dst_full,
	                         0, 1 << 16, 1 << 16);
	s->width = src->width;
	s->height = src->height;
	s->dst_width = dst->width;
	s->dst_height = dst->height;
	s->src_format = src_format;
	s->dst_format = dst_format;
	s->matrix = matrix;
	s->full = full;
	return 0;
}

static int convert(SegdScaler *s, const AVFrame *src, AVFrame *dst)
{
	int err = prepare(s, src, dst);
	if (err < 0)
		return err;
	int rows = sws_scale(s->sws, (const uint8_t *const *)src->data, src->linesize,
	                     0, src->height, dst->data, dst->linesize);
	return rows == dst->height ? 0 : AVERROR_EXTERNAL;
}

// Where a picture of such rows has the pixel that is at (x, y) when it is mirrored and turned.
static ptrdiff_t offset_of(ptrdiff_t row, int width, int height, int quarters, int mirrored, int x, int y)
{
	int across = x, down = y;
	switch (quarters) {
	case 1: across = y; down = height - 1 - x; break;
	case 2: across = width - 1 - x; down = height - 1 - y; break;
	case 3: across = width - 1 - y; down = x; break;
	}
	if (mirrored)
		across = width - 1 - across;
	return down * row + 3 * (ptrdiff_t)across;
}

// In squares of so many pixels a side, whose rows stay in the fastest cache: turned, one row of
// the one picture is a column of the other.
enum { SQUARE = 32 };

void segd_turn(uint8_t *out, const uint8_t *in, ptrdiff_t row, int in_width, int in_height, int quarters, int mirrored)
{
	int width = quarters % 2 ? in_height : in_width;
	int height = quarters % 2 ? in_width : in_height;
	ptrdiff_t first = offset_of(row, in_width, in_height, quarters, mirrored, 0, 0);
	ptrdiff_t right = offset_of(row, in_width, in_height, quarters, mirrored, 1, 0) - first;
	ptrdiff_t down = offset_of(row, in_width, in_height, quarters, mirrored, 0, 1) - first;
	for (int top = 0; top < height; top += SQUARE)
		for (int left = 0; left < width; left += SQUARE)
			for (int y = top; y < height && y < top + SQUARE; y++) {
				ptrdiff_t from = first + y * down + left * right;
				uint8_t *to = out + 3 * ((size_t)y * width + left);
				for (int x = left; x < width && x < left + SQUARE; x++, from += right, to += 3) {
					to[0] = in[from];
					to[1] = in[from + 1];
					to[2] = in[from + 2];
				}
			}
}

int segd_to_bgr(SegdScaler *s, const AVFrame *src, AVFrame *dst, uint8_t *out, int quarters, int mirrored)
{
	int err = convert(s, src, dst);
	if (err < 0)
		return err;
	if (quarters || mirrored) {
		segd_turn(out, dst->data[0], dst->linesize[0], dst->width, dst->height, quarters, mirrored);
		return 0;
	}
	size_t row = 3 * (size_t)dst->width;
	if ((size_t)dst->linesize[0] == row) {
		memcpy(out, dst->data[0], row * dst->height);
		return 0;
	}
	for (int y = 0; y < dst->height; y++)
		memcpy(out + y * row, dst->data[0] + (size_t)y * dst->linesize[0], row);
	return 0;
}

int segd_to_yuv(SegdScaler *s, const AVFrame *src, AVFrame *dst)
{
	return convert(s, src, dst);
}

void segd_fill(AVFrame *dst, const uint8_t *bgr)
{
	size_t row = 3 * (size_t)dst->width;
	for (int y = 0; y < dst->height; y++)
		memcpy(dst->data[0] + (size_t)y * dst->linesize[0], bgr + y * row, row);
}

void segd_scaler_free(SegdScaler *s)
{
	sws_freeContext(s->sws);
	s->sws = NULL;
}

int64_t segd_frame_pts(const AVFrame *f)
{
	return f->best_effort_timestamp;
}

int segd_frame_damaged(const AVFrame *f)
{
	return (f->flags & AV_FRAME_FLAG_CORRUPT) || f->decode_error_flags;
}

int segd_frame_interlaced(const AVFrame *f)
{
#ifdef AV_FRAME_FLAG_INTERLACED
	return f->flags & AV_FRAME_FLAG_INTERLACED;
#else
	return f->interlaced_frame;
#endif
}

int64_t segd_frame_bytes(const AVFrame *f)
{
	int64_t sum = 0;
	for (int i = 0; i < AV_NUM_DATA_POINTERS; i++)
		if (f->buf[i])
			sum += f->buf[i]->size;
	return sum;
}

// Bringing a picture from a device copies its pixels only.
int segd_copy_props(AVFrame *dst, const AVFrame *src)
{
	return av_frame_copy_props(dst, src);
}

void segd_frame_set_matrix(AVFrame *f, int bt709)
{
	f->color_range = AVCOL_RANGE_MPEG;
	f->colorspace = bt709 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
}
