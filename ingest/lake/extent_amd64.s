//go:build !noasm

#include "textflag.h"

// func extentBlocks(p *float64, n int) (lo, hi float64, nans int)
//
// Two running minima in X8 and X9, maxima in X10 and X11, all bits set in X12 or
// X13 where a NaN was met: MINPD and MAXPD lose it, so that it needs a place of
// its own. Two vectors share one comparison, for it is unordered if either has a
// NaN. SSE2 is part of every amd64 processor.
TEXT ·extentBlocks(SB), NOSPLIT, $0-40
	MOVQ   p+0(FP), SI
	MOVQ   n+8(FP), CX
	MOVUPD (SI), X8
	MOVAPD X8, X9
	MOVAPD X8, X10
	MOVAPD X8, X11
	XORPD  X12, X12
	XORPD  X13, X13

loop:
	MOVUPD 0(SI), X0
	MOVUPD 16(SI), X1
	MOVUPD 32(SI), X2
	MOVUPD 48(SI), X3
	MINPD  X0, X8
	MAXPD  X0, X10
	MINPD  X1, X9
	MAXPD  X1, X11
	CMPPD  X1, X0, $3 // unordered
	MINPD  X2, X8
	MAXPD  X2, X10
	MINPD  X3, X9
	MAXPD  X3, X11
	CMPPD  X3, X2, $3
	ORPD   X0, X12
	ORPD   X2, X13
	ADDQ   $64, SI
	SUBQ   $8, CX
	JNE    loop

	MINPD    X9, X8
	MAXPD    X11, X10
	ORPD     X13, X12
	MOVAPD   X8, X9
	UNPCKHPD X9, X9
	MINSD    X9, X8
	MOVAPD   X10, X11
	UNPCKHPD X11, X11
	MAXSD    X11, X10
	MOVSD    X8, lo+16(FP)
	MOVSD    X10, hi+24(FP)
	MOVMSKPD X12, AX
	MOVQ     AX, nans+32(FP)
	RET
