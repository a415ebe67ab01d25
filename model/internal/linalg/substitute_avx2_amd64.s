//go:build !noasm

#include "textflag.h"

#define V0 Y0
#define V1 Y1
#define V2 Y2
#define V3 Y3
#define V4 Y4
#define V5 Y5
#define V6 Y6
#define V7 Y7
#define V8 Y8

#include "substitute_amd64.h"

// func substitute8AVX2(n int, coef, x *float64, column, panel int)
TEXT ·substitute8AVX2(SB), NOSPLIT, $0-40
	SUBSTITUTE(LOAD8, LESS8, FINISH8)

// func substitute4AVX2(n int, coef, x *float64, column, panel int)
TEXT ·substitute4AVX2(SB), NOSPLIT, $0-40
	SUBSTITUTE(LOAD4, LESS4, FINISH4)

// func substitute1AVX2(n int, coef, x *float64, column, panel int)
TEXT ·substitute1AVX2(SB), NOSPLIT, $0-40
	SUBSTITUTE(LOAD1, LESS1, FINISH1)
