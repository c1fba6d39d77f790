#include <libavdevice/version.h>

#include "late.h"

/*
 * In place of libavdevice's, for whose sake the binding links that library and with it some 45 more, of screens and sound cards: 16 MiB.
 * The linker leaves it out (--as-needed), and it is loaded once a capture device is opened.
 */
void avdevice_register_all(void)
{
	void (*all)(void) = segd_late(SEGD_LIBRARY("libavdevice", LIBAVDEVICE_VERSION_MAJOR), "avdevice_register_all");
	if (all)
		all();
}
