// What is asked of the driver of NVIDIA's cards, which is loaded when it is needed: to build this takes nothing of
// NVIDIA's.
#ifndef GPUTEST_CUDA_H
#define GPUTEST_CUDA_H

struct gputest_card {
	int cards;                // that there are; what follows is of the first
	int driver;               // the CUDA it knows: 12020 is 12.2
	int integrated;           // its memory is the machine's
	char name[256];
	unsigned long long total; // bytes of its memory
	char error[512];          // what went wrong
};

// gputest_look returns 0, or 1 with error set.
int gputest_look(struct gputest_card *c);

// gputest_fill takes all of the first card's memory until the process ends, and says how many bytes it got. It
// returns 0, or 1 with error set.
int gputest_fill(struct gputest_card *c, unsigned long long *taken);

#endif
