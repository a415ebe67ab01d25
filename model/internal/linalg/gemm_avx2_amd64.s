//go:build !noasm

#include "textflag.h"

// Four words of ones and four of zeros. From offset 32-8r they are a mask of the first r lanes.
DATA lanes<>+0(SB)/8, $-1
DATA lanes<>+8(SB)/8, $-1
DATA lanes<>+16(SB)/8, $-1
DATA lanes<>+24(SB)/8, $-1
DATA lanes<>+32(SB)/8, $0
DATA lanes<>+40(SB)/8, $0
DATA lanes<>+48(SB)/8, $0
DATA lanes<>+56(SB)/8, $0
GLOBL lanes<>(SB), RODATA|NOPTR, $64

// The micro-kernel of 4×12 elements: 12 accumulators Y4..Y15, one row of the right panel in
// Y0..Y2, a broadcast element of the left panel in Y3. AX points to the left panel, BX to the
// right one, DI to a row of c, R8 to the mask of the last vector, R12 to memory to prefetch.
// CX counts the steps left, DX the rows left. SI is the stride of c in bytes.

#define ROW1(OFF, C0) \
	VBROADCASTSD OFF(AX), Y3; \
	VFMADD231PD  Y0, Y3, C0

#define ROW2(OFF, C0, C1) \
	ROW1(OFF, C0); \
	VFMADD231PD Y1, Y3, C1

#define ROW3(OFF, C0, C1, C2) \
	ROW2(OFF, C0, C1); \
	VFMADD231PD Y2, Y3, C2

// One step along k: the outer product of 4 and 4, 8 or 12 elements.
#define STEP1(A, B) \
	VMOVUPD B+0(BX), Y0; \
	ROW1(A+0, Y4);       \
	ROW1(A+8, Y7);       \
	ROW1(A+16, Y10);     \
	ROW1(A+24, Y13)

#define STEP2(A, B) \
	VMOVUPD B+0(BX), Y0;  \
	VMOVUPD B+32(BX), Y1; \
	ROW2(A+0, Y4, Y5);    \
	ROW2(A+8, Y7, Y8);    \
	ROW2(A+16, Y10, Y11); \
	ROW2(A+24, Y13, Y14)

#define STEP3(A, B) \
	VMOVUPD B+0(BX), Y0;       \
	VMOVUPD B+32(BX), Y1;      \
	VMOVUPD B+64(BX), Y2;      \
	ROW3(A+0, Y4, Y5, Y6);     \
	ROW3(A+8, Y7, Y8, Y9);     \
	ROW3(A+16, Y10, Y11, Y12); \
	ROW3(A+24, Y13, Y14, Y15)

// All steps, four at a time. Each four prefetch a cache line at R12.
#define SUM(STEP, LOOP, ONE, REST, DONE) \
LOOP:                   \
	SUBQ $4, CX;       \
	JLT  REST;         \
	PREFETCHT1 (R12);  \
	ADDQ $64, R12;     \
	STEP(0, 0);        \
	STEP(32, 96);      \
	STEP(64, 192);     \
	STEP(96, 288);     \
	ADDQ $128, AX;     \
	ADDQ $384, BX;     \
	JMP  LOOP;         \
REST:                   \
	ADDQ $4, CX;       \
	JZ   DONE;         \
ONE:                    \
	STEP(0, 0);        \
	ADDQ $32, AX;      \
	ADDQ $96, BX;      \
	DECQ CX;           \
	JNZ  ONE;          \
DONE:

// Stores a vector of c = alpha·sum + c, with 0 instead of the old c if it is not read. Y3 is
// alpha. Y2 and Y1 are masks of what is read of c: of full vectors, and of the last one.
#define PUT(OFF, C) \
	VMASKMOVPD  OFF(DI), Y2, Y0; \
	VFMADD213PD Y0, Y3, C;       \
	VMOVUPD     C, OFF(DI)

#define PUTLAST(OFF, C) \
	VMASKMOVPD  OFF(DI), Y1, Y0; \
	VFMADD213PD Y0, Y3, C;       \
	VMOVUPD     (R8), Y0;        \
	VMASKMOVPD  C, Y0, OFF(DI)

#define NEXTROW \
	DECQ DX;    \
	JZ   done;  \
	ADDQ SI, DI

#define PUT1(C0, C1, C2) PUTLAST(0, C0)
#define PUT2(C0, C1, C2) PUT(0, C0); PUTLAST(32, C1)
#define PUT3(C0, C1, C2) PUT(0, C0); PUT(32, C1); PUTLAST(64, C2)
#define PUTFULL(C0, C1, C2) PUT(0, C0); PUT(32, C1); PUT(64, C2)

#define PUTROWS(PUTW) \
	PUTW(Y4, Y5, Y6);    \
	NEXTROW;             \
	PUTW(Y7, Y8, Y9);    \
	NEXTROW;             \
	PUTW(Y10, Y11, Y12); \
	NEXTROW;             \
	PUTW(Y13, Y14, Y15); \
	VZEROUPPER;          \
	RET

// Sets Y3 to alpha, Y2 to ones and Y1 to the mask of the last vector; both to 0 if c is not read.
#define READMASKS \
	VBROADCASTSD alpha+8(FP), Y3; \
	VMOVQ        R13, X2;         \
	VPBROADCASTQ X2, Y2;          \
	VANDPD       (R8), Y2, Y1

// func gemmAVX2(k int, alpha float64, a, b, c *float64, ldc, rows, cols int, store bool, ahead *float64)
TEXT ·gemmAVX2(SB), NOSPLIT, $0-80
	MOVQ k+0(FP), CX
	MOVQ a+16(FP), AX
	MOVQ b+24(FP), BX
	MOVQ c+32(FP), DI
	MOVQ ldc+40(FP), SI
	SHLQ $3, SI
	MOVQ rows+48(FP), DX
	MOVQ cols+56(FP), R9
	MOVQ ahead+72(FP), R12

	// R8 points to the mask of (cols-1)%4+1 lanes. R13 is all ones, or 0 if c is not read.
	LEAQ lanes<>+24(SB), R8
	MOVQ R9, R10
	DECQ R10
	ANDQ $3, R10
	SHLQ $3, R10
	SUBQ R10, R8
	MOVBQZX store+64(FP), R13
	DECQ R13

	// Prefetches the rows of c, which arrive while the sums are formed.
	MOVQ DI, R10
	MOVQ DX, R11
prefetch:
	PREFETCHT0 (R10)
	PREFETCHT0 64(R10)
	PREFETCHT0 88(R10)
	ADDQ SI, R10
	DECQ R11
	JNZ  prefetch

	VXORPD Y4, Y4, Y4
	VXORPD Y5, Y5, Y5
	VXORPD Y6, Y6, Y6
	VXORPD Y7, Y7, Y7
	VXORPD Y8, Y8, Y8
	VXORPD Y9, Y9, Y9
	VXORPD Y10, Y10, Y10
	VXORPD Y11, Y11, Y11
	VXORPD Y12, Y12, Y12
	VXORPD Y13, Y13, Y13
	VXORPD Y14, Y14, Y14
	VXORPD Y15, Y15, Y15

	CMPQ R9, $8
	JGT  wide
	CMPQ R9, $4
	JGT  middle

	SUM(STEP1, loop1, one1, rest1, done1)
	READMASKS
	PUTROWS(PUT1)

middle:
	SUM(STEP2, loop2, one2, rest2, done2)
	READMASKS
	PUTROWS(PUT2)

wide:
	SUM(STEP3, loop3, one3, rest3, done3)
	READMASKS
	CMPQ R9, $12
	JEQ  full
	PUTROWS(PUT3)

full:
	PUTROWS(PUTFULL)

done:
	VZEROUPPER
	RET
