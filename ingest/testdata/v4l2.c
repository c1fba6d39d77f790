// A camera for machines without one: preloaded (LD_PRELOAD), it answers what FFmpeg
// asks of a V4L2 device for the file that SEGD_V4L2 names. It sends numbered YUYV
// pictures, one every 10 ms, and is pulled out after SEGD_V4L2_FRAMES of them, to come
// back when it is opened again a moment later.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { BUFFERS = 4, NUMBER_BITS = 8, STEP_US = 40000 };

static int camera = -1; // its file descriptor
static unsigned width = 64, height = 48;
static unsigned char *memory[BUFFERS];
static int queued[BUFFERS], oldest, waiting;
static int frame, taken; // of the device, and since it was opened
static long long began, gone;

static long long now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static int fail(int code)
{
	errno = code;
	return -1;
}

static int opened(const char *path, int fd)
{
	const char *name = getenv("SEGD_V4L2");
	if (fd < 0 || !name || strcmp(path, name))
		return fd;
	if (now_us() - gone < 100000) {
		close(fd);
		return fail(ENODEV);
	}
	camera = fd;
	taken = waiting = oldest = 0;
	return fd;
}

#define OPEN(symbol)                                                        \
	int symbol(const char *path, int flags, ...)                        \
	{                                                                   \
		int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, #symbol); \
		va_list args;                                               \
		va_start(args, flags);                                      \
		int mode = va_arg(args, int);                               \
		va_end(args);                                               \
		return opened(path, real(path, flags, mode));               \
	}
OPEN(open)
OPEN(open64)

int close(int fd)
{
	int (*real)(int) = dlsym(RTLD_NEXT, "close");
	if (fd == camera)
		camera = -1;
	return real(fd);
}

static size_t length(void) { return 2 * (size_t)width * height; }

#define MMAP(symbol, offset_t)                                                         \
	void *symbol(void *at, size_t n, int prot, int flags, int fd, offset_t offset) \
	{                                                                              \
		void *(*real)(void *, size_t, int, int, int, offset_t) =               \
			dlsym(RTLD_NEXT, #symbol);                                     \
		if (fd < 0 || fd != camera)                                            \
			return real(at, n, prot, flags, fd, offset);                   \
		return memory[offset / 65536] = real(NULL, n, prot,                    \
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);                           \
	}
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

static void draw(unsigned char *yuyv, int n)
{
	memset(yuyv, 128, length());
	for (unsigned y = 0; y < height; y++)
		for (unsigned x = 0; x < width; x++)
			yuyv[2 * (y * width + x)] =
				y < height / 2 && n >> (x * NUMBER_BITS / width) & 1 ? 220 : 30;
}

static int dequeue(struct v4l2_buffer *b)
{
	const char *most = getenv("SEGD_V4L2_FRAMES");
	if (most && taken == atoi(most)) {
		gone = now_us();
		return fail(ENODEV);
	}
	long long due = began + (long long)taken * STEP_US;
	if (!waiting || now_us() < due)
		return fail(EAGAIN);
	b->index = queued[oldest];
	oldest = (oldest + 1) % BUFFERS;
	waiting--;
	draw(memory[b->index], frame++);
	taken++;
	b->bytesused = length();
	b->flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
	b->timestamp.tv_sec = due / 1000000;
	b->timestamp.tv_usec = due % 1000000;
	return 0;
}

static int answer(unsigned long request, void *arg)
{
	switch (request) {
	case VIDIOC_QUERYCAP:
		((struct v4l2_capability *)arg)->capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
		return 0;
	case VIDIOC_G_INPUT:
		*(int *)arg = 0;
		return 0;
	case VIDIOC_ENUMINPUT:
		((struct v4l2_input *)arg)->std = 0;
		return 0;
	case VIDIOC_G_PARM:
	case VIDIOC_S_PARM: {
		struct v4l2_captureparm *p = &((struct v4l2_streamparm *)arg)->parm.capture;
		p->capability = V4L2_CAP_TIMEPERFRAME;
		p->timeperframe.numerator = 1;
		p->timeperframe.denominator = 25;
		return 0;
	}
	case VIDIOC_S_FMT: {
		struct v4l2_pix_format *p = &((struct v4l2_format *)arg)->fmt.pix;
		if (p->pixelformat != V4L2_PIX_FMT_YUYV)
			return fail(EINVAL);
		width = p->width;
		height = p->height;
	} // and answer as
	case VIDIOC_G_FMT: {
		struct v4l2_pix_format *p = &((struct v4l2_format *)arg)->fmt.pix;
		p->width = width;
		p->height = height;
		p->pixelformat = V4L2_PIX_FMT_YUYV;
		p->field = V4L2_FIELD_NONE;
		p->bytesperline = 2 * width;
		p->sizeimage = length();
		return 0;
	}
	case VIDIOC_REQBUFS:
		((struct v4l2_requestbuffers *)arg)->count = BUFFERS;
		return 0;
	case VIDIOC_QUERYBUF: {
		struct v4l2_buffer *b = arg;
		b->length = length();
		b->m.offset = 65536 * b->index;
		return 0;
	}
	case VIDIOC_QBUF:
		queued[(oldest + waiting++) % BUFFERS] = ((struct v4l2_buffer *)arg)->index;
		return 0;
	case VIDIOC_DQBUF:
		return dequeue(arg);
	case VIDIOC_STREAMON:
		began = now_us();
		return 0;
	case VIDIOC_STREAMOFF:
		return 0;
	}
	return fail(ENOTTY);
}

int ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, void *) = dlsym(RTLD_NEXT, "ioctl");
	va_list args;
	va_start(args, request);
	void *arg = va_arg(args, void *);
	va_end(args);
	// The request is of 32 bits; some callers extend its sign.
	return fd >= 0 && fd == camera ? answer((unsigned)request, arg) : real(fd, request, arg);
}
