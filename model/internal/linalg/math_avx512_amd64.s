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
#define LANES 8
#define BYTES 64

#define ZERO(V) VPXORQ V, V, V
#define SCALE(P, N, OUT) VSCALEFPD N, P, OUT

#define UPPER(X, V) \
	VPMOVQ2M X, K2;                \
	KNOTW    K2, K2;               \
	VMOVUPD  T(const_one), V1;           \
	VSUBPD   V, V1, K2, V

// K1: the first CX lanes.
#define MASK \
	MOVQ  $1, R11;   \
	SHLQ  CX, R11;   \
	DECQ  R11;       \
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
	EACH(EXPSTEP)

// func pdfAVX512(n int, dst, x, table *float64)
TEXT ·pdfAVX512(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), CX
	MOVQ dst+8(FP), DI
	MOVQ x+16(FP), SI
	MOVQ table+24(FP), DX
	EACH(PDFSTEP)

// func cdfAVX512(n int, dst, x, table *float64)
TEXT ·cdfAVX512(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), CX
	MOVQ dst+8(FP), DI
	MOVQ x+16(FP), SI
	MOVQ table+24(FP), DX
	EACH(CDFSTEP)

// func cdfPDFAVX512(n int, cdf, pdf, x, table *float64)
TEXT ·cdfPDFAVX512(SB), NOSPLIT, $0-40
	MOVQ n+0(FP), CX
	MOVQ cdf+8(FP), DI
	MOVQ pdf+16(FP), R8
	MOVQ x+24(FP), SI
	MOVQ table+32(FP), DX
	EACH(BOTHSTEP)

// func kernelAVX512(rows, d int, x *float64, ldx int, z, inv *float64, lddst int, variance float64, dst, table *float64)
TEXT ·kernelAVX512(SB), NOSPLIT, $0-80
	MOVQ rows+0(FP), CX
	MOVQ d+8(FP), R10
	MOVQ x+16(FP), SI
	MOVQ ldx+24(FP), R8
	MOVQ z+32(FP), BX
	MOVQ inv+40(FP), AX
	MOVQ lddst+48(FP), R9
	MOVQ dst+64(FP), DI
	SHLQ $3, R8
	SHLQ $3, R9
	MOVQ table+72(FP), DX
	KERNELROWS
