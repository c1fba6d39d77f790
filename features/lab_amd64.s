//go:build !noasm

#include "go_asm.h"
#include "textflag.h"

// Blues of four pixels, as four numbers: of those at the start and at the end of 16 bytes.
DATA blues<>+0(SB)/8, $0xffffff03ffffff00
DATA blues<>+8(SB)/8, $0xffffff09ffffff06
DATA blues<>+16(SB)/8, $0xffffff07ffffff04
DATA blues<>+24(SB)/8, $0xffffff0dffffff0a
GLOBL blues<>(SB), RODATA|NOPTR, $32

// l, a and b of two pixels without the fourth number.
DATA three<>+0(SB)/8, $0x0908050403020100
DATA three<>+8(SB)/8, $0xffffffff0d0c0b0a
GLOBL three<>(SB), RODATA|NOPTR, $16

// Linear values, at the places in IDX.
#define LINEAR(IDX, TO) \
	VPCMPEQD   Y15, Y15, Y15            \
	VGATHERDPS Y15, (DI)(IDX*4), TO

// One of X, Y and Z in Y0, of b, g and r in Y4, Y5 and Y6.
#define COORDINATE(ROW) \
	VBROADCASTSS (labTable_matrix+12*ROW)(DI), Y0   \
	VMULPS       Y6, Y0, Y0                         \
	VBROADCASTSS (labTable_matrix+12*ROW+4)(DI), Y1 \
	VMULPS       Y5, Y1, Y1                         \
	VADDPS       Y1, Y0, Y0                         \
	VBROADCASTSS (labTable_matrix+12*ROW+8)(DI), Y1 \
	VMULPS       Y4, Y1, Y1                         \
	VADDPS       Y1, Y0, Y0

// A step of Newton's: Y1, about the inverse cube root of Y0, becomes Y1·(A − B·Y0·Y1³).
#define NEWTON(A, B) \
	VMULPS       Y1, Y1, Y2  \
	VMULPS       Y1, Y2, Y2  \
	VMULPS       Y0, Y2, Y2  \
	VBROADCASTSS B(DI), Y3   \
	VMULPS       Y3, Y2, Y2  \
	VBROADCASTSS A(DI), Y3   \
	VSUBPS       Y2, Y3, Y2  \
	VMULPS       Y2, Y1, Y1

// The CIE's f of Y0.
#define SHARE(TO) \
	VCVTDQ2PS    Y0, Y1                        \
	VBROADCASTSS labTable_third(DI), Y2        \
	VMULPS       Y2, Y1, Y1                    \
	VBROADCASTSS labTable_rootBits(DI), Y2     \
	VSUBPS       Y1, Y2, Y1                    \
	VCVTTPS2DQ   Y1, Y1                        \
	NEWTON(labTable_firstA, labTable_firstB)   \
	NEWTON(labTable_secondA, labTable_secondB) \
	VMULPS       Y0, Y1, Y2                    \
	VMULPS       Y1, Y2, Y2                    \
	VBROADCASTSS labTable_lineSlope(DI), Y1    \
	VMULPS       Y0, Y1, Y1                    \
	VBROADCASTSS labTable_lineStart(DI), Y3    \
	VADDPS       Y3, Y1, Y1                    \
	VBROADCASTSS labTable_epsilon(DI), Y3      \
	VCMPPS       $2, Y3, Y0, Y3                \
	VBLENDVPS    Y3, Y1, Y2, TO

// Y7, rounded to integers.
#define ROUND(V) \
	VADDPS     Y12, V, V \
	VCVTTPS2DQ V, V      \
	VPSUBD     Y13, V, V

// func labVector(t *labTable, dst *int16, pixels *pixel, bgr *byte, eights int)
TEXT ·labVector(SB), NOSPLIT, $0-40
	MOVQ         t+0(FP), DI
	MOVQ         dst+8(FP), DX
	MOVQ         pixels+16(FP), R8
	MOVQ         bgr+24(FP), SI
	MOVQ         eights+32(FP), CX
	VMOVDQU      blues<>(SB), Y14
	VBROADCASTSS labTable_rounding(DI), Y12
	MOVL         $const_roundBy, AX
	VMOVD        AX, X13
	VPBROADCASTD X13, Y13
	VMOVDQU      three<>(SB), X11

next:
	VMOVDQU      (SI), X0
	VINSERTI128  $1, 8(SI), Y0, Y0
	VPSHUFB      Y14, Y0, Y1
	VPSRLDQ      $1, Y0, Y2
	VPSHUFB      Y14, Y2, Y2
	VPSRLDQ      $2, Y0, Y3
	VPSHUFB      Y14, Y3, Y3
	LINEAR(Y1, Y4)
	LINEAR(Y2, Y5)
	LINEAR(Y3, Y6)
	COORDINATE(0)
	SHARE(Y7)
	COORDINATE(1)
	SHARE(Y8)
	COORDINATE(2)
	SHARE(Y9)
	VSUBPS       Y8, Y7, Y7
	VBROADCASTSS labTable_scaleA(DI), Y0
	VMULPS       Y0, Y7, Y7
	ROUND(Y7)
	VSUBPS       Y9, Y8, Y9
	VBROADCASTSS labTable_scaleB(DI), Y0
	VMULPS       Y0, Y9, Y9
	ROUND(Y9)
	VBROADCASTSS labTable_scaleL(DI), Y0
	VMULPS       Y0, Y8, Y8
	VBROADCASTSS labTable_startL(DI), Y0
	VSUBPS       Y0, Y8, Y8
	ROUND(Y8)

	VPSLLD       $16, Y7, Y7
	VPBLENDW     $0xaa, Y7, Y8, Y8 // l, a
	VPCMPEQD     Y15, Y15, Y15
	VPBLENDW     $0xaa, Y15, Y9, Y9 // b, unseen
	VPUNPCKLDQ   Y9, Y8, Y0
	VPUNPCKHDQ   Y9, Y8, Y1
	VEXTRACTI128 $1, Y0, X2
	VEXTRACTI128 $1, Y1, X3
	VMOVDQU      X0, (R8)
	VMOVDQU      X1, 16(R8)
	VMOVDQU      X2, 32(R8)
	VMOVDQU      X3, 48(R8)
	VPSHUFB      X11, X0, X0
	VPSHUFB      X11, X1, X1
	VPSHUFB      X11, X2, X2
	VPSHUFB      X11, X3, X3
	VMOVDQU      X0, (DX)
	VMOVDQU      X1, 12(DX)
	VMOVDQU      X2, 24(DX)
	VMOVQ        X3, 36(DX)
	VPEXTRD      $2, X3, 44(DX)
	ADDQ         $24, SI
	ADDQ         $48, DX
	ADDQ         $64, R8
	DECQ         CX
	JNZ          next
	VZEROUPPER
	RET
