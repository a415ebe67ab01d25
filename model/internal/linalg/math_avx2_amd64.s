//go:build !noasm

#include "textflag.h"
#include "go_asm.h"

// Four ones and four zeros: read at 32-8r, a mask of the first r lanes.
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
#define LANES 4
#define BYTES 32

#define ZERO(V) VXORPD V, V, V

// In two steps, lest a factor overflow or underflow: the first of them is exact.
#define SCALE(P, N, OUT) \
	VMOVUPD     T(const_half), V1;          \
	VFMADD213PD T(const_roundInt), N, V1;   \
	VSUBPD      T(const_roundInt), V1, V4;  \
	VSUBPD      V4, N, V5;            \
	VADDPD      T(const_roundInt), V5, V5;  \
	VPSLLQ      $52, V1, V1;          \
	VPSLLQ      $52, V5, V5;          \
	VPADDQ      T(const_one), V1, V1;       \
	VPADDQ      T(const_one), V5, V5;       \
	VMULPD      V1, P, OUT;           \
	VMULPD      V5, OUT, OUT

#define UPPER(X, V) \
	VMOVUPD   T(const_one), V1;       \
	VSUBPD    V, V1, V1;        \
	VBLENDVPD X, V, V1, V

// Y12: a mask of the first CX lanes.
#define MASK \
	LEAQ    first<>+32(SB), R11; \
	SHLQ    $3, CX;              \
	SUBQ    CX, R11;             \
	VMOVUPD (R11), Y12

#define LOADPART(P, V) VMASKMOVPD (P), Y12, V
#define STOREPART(V, P) VMASKMOVPD V, Y12, (P)

#include "math_amd64.h"

// func expAVX2(n int, dst, x, table *float64)
TEXT ·expAVX2(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), CX
	MOVQ dst+8(FP), DI
	MOVQ x+16(FP), SI
	MOVQ table+24(FP), DX
	EACH(EXPSTEP)

// func pdfAVX2(n int, dst, x, table *float64)
TEXT ·pdfAVX2(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), CX
	MOVQ dst+8(FP), DI
	MOVQ x+16(FP), SI
	MOVQ table+24(FP), DX
	EACH(PDFSTEP)

// func cdfAVX2(n int, dst, x, table *float64)
TEXT ·cdfAVX2(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), CX
	MOVQ dst+8(FP), DI
	MOVQ x+16(FP), SI
	MOVQ table+24(FP), DX
	EACH(CDFSTEP)

// func cdfPDFAVX2(n int, cdf, pdf, x, table *float64)
TEXT ·cdfPDFAVX2(SB), NOSPLIT, $0-40
	MOVQ n+0(FP), CX
	MOVQ cdf+8(FP), DI
	MOVQ pdf+16(FP), R8
	MOVQ x+24(FP), SI
	MOVQ table+32(FP), DX
	EACH(BOTHSTEP)

// func kernelAVX2(rows, d int, x *float64, ldx int, z, inv *float64, lddst int, variance float64, dst, table *float64)
TEXT ·kernelAVX2(SB), NOSPLIT, $0-80
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
