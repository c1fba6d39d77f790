#include <dlfcn.h>

#include <libavdevice/version.h>

#define STRING(x) #x
#define LIBRARY(major) "libavdevice.so." STRING(major)

/*
 * In place of libavdevice's, for whose sake the binding links that library and with it some 45 more, of screens and sound cards: 16 MiB.
 * The linker leaves it out (--as-needed), and it is loaded once a capture device is opened.
 */
void avdevice_register_all(void)
{
	void *library = dlopen(LIBRARY(LIBAVDEVICE_VERSION_MAJOR), RTLD_NOW);
	void (*all)(void) = library ? dlsym(library, "avdevice_register_all") : 0;
	if (all)
		all();
}
