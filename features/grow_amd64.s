//go:build !noasm

#include "go_asm.h"
#include "textflag.h"

DATA floats<>+0(SB)/4, $1.0
GLOBL floats<>(SB), RODATA|NOPTR, $4

// 1 in the last lane
DATA another<>+0(SB)/8, $0
DATA another<>+8(SB)/8, $0x3f80000000000000
GLOBL another<>(SB), RODATA|NOPTR, $16

// colours without what a pixel waits under
DATA colours<>+0(SB)/8, $0x0000ffffffffffff
DATA colours<>+8(SB)/8, $0x0000ffffffffffff
GLOBL colours<>(SB), RODATA|NOPTR, $16

// signs of west, east, north, south
DATA signs<>+0(SB)/8, $0x0000000080000000
DATA signs<>+8(SB)/8, $0x0000000080000000
GLOBL signs<>(SB), RODATA|NOPTR, $16

DATA steps<>+0(SB)/8, $-1
DATA steps<>+8(SB)/8, $1
DATA steps<>+16(SB)/8, $-0x10000
DATA steps<>+24(SB)/8, $0x10000
GLOBL steps<>(SB), RODATA|NOPTR, $32

// PLACE takes a waiting pixel in AX apart: x in BX, y in CX, the region's offset in DX, and the
// pixel's address in R10. R8 are the pixels, R12 bytes a row of them.
#define PLACE \
	MOVWLZX AX, BX          \
	MOVL    AX, CX          \
	SHRL    $16, CX         \
	MOVQ    AX, DX          \
	SHRQ    $32, DX         \
	MOVQ    CX, R10         \
	IMULQ   R12, R10        \
	ADDQ    R8, R10         \
	LEAQ    (R10)(BX*8), R10

// func joinVector(by *growth, settled *waiting, n int)
TEXT ·joinVector(SB), NOSPLIT, $0-24
	MOVQ    by+0(FP), DI
	MOVQ    settled+8(FP), SI
	MOVQ    n+16(FP), R15
	MOVQ    growth_pixels(DI), R8
	MOVQ    growth_regions(DI), R9
	MOVQ    growth_labels(DI), R11
	MOVQ    growth_stride(DI), R12
	LEAQ    -2(R12), R13             // the image's width
	LEAQ    1(R13), AX
	SHLQ    $2, AX
	SUBQ    AX, R11                  // label of a pixel (0, 0), counted from 1
	SHLQ    $3, R12
	VMOVSS  floats<>+0(SB), X14
	VMOVUPS another<>(SB), X13

next:
	MOVQ      (SI), AX
	ADDQ      $8, SI
	PLACE
	MOVQ      R10, AX
	SUBQ      R12, AX
	PREFETCHT0 (AX)
	PREFETCHT0 (R10)(R12*1)
	MOVQ      CX, AX
	IMULQ     R13, AX
	ADDQ      BX, AX
	MOVL      DX, (R11)(AX*4)
	SHLQ      $5, DX
	ADDQ      R9, DX
	VPMOVSXWD (R10), X0              // l, a, b, 0
	VCVTDQ2PS X0, X0
	VADDPS    X13, X0, X0
	VADDPS    (DX), X0, X0
	VMOVUPS   X0, (DX)
	VMOVD     BX, X1
	VPINSRD   $1, CX, X1, X1
	VCVTDQ2PS X1, X1
	VADDPS    16(DX), X1, X1
	VPERMILPS $0xff, X0, X2
	VDIVSS    X2, X14, X2
	VINSERTPS $0x30, X2, X1, X1
	VMOVUPS   X1, 16(DX)
	DECQ      R15
	JNZ       next
	RET

// func reachVector(by *growth, settled *waiting, n int, keys *uint32, to *waiting) int
TEXT ·reachVector(SB), NOSPLIT, $0-48
	MOVQ         by+0(FP), DI
	MOVQ         settled+8(FP), SI
	MOVQ         n+16(FP), R15
	MOVQ         growth_pixels(DI), R8
	MOVQ         growth_regions(DI), R9
	MOVQ         growth_stride(DI), R12
	SHLQ         $3, R12
	VMOVSS       growth_spatial(DI), X15
	VADDSS       X15, X15, X14
	VBROADCASTSS X14, X14
	VMOVSS       floats<>+0(SB), X13
	MOVL         $const_keyBias, AX
	VCVTSI2SSL   AX, X13, X12
	VMOVDQU      colours<>(SB), X11
	MOVL         $const_keyOffset, AX
	VMOVD        AX, X10
	VPBROADCASTD X10, X10
	VPBROADCASTD growth_least(DI), X8
	MOVQ         keys+24(FP), DI
	MOVQ         to+32(FP), R11
	MOVQ         R11, R14
	LEAQ         ·chosen(SB), R13

next:
	MOVQ         (SI), AX
	ADDQ         $8, SI
	VMOVQ        AX, X9
	PLACE
	SHLQ         $5, DX
	VBROADCASTSS 28(R9)(DX*1), X1
	VMULPS       (R9)(DX*1), X1, X0      // mean l, a, b
	VMULPS       16(R9)(DX*1), X1, X1    // mean x, y
	VMOVD        BX, X2
	VPINSRD      $1, CX, X2, X2
	VCVTDQ2PS    X2, X2
	VSUBPS       X1, X2, X2              // dx, dy
	VMULPS       X2, X2, X3
	VMOVSHDUP    X3, X4
	VADDSS       X4, X3, X3
	VADDSS       X13, X3, X3
	VMULSS       X15, X3, X3
	VADDSS       X12, X3, X3
	VBROADCASTSS X3, X3
	VMULPS       X14, X2, X2
	VUNPCKLPS    X2, X2, X2
	VXORPS       signs<>(SB), X2, X2      // − for west and north
	VADDPS       X2, X3, X3              // how far each of the four is
	VCVTTPS2DQ   X0, X0
	VPACKSSDW    X0, X0, X0
	MOVQ         R10, AX
	SUBQ         R12, AX
	VMOVQ        -8(R10), X4
	VMOVHPS      8(R10), X4, X4
	VMOVQ        (AX), X5
	VMOVHPS      (R10)(R12*1), X5, X5
	VPSRLQ       $48, X4, X6
	VPSRLQ       $48, X5, X7
	VSHUFPS      $0x88, X7, X6, X6       // what they wait under
	VPSUBW       X0, X4, X4
	VPSUBW       X0, X5, X5
	VPAND        X11, X4, X4
	VPAND        X11, X5, X5
	VPMADDWD     X4, X4, X4
	VPMADDWD     X5, X5, X5
	VPHADDD      X5, X4, X4
	VCVTDQ2PS    X4, X4
	VADDPS       X3, X4, X4
	VPSRLD       $const_keyShift, X4, X4
	VPSUBD       X10, X4, X4
	VPMAXSD      X8, X4, X4
	VPCMPGTD     X4, X6, X6
	VMOVMSKPS    X6, AX
	MOVQ         AX, BX
	SHLQ         $4, BX
	VPSHUFB      (R13)(BX*1), X4, X4
	VMOVDQU      X4, (DI)
	VPBROADCASTQ X9, Y9
	VPADDQ       steps<>(SB), Y9, Y9
	VMOVDQU      256(R13)(BX*2), Y5
	VPERMD       Y9, Y5, Y9
	VMOVDQU      Y9, (R11)
	POPCNTL      AX, AX
	LEAQ         (DI)(AX*4), DI
	LEAQ         (R11)(AX*8), R11
	DECQ         R15
	JNZ          next

	SUBQ R14, R11
	SHRQ $3, R11
	MOVQ R11, ret+40(FP)
	VZEROUPPER
	RET
