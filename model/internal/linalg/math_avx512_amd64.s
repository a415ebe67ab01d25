//go:build !noasm

#include "textflag.h"
#include "go_asm.h"

#define V0 Z0
#define V1 Z1
#define V2 Z2
#define V3 Z3
#define V4 Z4
#define V5 Z5
#define V6 Z6
#define V7 Z7
#define V8 Z8
#define V9 Z9
#define V10 Z10
#define V11 Z11
#define V12 Z12
#define V13 Z13
#define V14 Z14
#define V15 Z15
#define LANES 8
#define BYTES 64

// The constants of exp stay in registers.
#define LOG2E Z16
#define ROUND Z17
#define LN2HIGH Z18
#define LN2LOW Z19
#define E0 Z20
#define E1 Z21
#define E2 Z22
#define E3 Z23
#define E4 Z24
#define E5 Z25
#define TABLE Z26
#define LOWTABLE Z27
#define RESTMAX Z28

#define HOIST                                     \
	VMOVUPD C(const_log2E), LOG2E;            \
	VMOVUPD C(const_roundEighth), ROUND;      \
	VMOVUPD C(const_ln2High), LN2HIGH;        \
	VMOVUPD C(const_ln2Low), LN2LOW;          \
	VMOVUPD CI(const_expCoefficients, 0), E0; \
	VMOVUPD CI(const_expCoefficients, 1), E1; \
	VMOVUPD CI(const_expCoefficients, 2), E2; \
	VMOVUPD CI(const_expCoefficients, 3), E3; \
	VMOVUPD CI(const_expCoefficients, 4), E4; \
	VMOVUPD CI(const_expCoefficients, 5), E5; \
	VMOVUPD C(const_expPlain), TABLE;         \
	VMOVUPD C(const_expLow), LOWTABLE;        \
	VMOVUPD C(const_restMax), RESTMAX

#define ZERO(V) VPXORQ V, V, V

// VSCALEFPD rounds n down, and has the right result for infinite n and NaN. So only r needs
// a bound, whatever x is: VRANGEPD takes the smaller of the absolute values, with the sign of
// r, and the limit if r is NaN.
#define POWER(SUM, V, W) VPERMPD TABLE, SUM, V
#define SCALE(V, N) VSCALEFPD N, V, V
#define CLAMP(X)
#define BOUND(R) VRANGEPD $2, RESTMAX, R, R

#define USUAL(X, Y, I, W)
#define QUICKPOWER(SUM, V, W) POWER(SUM, V, W)
#define QUICKSCALE(V, N) SCALE(V, N)

// Adds n·2⁴⁹, which is m in the exponent and j·2⁴⁹, which the entries of LOWTABLE lack.
#define KERNELPOWER(SUM, V, W)    \
	VPERMPD LOWTABLE, SUM, V; \
	VPSLLQ  $49, SUM, SUM;    \
	VPADDQ  SUM, V, V

#define UPPER(X, V, W)            \
	VPMOVQ2M X, K2;           \
	KNOTW    K2, K2;          \
	VMOVUPD  C(const_one), W; \
	VSUBPD   V, W, K2, V

// K1: the first CX lanes.
#define MASK           \
	MOVQ  $1, R11; \
	SHLQ  CX, R11; \
	DECQ  R11;     \
	KMOVW R11, K1

#define LOADPART(P, V) VMOVUPD.Z (P), K1, V
#define STOREPART(V, P) VMOVUPD V, K1, (P)

#include "math_amd64.h"

// func expAVX512(n int, dst, x, table *float64)
TEXT ·expAVX512(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), CX
	MOVQ dst+8(FP), DI
	MOVQ x+16(FP), SI
	MOVQ table+24(FP), DX
	EACH(EXPTWO, EXPSTEP)

// func cdfAVX512(n int, dst, x, table *float64)
TEXT ·cdfAVX512(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), CX
	MOVQ dst+8(FP), DI
	MOVQ x+16(FP), SI
	MOVQ table+24(FP), DX
	EACH(CDFTWO, CDFSTEP)

// func cdfPDFAVX512(n int, cdf, pdf, x, table *float64)
TEXT ·cdfPDFAVX512(SB), NOSPLIT, $0-40
	MOVQ n+0(FP), CX
	MOVQ cdf+8(FP), DI
	MOVQ pdf+16(FP), R8
	MOVQ x+24(FP), SI
	MOVQ table+32(FP), DX
	EACH(BOTHTWO, BOTHSTEP)

// func kernelAVX512(rows, d int, x, z *float64, lddst int, variance float64, dst, table *float64)
TEXT ·kernelAVX512(SB), NOSPLIT, $0-64
	MOVQ rows+0(FP), CX
	MOVQ d+8(FP), R10
	MOVQ x+16(FP), SI
	MOVQ z+24(FP), BX
	MOVQ lddst+32(FP), R9
	MOVQ dst+48(FP), DI
	MOVQ table+56(FP), DX
	SHLQ $3, R9
	KERNELROWS(KERNELROW)

// func matern32AVX512(rows, d int, x, z *float64, lddst int, variance float64, dst, table *float64)
TEXT ·matern32AVX512(SB), NOSPLIT, $0-64
	MOVQ rows+0(FP), CX
	MOVQ d+8(FP), R10
	MOVQ x+16(FP), SI
	MOVQ z+24(FP), BX
	MOVQ lddst+32(FP), R9
	MOVQ dst+48(FP), DI
	MOVQ table+56(FP), DX
	SHLQ $3, R9
	KERNELROWS(MATERN32ROW)

// func matern52AVX512(rows, d int, x, z *float64, lddst int, variance float64, dst, table *float64)
TEXT ·matern52AVX512(SB), NOSPLIT, $0-64
	MOVQ rows+0(FP), CX
	MOVQ d+8(FP), R10
	MOVQ x+16(FP), SI
	MOVQ z+24(FP), BX
	MOVQ lddst+32(FP), R9
	MOVQ dst+48(FP), DI
	MOVQ table+56(FP), DX
	SHLQ $3, R9
	KERNELROWS(MATERN52ROW)

// func matern32SlopeAVX512(rows, d int, x, z *float64, lddst int, variance, steep float64, dst, slope, table *float64)
TEXT ·matern32SlopeAVX512(SB), NOSPLIT, $0-80
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

// func matern52SlopeAVX512(rows, d int, x, z *float64, lddst int, variance, steep float64, dst, slope, table *float64)
TEXT ·matern52SlopeAVX512(SB), NOSPLIT, $0-80
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
