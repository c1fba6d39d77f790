//go:build !noasm

#include "textflag.h"

// func prefetch(p *pixel, stride uintptr)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD stride+8(FP), R1
	ADD  R1, R0, R2
	SUB  R1, R0, R3
	PRFM (R0), PLDL1KEEP
	PRFM (R2), PLDL1KEEP
	PRFM (R3), PLDL1KEEP
	RET
