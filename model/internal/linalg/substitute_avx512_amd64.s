//go:build !noasm

#include "textflag.h"

#define V0 Z0
#define V1 Z1
#define V2 Z2
#define V3 Z3
#define V4 Z4
#define V5 Z5
#define V6 Z6
#define V7 Z7
#define V8 Z8

#include "substitute_amd64.h"

// func substitute8AVX512(n int, coef, x *float64, column, panel int)
TEXT ·substitute8AVX512(SB), NOSPLIT, $0-40
	SUBSTITUTE(LOAD8, LESS8, FINISH8)

// func substitute4AVX512(n int, coef, x *float64, column, panel int)
TEXT ·substitute4AVX512(SB), NOSPLIT, $0-40
	SUBSTITUTE(LOAD4, LESS4, FINISH4)

// func substitute1AVX512(n int, coef, x *float64, column, panel int)
TEXT ·substitute1AVX512(SB), NOSPLIT, $0-40
	SUBSTITUTE(LOAD1, LESS1, FINISH1)
