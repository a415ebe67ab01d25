//go:build !noasm

#include "textflag.h"

// func extentOfBlocks(values *float64, n int) (lo, hi float64, nans int)
//
// X4..X7 are running minima, X8..X11 maxima. X12 and X13 have all bits set in lanes with a
// NaN, which MINPD and MAXPD lose. One comparison serves two vectors: it is unordered if
// either has a NaN. Every amd64 processor has SSE2; wider vectors would not help, because
// the second-level cache limits the speed.
TEXT ·extentOfBlocks(SB), NOSPLIT, $0-40
	MOVQ   values+0(FP), SI
	MOVQ   n+8(FP), CX
	MOVUPD (SI), X4
	MOVAPD X4, X5
	MOVAPD X4, X6
	MOVAPD X4, X7
	MOVAPD X4, X8
	MOVAPD X4, X9
	MOVAPD X4, X10
	MOVAPD X4, X11
	XORPD  X12, X12
	XORPD  X13, X13

loop:
	MOVUPD 0(SI), X0
	MOVUPD 16(SI), X1
	MOVUPD 32(SI), X2
	MOVUPD 48(SI), X3
	MINPD  X0, X4
	MINPD  X1, X5
	MINPD  X2, X6
	MINPD  X3, X7
	MAXPD  X0, X8
	MAXPD  X1, X9
	MAXPD  X2, X10
	MAXPD  X3, X11
	CMPPD  X1, X0, $3 // unordered
	CMPPD  X3, X2, $3
	ORPD   X0, X12
	ORPD   X2, X13
	ADDQ   $64, SI
	SUBQ   $8, CX
	JNE    loop

	MINPD    X5, X4
	MINPD    X7, X6
	MINPD    X6, X4
	MAXPD    X9, X8
	MAXPD    X11, X10
	MAXPD    X10, X8
	ORPD     X13, X12
	MOVAPD   X4, X5
	UNPCKHPD X5, X5
	MINSD    X5, X4
	MOVAPD   X8, X9
	UNPCKHPD X9, X9
	MAXSD    X9, X8
	MOVSD    X4, lo+16(FP)
	MOVSD    X8, hi+24(FP)
	MOVMSKPD X12, AX
	MOVQ     AX, nans+32(FP)
	RET
