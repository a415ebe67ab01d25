//go:build !noasm

#include "textflag.h"
#include "go_asm.h"

// Four words of ones and four of zeros. From offset 32-8r they are a mask of the first r lanes.
DATA first<>+0(SB)/8, $-1
DATA first<>+8(SB)/8, $-1
DATA first<>+16(SB)/8, $-1
DATA first<>+24(SB)/8, $-1
DATA first<>+32(SB)/8, $0
DATA first<>+40(SB)/8, $0
DATA first<>+48(SB)/8, $0
DATA first<>+56(SB)/8, $0
GLOBL first<>(SB), RODATA|NOPTR, $64

#define V0 Y0
#define V1 Y1
#define V2 Y2
#define V3 Y3
#define V4 Y4
#define V5 Y5
#define V6 Y6
#define V7 Y7
#define V8 Y8
#define V9 Y9
#define V10 Y10
#define V11 Y11
#define V12 Y12
#define V13 Y13
#define V14 Y14
#define V15 Y15
#define LANES 4
#define BYTES 32

#define LOG2E C(const_log2E)
#define ROUND C(const_roundEighth)
#define LN2HIGH C(const_ln2High)
#define LN2LOW C(const_ln2Low)
#define E0 CI(const_expCoefficients, 0)
#define E1 CI(const_expCoefficients, 1)
#define E2 CI(const_expCoefficients, 2)
#define E3 CI(const_expCoefficients, 3)
#define E4 CI(const_expCoefficients, 4)
#define E5 CI(const_expCoefficients, 5)
#define HOIST

#define ZERO(V) VXORPD V, V, V

// T_j minus j·2⁴⁹, from tables of the halves of its bits. VPERMPS takes the last three bits of
// each half of SUM as an index: j in the lower half. The results of upper halves are not used.
#define HALVES(SUM, V, W)                                \
	VPERMPS  C(const_expHalves), SUM, W;             \
	VPERMPS  (const_expHalves*64+BYTES)(DX), SUM, V; \
	VPSLLQ   $32, V, V;                              \
	VPBLENDD $0xAA, V, W, V

// Adds j·2⁴⁹, which gives T_j.
#define POWER(SUM, V, W)      \
	HALVES(SUM, V, W);    \
	VPSLLQ $61, SUM, SUM; \
	VPSRLQ $12, SUM, SUM; \
	VPADDQ SUM, V, V

// Adds n·2⁴⁹, which is j·2⁴⁹ and m in the exponent. That gives 2^m·T_j.
#define QUICKPOWER(SUM, V, W) \
	HALVES(SUM, V, W);    \
	VPSLLQ $49, SUM, SUM; \
	VPADDQ SUM, V, V

#define KERNELPOWER(SUM, V, W) QUICKPOWER(SUM, V, W)
#define QUICKSCALE(V, N)

// Two factors, so that neither overflows or underflows. The first product is exact.
#define SCALE(V, N)                            \
	VROUNDPD    $1, N, N;                  \
	VMOVUPD     C(const_half), V1;         \
	VFMADD213PD C(const_roundInt), N, V1;  \
	VSUBPD      C(const_roundInt), V1, V4; \
	VSUBPD      V4, N, V5;                 \
	VADDPD      C(const_roundInt), V5, V5; \
	VPSLLQ      $52, V1, V1;               \
	VPSLLQ      $52, V5, V5;               \
	VPADDQ      C(const_one), V1, V1;      \
	VPADDQ      C(const_one), V5, V5;      \
	VMULPD      V1, V, V;                  \
	VMULPD      V5, V, V

// NaN stays NaN: for it VMAXPD and VMINPD return their second source, X.
#define CLAMP(X)                     \
	VMOVUPD C(const_expMin), V1; \
	VMAXPD  X, V1, X;            \
	VMOVUPD C(const_expMax), V1; \
	VMINPD  X, V1, X
#define BOUND(R)

// The bits of the limit minus those of |x| are a negative integer if |x| is larger, or NaN.
#define USUAL(X, Y, I, W)                  \
	VPAND     C(const_absMask), X, V1; \
	VPAND     C(const_absMask), Y, W;  \
	VMOVDQU   C(I), V4;                \
	VPSUBQ    V1, V4, V1;              \
	VPSUBQ    W, V4, W;                \
	VPOR      V1, W, W;                \
	VMOVMSKPD W, R11;                  \
	TESTQ     R11, R11;                \
	JNZ       one

#define UPPER(X, V, W)             \
	VMOVUPD   C(const_one), W; \
	VSUBPD    V, W, W;         \
	VBLENDVPD X, V, W, V

// Y15: a mask of the first CX lanes.
#define MASK                         \
	LEAQ    first<>+32(SB), R11; \
	SHLQ    $3, CX;              \
	SUBQ    CX, R11;             \
	VMOVUPD (R11), Y15

#define LOADPART(P, V) VMASKMOVPD (P), Y15, V
#define STOREPART(V, P) VMASKMOVPD V, Y15, (P)

#include "math_amd64.h"

// func expAVX2(n int, dst, x, table *float64)
TEXT ·expAVX2(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), CX
	MOVQ dst+8(FP), DI
	MOVQ x+16(FP), SI
	MOVQ table+24(FP), DX
	EACH(EXPTWO, EXPSTEP)

// func cdfAVX2(n int, dst, x, table *float64)
TEXT ·cdfAVX2(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), CX
	MOVQ dst+8(FP), DI
	MOVQ x+16(FP), SI
	MOVQ table+24(FP), DX
	EACH(CDFTWO, CDFSTEP)

// func cdfPDFAVX2(n int, cdf, pdf, x, table *float64)
TEXT ·cdfPDFAVX2(SB), NOSPLIT, $0-40
	MOVQ n+0(FP), CX
	MOVQ cdf+8(FP), DI
	MOVQ pdf+16(FP), R8
	MOVQ x+24(FP), SI
	MOVQ table+32(FP), DX
	EACH(BOTHTWO, BOTHSTEP)

// func kernelAVX2(rows, d int, x, z *float64, lddst int, variance float64, dst, table *float64)
TEXT ·kernelAVX2(SB), NOSPLIT, $0-64
	MOVQ rows+0(FP), CX
	MOVQ d+8(FP), R10
	MOVQ x+16(FP), SI
	MOVQ z+24(FP), BX
	MOVQ lddst+32(FP), R9
	MOVQ dst+48(FP), DI
	MOVQ table+56(FP), DX
	SHLQ $3, R9
	KERNELROWS(KERNELROW)

// func matern32AVX2(rows, d int, x, z *float64, lddst int, variance float64, dst, table *float64)
TEXT ·matern32AVX2(SB), NOSPLIT, $0-64
	MOVQ rows+0(FP), CX
	MOVQ d+8(FP), R10
	MOVQ x+16(FP), SI
	MOVQ z+24(FP), BX
	MOVQ lddst+32(FP), R9
	MOVQ dst+48(FP), DI
	MOVQ table+56(FP), DX
	SHLQ $3, R9
	KERNELROWS(MATERN32ROW)

// func matern52AVX2(rows, d int, x, z *float64, lddst int, variance float64, dst, table *float64)
TEXT ·matern52AVX2(SB), NOSPLIT, $0-64
	MOVQ rows+0(FP), CX
	MOVQ d+8(FP), R10
	MOVQ x+16(FP), SI
	MOVQ z+24(FP), BX
	MOVQ lddst+32(FP), R9
	MOVQ dst+48(FP), DI
	MOVQ table+56(FP), DX
	SHLQ $3, R9
	KERNELROWS(MATERN52ROW)

// func matern32SlopeAVX2(rows, d int, x, z *float64, lddst int, variance, steep float64, dst, slope, table *float64)
TEXT ·matern32SlopeAVX2(SB), NOSPLIT, $0-80
	MOVQ rows+0(FP), CX
	MOVQ d+8(FP), R10
	MOVQ x+16(FP), SI
	MOVQ z+24(FP), BX
	MOVQ lddst+32(FP), R9
	MOVQ dst+56(FP), DI
	MOVQ slope+64(FP), R8
	MOVQ table+72(FP), DX
	SHLQ $3, R9
	KERNELROWS(MATERN32BOTH)

// func matern52SlopeAVX2(rows, d int, x, z *float64, lddst int, variance, steep float64, dst, slope, table *float64)
TEXT ·matern52SlopeAVX2(SB), NOSPLIT, $0-80
	MOVQ rows+0(FP), CX
	MOVQ d+8(FP), R10
	MOVQ x+16(FP), SI
	MOVQ z+24(FP), BX
	MOVQ lddst+32(FP), R9
	MOVQ dst+56(FP), DI
	MOVQ slope+64(FP), R8
	MOVQ table+72(FP), DX
	SHLQ $3, R9
	KERNELROWS(MATERN52BOTH)
