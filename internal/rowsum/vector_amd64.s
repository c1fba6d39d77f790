//go:build !noasm

#include "textflag.h"

// func add(dst, rows, weights *float32, stride, n, blocks int)
TEXT ·add(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ weights+16(FP), DX
	MOVQ stride+24(FP), R8
	MOVQ n+32(FP), R9
	MOVQ blocks+40(FP), CX
	SHLQ $2, R8 // bytes

columns:
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3
	MOVQ    SI, R10
	XORQ    AX, AX

row:
	VBROADCASTSS (DX)(AX*4), Y4
	VFMADD231PS  (R10), Y4, Y0
	VFMADD231PS  32(R10), Y4, Y1
	VFMADD231PS  64(R10), Y4, Y2
	VFMADD231PS  96(R10), Y4, Y3
	ADDQ         R8, R10
	INCQ         AX
	CMPQ         AX, R9
	JLT          row

	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	ADDQ    $128, DI
	ADDQ    $128, SI
	DECQ    CX
	JNZ     columns
	VZEROUPPER
	RET
