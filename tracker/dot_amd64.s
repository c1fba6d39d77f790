//go:build !noasm

#include "textflag.h"

// Eight lanes' sum into the low lane of X: halves, then pairs twice.
#define FOLD(Y, X) \
	VEXTRACTF128 $1, Y, X8 \
	VADDPS       X8, X, X  \
	VHADDPS      X, X, X   \
	VHADDPS      X, X, X

// func dots4(dst, query, rows *float32, fours, eights int)
TEXT ·dots4(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ query+8(FP), SI
	MOVQ rows+16(FP), DX
	MOVQ fours+24(FP), CX
	MOVQ eights+32(FP), R8
	MOVQ R8, R9
	SHLQ $5, R9 // bytes of a row

four:
	LEAQ   (DX)(R9*1), R10
	LEAQ   (R10)(R9*1), R11
	LEAQ   (R11)(R9*1), R12
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	XORQ   AX, AX
	MOVQ   R8, BX

eight:
	VMOVUPS (SI)(AX*1), Y4
	VMULPS  (DX)(AX*1), Y4, Y5
	VADDPS  Y5, Y0, Y0
	VMULPS  (R10)(AX*1), Y4, Y6
	VADDPS  Y6, Y1, Y1
	VMULPS  (R11)(AX*1), Y4, Y7
	VADDPS  Y7, Y2, Y2
	VMULPS  (R12)(AX*1), Y4, Y5
	VADDPS  Y5, Y3, Y3
	ADDQ    $32, AX
	DECQ    BX
	JNZ     eight

	FOLD(Y0, X0)
	FOLD(Y1, X1)
	FOLD(Y2, X2)
	FOLD(Y3, X3)
	VMOVSS X0, (DI)
	VMOVSS X1, 4(DI)
	VMOVSS X2, 8(DI)
	VMOVSS X3, 12(DI)
	ADDQ   $16, DI
	LEAQ   (R12)(R9*1), DX
	DECQ   CX
	JNZ    four
	VZEROUPPER
	RET
