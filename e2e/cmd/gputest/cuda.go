package main

// #cgo LDFLAGS: -ldl
// #include "cuda.h"
import "C"

import "errors"

// card is the first that the driver has.
type card struct {
	Name   string  `json:"name"`
	Memory float64 `json:"memory_mib"`
	// Integrated says that its memory is the machine's.
	Integrated bool `json:"integrated"`
	Cards      int  `json:"cards"`
	// CUDA is what the driver knows: 12.2 is 12020.
	CUDA int `json:"driver_cuda"`
}

const mib = 1 << 20

// lookAtCard asks the driver, or says why it cannot be asked.
func lookAtCard() (*card, error) {
	var c C.struct_gputest_card
	if C.gputest_look(&c) != 0 {
		return nil, errors.New(C.GoString(&c.error[0]))
	}
	return &card{
		Name: C.GoString(&c.name[0]), Memory: float64(c.total) / mib,
		Integrated: c.integrated != 0, Cards: int(c.cards), CUDA: int(c.driver),
	}, nil
}

// fillCard takes the card's memory, all of it, for as long as this process lives, and says how much that was.
func fillCard() (taken float64, err error) {
	var c C.struct_gputest_card
	var bytes C.ulonglong
	if C.gputest_fill(&c, &bytes) != 0 {
		return 0, errors.New(C.GoString(&c.error[0]))
	}
	return float64(bytes) / mib, nil
}
