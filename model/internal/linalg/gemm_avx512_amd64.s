//go:build !noasm

#include "textflag.h"

// The micro-kernel of 8×24 elements: 24 accumulators Z8..Z31, one row of the right panel in
// Z0..Z2, broadcast elements of the left panel in Z3..Z7. AX points to the left panel, BX to
// the right one, DI to a row of c. CX counts the steps left, DX the rows left. SI is the stride
// of c in bytes, K1 the mask of the last vector. K2 and K3 are masks of what is read of c.

#define ROW1(OFF, T, C0) \
	VBROADCASTSD OFF(AX), T; \
	VFMADD231PD  Z0, T, C0

#define ROW2(OFF, T, C0, C1) \
	ROW1(OFF, T, C0); \
	VFMADD231PD Z1, T, C1

#define ROW3(OFF, T, C0, C1, C2) \
	ROW2(OFF, T, C0, C1); \
	VFMADD231PD Z2, T, C2

// One step along k: the outer product of 8 and 8, 16 or 24 elements. STEP3 prefetches what
// the eighth step from here reads, because neither panel stays in the first-level cache.
#define STEP1(A, B) \
	VMOVUPD B+0(BX), Z0; \
	ROW1(A+0, Z3, Z8);   \
	ROW1(A+8, Z4, Z11);  \
	ROW1(A+16, Z5, Z14); \
	ROW1(A+24, Z6, Z17); \
	ROW1(A+32, Z7, Z20); \
	ROW1(A+40, Z3, Z23); \
	ROW1(A+48, Z4, Z26); \
	ROW1(A+56, Z5, Z29)

#define STEP2(A, B) \
	VMOVUPD B+0(BX), Z0;      \
	VMOVUPD B+64(BX), Z1;     \
	ROW2(A+0, Z3, Z8, Z9);    \
	ROW2(A+8, Z4, Z11, Z12);  \
	ROW2(A+16, Z5, Z14, Z15); \
	ROW2(A+24, Z6, Z17, Z18); \
	ROW2(A+32, Z7, Z20, Z21); \
	ROW2(A+40, Z3, Z23, Z24); \
	ROW2(A+48, Z4, Z26, Z27); \
	ROW2(A+56, Z5, Z29, Z30)

#define STEP3(A, B) \
	VMOVUPD B+0(BX), Z0;           \
	VMOVUPD B+64(BX), Z1;          \
	VMOVUPD B+128(BX), Z2;         \
	PREFETCHT0 B+1536(BX);         \
	ROW3(A+0, Z3, Z8, Z9, Z10);    \
	PREFETCHT0 B+1600(BX);         \
	ROW3(A+8, Z4, Z11, Z12, Z13);  \
	PREFETCHT0 B+1664(BX);         \
	ROW3(A+16, Z5, Z14, Z15, Z16); \
	PREFETCHT0 A+512(AX);          \
	ROW3(A+24, Z6, Z17, Z18, Z19); \
	ROW3(A+32, Z7, Z20, Z21, Z22); \
	ROW3(A+40, Z3, Z23, Z24, Z25); \
	ROW3(A+48, Z4, Z26, Z27, Z28); \
	ROW3(A+56, Z5, Z29, Z30, Z31)

// All steps, four at a time. Each four prefetch a cache line of c, the first line of each row
// first, and two lines at R13: all at once they would delay the panels.
#define SUM(STEP, LOOP, FETCH, NEXT, ONE, REST, DONE) \
LOOP:                  \
	SUBQ $4, CX;       \
	JLT  REST;         \
	PREFETCHT0 (R10);  \
	ADDQ SI, R10;      \
	PREFETCHT1 0(R13); \
	PREFETCHT1 64(R13); \
	ADDQ $128, R13;    \
	DECQ R11;          \
	JZ   NEXT;         \
FETCH:                 \
	STEP(0, 0);        \
	STEP(64, 192);     \
	STEP(128, 384);    \
	STEP(192, 576);    \
	ADDQ $256, AX;     \
	ADDQ $768, BX;     \
	JMP  LOOP;         \
NEXT:                  \
	MOVQ R12, R10;     \
	ADDQ $64, R12;     \
	MOVQ DX, R11;      \
	JMP  FETCH;        \
REST:                  \
	ADDQ $4, CX;       \
	JZ   DONE;         \
ONE:                   \
	STEP(0, 0);        \
	ADDQ $64, AX;      \
	ADDQ $192, BX;     \
	DECQ CX;           \
	JNZ  ONE;          \
DONE:

// Stores a vector of c = alpha·sum + c, with 0 instead of the old c if it is not read. Z0 is alpha.
#define PUT(OFF, C) \
	VMOVUPD.Z   OFF(DI), K2, Z1; \
	VFMADD231PD C, Z0, Z1;       \
	VMOVUPD     Z1, OFF(DI)

#define PUTLAST(OFF, C) \
	VMOVUPD.Z   OFF(DI), K3, Z1; \
	VFMADD231PD C, Z0, Z1;       \
	VMOVUPD     Z1, K1, OFF(DI)

#define NEXTROW \
	DECQ DX;    \
	JZ   done;  \
	ADDQ SI, DI

#define PUT1(C0, C1, C2) PUTLAST(0, C0)
#define PUT2(C0, C1, C2) PUT(0, C0); PUTLAST(64, C1)
#define PUT3(C0, C1, C2) PUT(0, C0); PUT(64, C1); PUTLAST(128, C2)
#define PUTFULL(C0, C1, C2) PUT(0, C0); PUT(64, C1); PUT(128, C2)

#define PUTROWS(PUTW) \
	PUTW(Z8, Z9, Z10);   \
	NEXTROW;             \
	PUTW(Z11, Z12, Z13); \
	NEXTROW;             \
	PUTW(Z14, Z15, Z16); \
	NEXTROW;             \
	PUTW(Z17, Z18, Z19); \
	NEXTROW;             \
	PUTW(Z20, Z21, Z22); \
	NEXTROW;             \
	PUTW(Z23, Z24, Z25); \
	NEXTROW;             \
	PUTW(Z26, Z27, Z28); \
	NEXTROW;             \
	PUTW(Z29, Z30, Z31); \
	VZEROUPPER;          \
	RET

// func gemmAVX512(k int, alpha float64, a, b, c *float64, ldc, rows, cols int, store bool, ahead *float64)
TEXT ·gemmAVX512(SB), NOSPLIT, $0-80
	MOVQ k+0(FP), CX
	MOVQ a+16(FP), AX
	MOVQ b+24(FP), BX
	MOVQ c+32(FP), DI
	MOVQ ldc+40(FP), SI
	SHLQ $3, SI
	MOVQ rows+48(FP), DX
	MOVQ cols+56(FP), R9

	// K1: the low (cols-1)%8+1 lanes. K2: all lanes, and K3: those of K1, or none if c is not read.
	MOVQ  R9, R10
	DECQ  R10
	ANDQ  $7, R10
	MOVQ  $0xff, R11
	MOVQ  $7, R12
	SUBQ  R10, R12
	MOVQ  CX, R13
	MOVQ  R12, CX
	MOVQ  R11, R12
	SHRQ  CX, R12
	MOVQ  R13, CX
	KMOVW R12, K1
	MOVBQZX store+64(FP), R13
	DECQ  R13
	ANDQ  R13, R11
	ANDQ  R13, R12
	KMOVW R11, K2
	KMOVW R12, K3

	// What to prefetch. R10: a line of c. R11: rows left. R12: the next line of the first row. R13: ahead.
	MOVQ DI, R10
	MOVQ DX, R11
	LEAQ 64(DI), R12
	MOVQ ahead+72(FP), R13

	VPXORQ Z8, Z8, Z8
	VPXORQ Z9, Z9, Z9
	VPXORQ Z10, Z10, Z10
	VPXORQ Z11, Z11, Z11
	VPXORQ Z12, Z12, Z12
	VPXORQ Z13, Z13, Z13
	VPXORQ Z14, Z14, Z14
	VPXORQ Z15, Z15, Z15
	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17
	VPXORQ Z18, Z18, Z18
	VPXORQ Z19, Z19, Z19
	VPXORQ Z20, Z20, Z20
	VPXORQ Z21, Z21, Z21
	VPXORQ Z22, Z22, Z22
	VPXORQ Z23, Z23, Z23
	VPXORQ Z24, Z24, Z24
	VPXORQ Z25, Z25, Z25
	VPXORQ Z26, Z26, Z26
	VPXORQ Z27, Z27, Z27
	VPXORQ Z28, Z28, Z28
	VPXORQ Z29, Z29, Z29
	VPXORQ Z30, Z30, Z30
	VPXORQ Z31, Z31, Z31

	CMPQ R9, $16
	JGT  wide
	CMPQ R9, $8
	JGT  middle

	SUM(STEP1, loop1, fetch1, next1, one1, rest1, done1)
	VBROADCASTSD alpha+8(FP), Z0
	PUTROWS(PUT1)

middle:
	SUM(STEP2, loop2, fetch2, next2, one2, rest2, done2)
	VBROADCASTSD alpha+8(FP), Z0
	PUTROWS(PUT2)

wide:
	SUM(STEP3, loop3, fetch3, next3, one3, rest3, done3)
	VBROADCASTSD alpha+8(FP), Z0
	CMPQ R9, $24
	JEQ  full
	PUTROWS(PUT3)

full:
	PUTROWS(PUTFULL)

done:
	VZEROUPPER
	RET
