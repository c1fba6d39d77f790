//go:build !noasm

#include "textflag.h"

// Multiplication and addition stay two instructions: a fused one rounds once and
// would give other bits than the Go twin and than processors without it.

// DI acc, R10 its stride, SI x, R8 its stride, DX r, R9 its stride, CX rows.
#define OUTER_ARGS \
	MOVQ acc+0(FP), DI  \
	MOVQ as+8(FP), R10  \
	SHLQ $3, R10        \
	MOVQ x+16(FP), SI   \
	MOVQ xs+24(FP), R8  \
	SHLQ $3, R8         \
	MOVQ r+32(FP), DX   \
	MOVQ rs+40(FP), R9  \
	SHLQ $3, R9         \
	MOVQ rows+48(FP), CX

#define NEXT_ROW(loop) \
	ADDQ R8, SI \
	ADDQ R9, DX \
	DECQ CX     \
	JNZ  loop

// acc += b*x with b spread over a register.
#define FROM_MEMORY(x, b, tmp, acc) \
	VMULPD x, b, tmp     \
	VADDPD tmp, acc, acc

// DI s, R10 the stride of its second row, SI the first of four rows of x that are
// R8 apart, DX v, R15 the second v, R9 quads, R13 fours, Y15 mask.
#define DOTS_ARGS \
	MOVQ    s+0(FP), DI      \
	MOVQ    ss+8(FP), R10    \
	SHLQ    $3, R10          \
	MOVQ    x+16(FP), SI     \
	MOVQ    d+24(FP), R8     \
	SHLQ    $3, R8           \
	MOVQ    v+32(FP), DX     \
	MOVQ    quads+40(FP), R9 \
	MOVQ    fours+48(FP), R13 \
	MOVQ    mask+56(FP), AX  \
	VMOVUPD (AX), Y15        \
	ADDQ    DI, R10

// The four rows' addresses: SI, R11, R12 and BX; AX goes along v, CX counts.
#define QUAD \
	LEAQ (SI)(R8*1), R11  \
	LEAQ (R11)(R8*1), R12 \
	LEAQ (R12)(R8*1), BX  \
	XORQ AX, AX           \
	MOVQ R13, CX

// Two sums of four lanes become the two numbers of X: (0+2)+(1+3) of each.
#define FOLD(Ya, Xa, Yb, Xb) \
	VEXTRACTF128 $1, Ya, X13 \
	VADDPD       X13, Xa, Xa \
	VEXTRACTF128 $1, Yb, X14 \
	VADDPD       X14, Xb, Xb \
	VHADDPD      Xb, Xa, Xa

// func cpuid1() (ecx uint32)
TEXT ·cpuid1(SB), NOSPLIT, $0-4
	MOVL $1, AX
	XORL CX, CX
	CPUID
	MOVL CX, ecx+0(FP)
	RET

// func xgetbv0() (eax uint32)
TEXT ·xgetbv0(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, eax+0(FP)
	RET

// func cpuid7() (ebx uint32)
TEXT ·cpuid7(SB), NOSPLIT, $0-4
	MOVL $7, AX
	XORL CX, CX
	CPUID
	MOVL BX, ebx+0(FP)
	RET

// func outer1x32(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int)
TEXT ·outer1x32(SB), NOSPLIT, $0-56
	OUTER_ARGS
	VMOVUPD (DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	VMOVUPD 96(DI), Y3
	VMOVUPD 128(DI), Y4
	VMOVUPD 160(DI), Y5
	VMOVUPD 192(DI), Y6
	VMOVUPD 224(DI), Y7

row:
	VBROADCASTSD (DX), Y8
	FROM_MEMORY((SI), Y8, Y9, Y0)
	FROM_MEMORY(32(SI), Y8, Y10, Y1)
	FROM_MEMORY(64(SI), Y8, Y11, Y2)
	FROM_MEMORY(96(SI), Y8, Y12, Y3)
	FROM_MEMORY(128(SI), Y8, Y13, Y4)
	FROM_MEMORY(160(SI), Y8, Y14, Y5)
	FROM_MEMORY(192(SI), Y8, Y15, Y6)
	FROM_MEMORY(224(SI), Y8, Y9, Y7)
	NEXT_ROW(row)

	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	VMOVUPD Y3, 96(DI)
	VMOVUPD Y4, 128(DI)
	VMOVUPD Y5, 160(DI)
	VMOVUPD Y6, 192(DI)
	VMOVUPD Y7, 224(DI)
	VZEROUPPER
	RET

// func outer1x16(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int)
TEXT ·outer1x16(SB), NOSPLIT, $0-56
	OUTER_ARGS
	VMOVUPD (DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	VMOVUPD 96(DI), Y3

row:
	VBROADCASTSD (DX), Y8
	FROM_MEMORY((SI), Y8, Y9, Y0)
	FROM_MEMORY(32(SI), Y8, Y10, Y1)
	FROM_MEMORY(64(SI), Y8, Y11, Y2)
	FROM_MEMORY(96(SI), Y8, Y12, Y3)
	NEXT_ROW(row)

	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	VMOVUPD Y3, 96(DI)
	VZEROUPPER
	RET

// func outer1x4(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int, mask *[4]int64)
TEXT ·outer1x4(SB), NOSPLIT, $0-64
	OUTER_ARGS
	MOVQ       mask+56(FP), AX
	VMOVUPD    (AX), Y15
	VMASKMOVPD (DI), Y15, Y0

row:
	VBROADCASTSD (DX), Y8
	VMASKMOVPD   (SI), Y15, Y9
	FROM_MEMORY(Y9, Y8, Y10, Y0)
	NEXT_ROW(row)

	VMASKMOVPD Y0, Y15, (DI)
	VZEROUPPER
	RET

// func outer2x16(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int)
TEXT ·outer2x16(SB), NOSPLIT, $0-56
	OUTER_ARGS
	ADDQ    DI, R10
	VMOVUPD (DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	VMOVUPD 96(DI), Y3
	VMOVUPD (R10), Y4
	VMOVUPD 32(R10), Y5
	VMOVUPD 64(R10), Y6
	VMOVUPD 96(R10), Y7

row:
	VBROADCASTSD (DX), Y8
	VBROADCASTSD 8(DX), Y9
	VMOVUPD      (SI), Y10
	FROM_MEMORY(Y10, Y8, Y11, Y0)
	FROM_MEMORY(Y10, Y9, Y12, Y4)
	VMOVUPD      32(SI), Y13
	FROM_MEMORY(Y13, Y8, Y14, Y1)
	FROM_MEMORY(Y13, Y9, Y15, Y5)
	VMOVUPD      64(SI), Y10
	FROM_MEMORY(Y10, Y8, Y11, Y2)
	FROM_MEMORY(Y10, Y9, Y12, Y6)
	VMOVUPD      96(SI), Y13
	FROM_MEMORY(Y13, Y8, Y14, Y3)
	FROM_MEMORY(Y13, Y9, Y15, Y7)
	NEXT_ROW(row)

	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	VMOVUPD Y3, 96(DI)
	VMOVUPD Y4, (R10)
	VMOVUPD Y5, 32(R10)
	VMOVUPD Y6, 64(R10)
	VMOVUPD Y7, 96(R10)
	VZEROUPPER
	RET

// func outer2x4(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int, mask *[4]int64)
TEXT ·outer2x4(SB), NOSPLIT, $0-64
	OUTER_ARGS
	MOVQ       mask+56(FP), AX
	VMOVUPD    (AX), Y15
	ADDQ       DI, R10
	VMASKMOVPD (DI), Y15, Y0
	VMASKMOVPD (R10), Y15, Y4

row:
	VBROADCASTSD (DX), Y8
	VBROADCASTSD 8(DX), Y9
	VMASKMOVPD   (SI), Y15, Y10
	FROM_MEMORY(Y10, Y8, Y11, Y0)
	FROM_MEMORY(Y10, Y9, Y12, Y4)
	NEXT_ROW(row)

	VMASKMOVPD Y0, Y15, (DI)
	VMASKMOVPD Y4, Y15, (R10)
	VZEROUPPER
	RET

// func outer4x8(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int)
TEXT ·outer4x8(SB), NOSPLIT, $0-56
	OUTER_ARGS
	LEAQ    (DI)(R10*1), R11
	LEAQ    (R11)(R10*1), R12
	LEAQ    (R12)(R10*1), R13
	VMOVUPD (DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD (R11), Y2
	VMOVUPD 32(R11), Y3
	VMOVUPD (R12), Y4
	VMOVUPD 32(R12), Y5
	VMOVUPD (R13), Y6
	VMOVUPD 32(R13), Y7

row:
	VMOVUPD      (SI), Y8
	VMOVUPD      32(SI), Y9
	VBROADCASTSD (DX), Y10
	FROM_MEMORY(Y8, Y10, Y11, Y0)
	FROM_MEMORY(Y9, Y10, Y12, Y1)
	VBROADCASTSD 8(DX), Y13
	FROM_MEMORY(Y8, Y13, Y14, Y2)
	FROM_MEMORY(Y9, Y13, Y15, Y3)
	VBROADCASTSD 16(DX), Y10
	FROM_MEMORY(Y8, Y10, Y11, Y4)
	FROM_MEMORY(Y9, Y10, Y12, Y5)
	VBROADCASTSD 24(DX), Y13
	FROM_MEMORY(Y8, Y13, Y14, Y6)
	FROM_MEMORY(Y9, Y13, Y15, Y7)
	NEXT_ROW(row)

	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, (R11)
	VMOVUPD Y3, 32(R11)
	VMOVUPD Y4, (R12)
	VMOVUPD Y5, 32(R12)
	VMOVUPD Y6, (R13)
	VMOVUPD Y7, 32(R13)
	VZEROUPPER
	RET

// func outer8x8(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int)
TEXT ·outer8x8(SB), NOSPLIT, $0-56
	OUTER_ARGS
	LEAQ (DI)(R10*1), R11
	LEAQ (R11)(R10*1), R12
	LEAQ (R12)(R10*1), R13
	LEAQ (R13)(R10*1), AX
	LEAQ (AX)(R10*1), BX
	LEAQ (BX)(R10*1), R15
	VMOVUPD (DI), Z0
	VMOVUPD (R11), Z1
	VMOVUPD (R12), Z2
	VMOVUPD (R13), Z3
	VMOVUPD (AX), Z4
	VMOVUPD (BX), Z5
	VMOVUPD (R15), Z6
	VMOVUPD (R15)(R10*1), Z7

row:
	VMOVUPD (SI), Z8
	VMULPD.BCST (DX), Z8, Z9
	VADDPD Z9, Z0, Z0
	VMULPD.BCST 8(DX), Z8, Z10
	VADDPD Z10, Z1, Z1
	VMULPD.BCST 16(DX), Z8, Z11
	VADDPD Z11, Z2, Z2
	VMULPD.BCST 24(DX), Z8, Z12
	VADDPD Z12, Z3, Z3
	VMULPD.BCST 32(DX), Z8, Z13
	VADDPD Z13, Z4, Z4
	VMULPD.BCST 40(DX), Z8, Z14
	VADDPD Z14, Z5, Z5
	VMULPD.BCST 48(DX), Z8, Z15
	VADDPD Z15, Z6, Z6
	VMULPD.BCST 56(DX), Z8, Z16
	VADDPD Z16, Z7, Z7
	NEXT_ROW(row)

	VMOVUPD Z0, (DI)
	VMOVUPD Z1, (R11)
	VMOVUPD Z2, (R12)
	VMOVUPD Z3, (R13)
	VMOVUPD Z4, (AX)
	VMOVUPD Z5, (BX)
	VMOVUPD Z6, (R15)
	VMOVUPD Z7, (R15)(R10*1)
	VZEROUPPER
	RET

// func outer4x4(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int, mask *[4]int64)
TEXT ·outer4x4(SB), NOSPLIT, $0-64
	OUTER_ARGS
	MOVQ       mask+56(FP), AX
	VMOVUPD    (AX), Y15
	LEAQ       (DI)(R10*1), R11
	LEAQ       (R11)(R10*1), R12
	LEAQ       (R12)(R10*1), R13
	VMASKMOVPD (DI), Y15, Y0
	VMASKMOVPD (R11), Y15, Y2
	VMASKMOVPD (R12), Y15, Y4
	VMASKMOVPD (R13), Y15, Y6

row:
	VMASKMOVPD   (SI), Y15, Y8
	VBROADCASTSD (DX), Y10
	FROM_MEMORY(Y8, Y10, Y11, Y0)
	VBROADCASTSD 8(DX), Y13
	FROM_MEMORY(Y8, Y13, Y14, Y2)
	VBROADCASTSD 16(DX), Y10
	FROM_MEMORY(Y8, Y10, Y12, Y4)
	VBROADCASTSD 24(DX), Y13
	FROM_MEMORY(Y8, Y13, Y9, Y6)
	NEXT_ROW(row)

	VMASKMOVPD Y0, Y15, (DI)
	VMASKMOVPD Y2, Y15, (R11)
	VMASKMOVPD Y4, Y15, (R12)
	VMASKMOVPD Y6, Y15, (R13)
	VZEROUPPER
	RET

// func dots4x1(s *float64, ss int, x *float64, d int, v *float64, quads, fours int, mask *[4]int64)
TEXT ·dots4x1(SB), NOSPLIT, $0-64
	DOTS_ARGS

quad:
	QUAD
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	TESTQ  CX, CX
	JZ     rest

four:
	VMOVUPD (DX)(AX*1), Y8
	FROM_MEMORY((SI)(AX*1), Y8, Y9, Y0)
	FROM_MEMORY((R11)(AX*1), Y8, Y10, Y1)
	FROM_MEMORY((R12)(AX*1), Y8, Y11, Y2)
	FROM_MEMORY((BX)(AX*1), Y8, Y12, Y3)
	ADDQ    $32, AX
	DECQ    CX
	JNZ     four

rest:
	VMASKMOVPD (DX)(AX*1), Y15, Y8
	VMASKMOVPD (SI)(AX*1), Y15, Y9
	FROM_MEMORY(Y9, Y8, Y9, Y0)
	VMASKMOVPD (R11)(AX*1), Y15, Y10
	FROM_MEMORY(Y10, Y8, Y10, Y1)
	VMASKMOVPD (R12)(AX*1), Y15, Y11
	FROM_MEMORY(Y11, Y8, Y11, Y2)
	VMASKMOVPD (BX)(AX*1), Y15, Y12
	FROM_MEMORY(Y12, Y8, Y12, Y3)

	FOLD(Y0, X0, Y1, X1)
	VMOVUPD X0, (DI)
	FOLD(Y2, X2, Y3, X3)
	VMOVUPD X2, 16(DI)
	ADDQ    $32, DI
	LEAQ    (BX)(R8*1), SI
	DECQ    R9
	JNZ     quad
	VZEROUPPER
	RET

// func dots4x2(s *float64, ss int, x *float64, d int, v *float64, quads, fours int, mask *[4]int64)
TEXT ·dots4x2(SB), NOSPLIT, $0-64
	DOTS_ARGS
	LEAQ (DX)(R8*1), R15

quad:
	QUAD
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y4, Y4, Y4
	VXORPD Y5, Y5, Y5
	VXORPD Y6, Y6, Y6
	VXORPD Y7, Y7, Y7
	TESTQ  CX, CX
	JZ     rest

four:
	VMOVUPD (DX)(AX*1), Y8
	VMOVUPD (R15)(AX*1), Y9
	VMOVUPD (SI)(AX*1), Y10
	FROM_MEMORY(Y10, Y8, Y11, Y0)
	FROM_MEMORY(Y10, Y9, Y12, Y4)
	VMOVUPD (R11)(AX*1), Y13
	FROM_MEMORY(Y13, Y8, Y14, Y1)
	FROM_MEMORY(Y13, Y9, Y11, Y5)
	VMOVUPD (R12)(AX*1), Y10
	FROM_MEMORY(Y10, Y8, Y12, Y2)
	FROM_MEMORY(Y10, Y9, Y14, Y6)
	VMOVUPD (BX)(AX*1), Y13
	FROM_MEMORY(Y13, Y8, Y11, Y3)
	FROM_MEMORY(Y13, Y9, Y12, Y7)
	ADDQ    $32, AX
	DECQ    CX
	JNZ     four

rest:
	VMASKMOVPD (DX)(AX*1), Y15, Y8
	VMASKMOVPD (R15)(AX*1), Y15, Y9
	VMASKMOVPD (SI)(AX*1), Y15, Y10
	FROM_MEMORY(Y10, Y8, Y11, Y0)
	FROM_MEMORY(Y10, Y9, Y12, Y4)
	VMASKMOVPD (R11)(AX*1), Y15, Y13
	FROM_MEMORY(Y13, Y8, Y14, Y1)
	FROM_MEMORY(Y13, Y9, Y11, Y5)
	VMASKMOVPD (R12)(AX*1), Y15, Y10
	FROM_MEMORY(Y10, Y8, Y12, Y2)
	FROM_MEMORY(Y10, Y9, Y14, Y6)
	VMASKMOVPD (BX)(AX*1), Y15, Y13
	FROM_MEMORY(Y13, Y8, Y11, Y3)
	FROM_MEMORY(Y13, Y9, Y12, Y7)

	FOLD(Y0, X0, Y1, X1)
	VMOVUPD X0, (DI)
	FOLD(Y2, X2, Y3, X3)
	VMOVUPD X2, 16(DI)
	FOLD(Y4, X4, Y5, X5)
	VMOVUPD X4, (R10)
	FOLD(Y6, X6, Y7, X7)
	VMOVUPD X6, 16(R10)
	ADDQ    $32, DI
	ADDQ    $32, R10
	LEAQ    (BX)(R8*1), SI
	DECQ    R9
	JNZ     quad
	VZEROUPPER
	RET

// The rows come from beyond the second-level cache: they are asked for a page ahead.
//
// func widen8(dst *float64, x *float32, eights int)
TEXT ·widen8(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ eights+16(FP), CX

eight:
	PREFETCHT0 4096(SI)
	VCVTPS2PD (SI), Y0
	VCVTPS2PD 16(SI), Y1
	VMOVUPD   Y0, (DI)
	VMOVUPD   Y1, 32(DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	DECQ      CX
	JNZ       eight
	VZEROUPPER
	RET
