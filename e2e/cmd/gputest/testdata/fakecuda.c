// A libcuda.so.1 with one card, whose memory is FAKE_CARD_MIB. It does what cuda.c asks for, and no more.
#include <stdlib.h>
#include <string.h>

static unsigned long long left;
static void *current;

static int variable(const char *name)
{
	const char *v = getenv(name);
	return v ? atoi(v) : 0;
}

int cuInit(unsigned flags)
{
	left = (unsigned long long)variable("FAKE_CARD_MIB") << 20;
	return left ? 0 : 100;
}

int cuDriverGetVersion(int *v) { *v = 12020; return 0; }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGet(int *d, int n) { *d = n; return 0; }
int cuDeviceGetName(char *s, int n, int d) { strncpy(s, "Fake 1", n); return d; }
int cuDeviceTotalMem_v2(size_t *n, int d) { *n = left; return d; }
int cuDeviceGetAttribute(int *v, int what, int d) { *v = what == 18 && variable("FAKE_CARD_INTEGRATED"); return d; }
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = &left; return d; }
int cuCtxSetCurrent(void *c) { current = c; return 0; }

int cuMemAlloc_v2(unsigned long long *at, size_t n)
{
	if (!current)
		return 201;
	if (variable("FAKE_CARD_LOST"))
		return 719;
	if (n > left)
		return 2;
	left -= n;
	*at = left;
	return 0;
}

int cuGetErrorName(int code, const char **s)
{
	*s = code == 100 ? "CUDA_ERROR_NO_DEVICE" : code == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : NULL;
	return *s == NULL;
}
