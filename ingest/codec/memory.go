package codec

/*
// Libraries of which nothing is used, as devices.c says.
#cgo LDFLAGS: -Wl,--as-needed
#include <malloc.h>

// Elsewhere than in glibc there is nothing to set, and nothing to give back.
static void keep_little(void) {
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

static void give_back(void) {
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}
*/
import "C"

// By default glibc gives threads heaps of their own, up to eight a core, and what one
// frees no other uses. With two, 1,000 publishers after 1,000 others leave a process of
// 85 to 89 MiB 1 % larger at most; without this it was 94 to 98 MiB, and 5 % larger once
// (two runs each of TestNothingStays in web/whip, SEGD_TEST_CYCLES=1000).
//
// From 128 KiB on it maps a block of its own, which goes back when it is freed, until the first is freed; then the
// limit rises, to 32 MiB in the end, and large blocks lie between small ones that stay. With the limit set it does
// not rise: 18 MiB less with one camera of 854×480.
func init() { C.keep_little() }

// GiveBack gives the system the pages of what FFmpeg and other libraries have freed: 6 ms of a core for
// 62 MiB, 0.3 ms when there is nothing. glibc itself gives back only the end of a heap. FFmpeg frees
// the pictures of a closed decoder together, when the last one that was kept is given back; by then
// the next decoder's lie behind them, and their memory would stay resident.
func GiveBack() { C.give_back() }
