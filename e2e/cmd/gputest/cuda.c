#include "cuda.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
	OUT_OF_MEMORY = 2,  // CUDA_ERROR_OUT_OF_MEMORY
	INTEGRATED    = 18, // CU_DEVICE_ATTRIBUTE_INTEGRATED
};

// The driver's functions, by their names in it. A device is a number, a pointer of the card's is 64 bits.
static struct {
	int (*init)(unsigned);
	int (*driver)(int *);
	int (*count)(int *);
	int (*get)(int *, int);
	int (*name)(char *, int, int);
	int (*total)(size_t *, int);
	int (*attribute)(int *, int, int);
	int (*retain)(void **, int);
	int (*current)(void *);
	int (*alloc)(unsigned long long *, size_t);
	int (*error_name)(int, const char **);
} cu;

static int load(struct gputest_card *c)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		snprintf(c->error, sizeof c->error, "%s", dlerror());
		return 1;
	}
	const struct {
		void *at;
		const char *name;
	} functions[] = {
		{&cu.init, "cuInit"},
		{&cu.driver, "cuDriverGetVersion"},
		{&cu.count, "cuDeviceGetCount"},
		{&cu.get, "cuDeviceGet"},
		{&cu.name, "cuDeviceGetName"},
		{&cu.total, "cuDeviceTotalMem_v2"},
		{&cu.attribute, "cuDeviceGetAttribute"},
		{&cu.retain, "cuDevicePrimaryCtxRetain"},
		{&cu.current, "cuCtxSetCurrent"},
		{&cu.alloc, "cuMemAlloc_v2"},
		{&cu.error_name, "cuGetErrorName"},
	};
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *f = dlsym(lib, functions[i].name);
		if (!f) {
			snprintf(c->error, sizeof c->error, "libcuda.so.1 has no %s", functions[i].name);
			return 1;
		}
		memcpy(functions[i].at, &f, sizeof f);
	}
	return 0;
}

// failed is 0 if code says that all is well.
static int failed(struct gputest_card *c, const char *function, int code)
{
	const char *name = NULL;
	if (!code)
		return 0;
	if (cu.error_name(code, &name) || !name)
		name = "an error it has no name for";
	snprintf(c->error, sizeof c->error, "%s: %s (%d)", function, name, code);
	return 1;
}

int gputest_look(struct gputest_card *c)
{
	int device;
	size_t total;
	memset(c, 0, sizeof *c);
	if (load(c) || failed(c, "cuInit", cu.init(0)) || failed(c, "cuDriverGetVersion", cu.driver(&c->driver)) ||
	    failed(c, "cuDeviceGetCount", cu.count(&c->cards)))
		return 1;
	if (!c->cards) {
		snprintf(c->error, sizeof c->error, "the driver has no card");
		return 1;
	}
	if (failed(c, "cuDeviceGet", cu.get(&device, 0)) || failed(c, "cuDeviceGetName", cu.name(c->name, sizeof c->name, device)) ||
	    failed(c, "cuDeviceTotalMem", cu.total(&total, device)) ||
	    failed(c, "cuDeviceGetAttribute", cu.attribute(&c->integrated, INTEGRATED, device)))
		return 1;
	c->name[sizeof c->name - 1] = 0;
	c->total = total;
	return 0;
}

int gputest_fill(struct gputest_card *c, unsigned long long *taken)
{
	int device;
	void *context;
	*taken = 0;
	if (gputest_look(c))
		return 1;
	if (c->integrated) {
		snprintf(c->error, sizeof c->error, "the card's memory is the machine's: it is not filled");
		return 1;
	}
	if (failed(c, "cuDeviceGet", cu.get(&device, 0)) || failed(c, "cuDevicePrimaryCtxRetain", cu.retain(&context, device)) ||
	    failed(c, "cuCtxSetCurrent", cu.current(context)))
		return 1;
	for (size_t block = (size_t)1 << 30; block >= (size_t)1 << 16;) {
		unsigned long long at;
		int code = cu.alloc(&at, block);
		if (!code)
			*taken += block;
		else if (code == OUT_OF_MEMORY)
			block /= 2;
		else
			return failed(c, "cuMemAlloc", code);
	}
	return 0;
}
