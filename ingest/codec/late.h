#ifndef SEGD_LATE_H
#define SEGD_LATE_H

#include <dlfcn.h>

#define SEGD_STRING(x) #x
#define SEGD_LIBRARY(name, major) name ".so." SEGD_STRING(major)

/* A function of a library, which is loaded when the file that includes this first asks for one; null where there is none. */
static inline void *segd_late(const char *library, const char *function)
{
	static _Atomic(void *) loaded;
	if (!loaded)
		loaded = dlopen(library, RTLD_NOW);
	return loaded ? dlsym(loaded, function) : 0;
}

#endif
