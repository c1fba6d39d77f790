//go:build !noasm

#include "textflag.h"

// func prefetch(p *pixel, stride uintptr)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVQ       p+0(FP), AX
	MOVQ       stride+8(FP), BX
	PREFETCHT0 (AX)
	PREFETCHT0 (AX)(BX*1)
	SUBQ       BX, AX
	PREFETCHT0 (AX)
	RET
