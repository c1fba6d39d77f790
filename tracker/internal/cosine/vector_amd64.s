//go:build !noasm

#include "textflag.h"

// The sums of the eight lanes of four registers, in order, into the four lanes of X,
// the low half of A.
#define FOLD(A, B, C, D, X, XT) \
	VHADDPS      B, A, A    \
	VHADDPS      D, C, C    \
	VHADDPS      C, A, A    \
	VEXTRACTF128 $1, A, XT  \
	VADDPS       XT, X, X

// func dots1x4(dst, query, rows *float32, fours, eights int)
TEXT ·dots1x4(SB), NOSPLIT, $0-40
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
	VMOVUPS     (SI)(AX*1), Y4
	VFMADD231PS (DX)(AX*1), Y4, Y0
	VFMADD231PS (R10)(AX*1), Y4, Y1
	VFMADD231PS (R11)(AX*1), Y4, Y2
	VFMADD231PS (R12)(AX*1), Y4, Y3
	ADDQ        $32, AX
	DECQ        BX
	JNZ         eight

	FOLD(Y0, Y1, Y2, Y3, X0, X1)
	VMOVUPS X0, (DI)
	ADDQ    $16, DI
	LEAQ    (R12)(R9*1), DX
	DECQ    CX
	JNZ     four
	VZEROUPPER
	RET

// func dots2x4(dst, queries, rows *float32, stride, fours, eights int)
TEXT ·dots2x4(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ queries+8(FP), SI
	MOVQ rows+16(FP), DX
	MOVQ stride+24(FP), R13
	MOVQ fours+32(FP), CX
	MOVQ eights+40(FP), R8
	LEAQ (DI)(R13*4), R13 // the second query's products
	MOVQ R8, R9
	SHLQ $5, R9           // bytes of a row
	LEAQ (SI)(R9*1), R14   // the second query

four:
	LEAQ   (DX)(R9*1), R10
	LEAQ   (R10)(R9*1), R11
	LEAQ   (R11)(R9*1), R12
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	XORQ   AX, AX
	MOVQ   R8, BX

eight:
	VMOVUPS     (SI)(AX*1), Y8
	VMOVUPS     (R14)(AX*1), Y9
	VMOVUPS     (DX)(AX*1), Y10
	VMOVUPS     (R10)(AX*1), Y11
	VMOVUPS     (R11)(AX*1), Y12
	VMOVUPS     (R12)(AX*1), Y13
	VFMADD231PS Y10, Y8, Y0
	VFMADD231PS Y11, Y8, Y1
	VFMADD231PS Y12, Y8, Y2
	VFMADD231PS Y13, Y8, Y3
	VFMADD231PS Y10, Y9, Y4
	VFMADD231PS Y11, Y9, Y5
	VFMADD231PS Y12, Y9, Y6
	VFMADD231PS Y13, Y9, Y7
	ADDQ        $32, AX
	DECQ        BX
	JNZ         eight

	FOLD(Y0, Y1, Y2, Y3, X0, X1)
	FOLD(Y4, Y5, Y6, Y7, X4, X5)
	VMOVUPS X0, (DI)
	VMOVUPS X4, (R13)
	ADDQ    $16, DI
	ADDQ    $16, R13
	LEAQ    (R12)(R9*1), DX
	DECQ    CX
	JNZ     four
	VZEROUPPER
	RET
