// The bodies of exp, φ, Φ and of the kernel block, shared by the vector widths. An
// including file defines V0..V15 (vector registers), LANES and BYTES of one, ZERO(v),
// MASK, LOADPART and STOREPART for a part of a vector, UPPER(x, v, w): v = 1 − v in the
// lanes where the sign of x is +, and the macros below, because each width has a way of its
// own. In them m, n and j are those of constants.go, eighths is n/8, and the last bits of
// sum are n. They overwrite sum and w.
//
// For any x:
//
//	CLAMP(x):          bounds x, so that SCALE can use eighths; overwrites V1
//	BOUND(r):          bounds r, so that EXPSMALL can use it
//	POWER(sum, v, w):  v = T_j
//	SCALE(v, eighths): v = v·2^m, rounded once; overwrites V1, V4, V5
//
// For an x that USUAL lets pass:
//
//	USUAL(x, y, i, w):      jumps to the label one unless |x|, |y| ≤ constant i, if
//	                        that helps; overwrites V1, V4
//	QUICKPOWER(sum, v, w):  v = T_j, or 2^m·T_j at once
//	QUICKSCALE(v, eighths): v = v·2^m, unless QUICKPOWER has done it
//
// For an exponent of the kernel block, of which 2^m is a normal number:
//
//	KERNELPOWER(sum, v, w): v = 2^m·T_j
//
// LOG2E, ROUND, LN2HIGH, LN2LOW and E0..E5 are constants of exp, which HOIST loads if
// registers hold them. DX points to the table of constants_amd64.go.

#define C(I) ((I)*64)(DX)
#define CI(I, J) ((I+J)*64)(DX)

// From x in X: N = n/8, X = r, and SUM for POWER.
#define REDUCE(X, N, SUM)           \
	VMOVUPD      LOG2E, SUM;    \
	VFMADD213PD  ROUND, X, SUM; \
	VSUBPD       ROUND, SUM, N; \
	VFNMADD231PD LN2HIGH, N, X; \
	VFNMADD231PD LN2LOW, N, X

// P = power·exp(R). Overwrites Q and S.
#define EXPSMALL(R, POWER, P, Q, S) \
	VMULPD      R, R, S;        \
	VMOVUPD     E0, P;          \
	VMOVUPD     E2, Q;          \
	VFMADD213PD E1, R, P;       \
	VFMADD213PD E3, R, Q;       \
	VFMADD231PD P, S, Q;        \
	VMOVUPD     E4, P;          \
	VFMADD213PD E5, R, P;       \
	VFMADD231PD Q, S, P;        \
	VFMADD213PD R, S, P;        \
	VFMADD213PD POWER, POWER, P

// One vector from SI to DI, any values.
#define EXPSTEP(LOAD, STORE)          \
	LOAD(SI, V0);                 \
	CLAMP(V0);                    \
	REDUCE(V0, V2, V3);           \
	BOUND(V0);                    \
	POWER(V3, V6, V7);            \
	EXPSMALL(V0, V6, V3, V4, V5); \
	SCALE(V3, V2);                \
	STORE(V3, DI)

// Two vectors from SI to DI.
#define EXPTWO                              \
	VMOVUPD (SI), V0;                   \
	VMOVUPD BYTES(SI), V8;              \
	USUAL(V0, V8, const_expNormal, V7); \
	REDUCE(V0, V2, V3);                 \
	REDUCE(V8, V10, V11);               \
	BOUND(V0);                          \
	BOUND(V8);                          \
	QUICKPOWER(V3, V6, V7);             \
	QUICKPOWER(V11, V14, V15);          \
	EXPSMALL(V0, V6, V3, V4, V5);       \
	EXPSMALL(V8, V14, V11, V12, V13);   \
	QUICKSCALE(V3, V2);                 \
	QUICKSCALE(V11, V10);               \
	VMOVUPD V3, (DI);                   \
	VMOVUPD V11, BYTES(DI)

// T = t = min(|x|, normalMax) for x in X, which is overwritten.
#define SIZE(X, T)                      \
	VANDPD  C(const_absMask), X, X; \
	VMOVUPD C(const_normalMax), T;  \
	VMINPD  X, T, T

// From t in T: X = r, N and SUM of exp(−t²/2). Overwrites LOW.
#define GAUSS(T, X, N, SUM, LOW)               \
	VMULPD       T, T, X;                  \
	VMOVAPD      X, LOW;                   \
	VFMSUB231PD  T, T, LOW;                \
	VMULPD       C(const_minusHalf), X, X; \
	REDUCE(X, N, SUM);                     \
	VFMADD231PD  C(const_minusHalf), LOW, X

// From t in V6: INV = 1/(t+4), with a remainder REM from the rounding of the sum (V8, exact
// for t ≤ 4) and of the quotient, and S = s without the remainder. Overwrites V7. It comes
// before the exponential, so that the processor computes that during the division.
#define QUOTIENT(INV, REM, S)                     \
	VADDPD       C(const_four), V6, REM;      \
	VMOVUPD      C(const_one), V7;            \
	VDIVPD       REM, V7, INV;                \
	VSUBPD       C(const_four), REM, V8;      \
	VSUBPD       V8, V6, V8;                  \
	VMOVAPD      V7, S;                       \
	VFMADD231PD  C(const_minusEight), INV, S; \
	VFNMADD231PD INV, REM, V7;                \
	VFNMADD231PD INV, V8, V7;                 \
	VMULPD       INV, V7, REM

// V7 = Φ(−t)/exp(−t²/2). Overwrites V0, V6, V8, V11, V12, REM and S.
#define TAILRATIO(INV, REM, S)                     \
	VMULPD      S, S, V6;                      \
	VMULPD      V6, V6, V12;                   \
	VMOVUPD     C(const_cdfEven), V0;          \
	VMOVUPD     C(const_cdfOdd), V11;          \
	VMOVUPD     CI(const_cdfEven, 1), V7;      \
	VMOVUPD     CI(const_cdfOdd, 1), V8;       \
	VFMADD213PD CI(const_cdfEven, 2), V12, V0; \
	VFMADD213PD CI(const_cdfOdd, 2), V12, V11; \
	VFMADD213PD CI(const_cdfEven, 3), V12, V7; \
	VFMADD213PD CI(const_cdfOdd, 3), V12, V8;  \
	VFMADD213PD CI(const_cdfEven, 4), V12, V0; \
	VFMADD213PD CI(const_cdfOdd, 4), V12, V11; \
	VFMADD213PD CI(const_cdfEven, 5), V12, V7; \
	VFMADD213PD CI(const_cdfOdd, 5), V12, V8;  \
	VFMADD213PD CI(const_cdfEven, 6), V12, V0; \
	VFMADD213PD CI(const_cdfOdd, 6), V12, V11; \
	VFMADD213PD CI(const_cdfEven, 7), V12, V7; \
	VFMADD213PD CI(const_cdfOdd, 7), V12, V8;  \
	VFMADD213PD CI(const_cdfEven, 8), V12, V0; \
	VFMADD213PD CI(const_cdfOdd, 8), V12, V11; \
	VFMADD213PD CI(const_cdfEven, 9), V12, V7; \
	VFMADD213PD CI(const_cdfOdd, 9), V12, V8;  \
	VFMADD231PD V0, V6, V7;                    \
	VFMADD231PD V11, V6, V8;                   \
	VFMADD231PD S, V8, V7;                     \
	VFMADD231PD C(const_minusEight), REM, S;   \
	VFMADD213PD C(const_cdfLow), S, V7;        \
	VFMADD213PD CI(const_cdfLow, 1), S, V7;    \
	VFMADD213PD CI(const_cdfLow, 2), S, V7;    \
	VMULPD      REM, V7, REM;                  \
	VFMADD213PD REM, INV, V7

// From x in V0: the quotient, and E·2^m = exp(−t²/2). Overwrites V6..V8.
#define TAIL(RAISED, N, E, INV, REM, S) \
	SIZE(V0, V6);                   \
	QUOTIENT(INV, REM, S);          \
	GAUSS(V6, V0, N, E, V7);        \
	RAISED(E, V8, V7);              \
	EXPSMALL(V0, V8, E, V6, V7)

// Φ from SI to DI.
#define CDFSTEP(LOAD, STORE)              \
	LOAD(SI, V0);                     \
	TAIL(POWER, V2, V3, V1, V4, V14); \
	TAILRATIO(V1, V4, V14);           \
	VMULPD V7, V3, V3;                \
	SCALE(V3, V2);                    \
	LOAD(SI, V0);                     \
	UPPER(V0, V3, V1);                \
	STORE(V3, DI)

#define CDFQUICK(N, E, INV, REM, S, X, TO) \
	TAILRATIO(INV, REM, S);            \
	VMULPD  V7, E, V7;                 \
	QUICKSCALE(V7, N);                 \
	VMOVUPD X, V0;                     \
	UPPER(V0, V7, V8);                 \
	VMOVUPD V7, TO

#define TAILTWO                                \
	VMOVUPD (SI), V0;                      \
	VMOVUPD BYTES(SI), V6;                 \
	USUAL(V0, V6, const_normalNormal, V7); \
	TAIL(QUICKPOWER, V2, V3, V1, V4, V14); \
	VMOVUPD BYTES(SI), V0;                 \
	TAIL(QUICKPOWER, V15, V9, V5, V13, V10)

#define CDFTWO                                     \
	TAILTWO;                                   \
	CDFQUICK(V2, V3, V1, V4, V14, (SI), (DI)); \
	CDFQUICK(V15, V9, V5, V13, V10, BYTES(SI), BYTES(DI))

// Φ to DI and φ to R8.
#define BOTHSTEP(LOAD, STORE)              \
	LOAD(SI, V0);                      \
	TAIL(POWER, V2, V3, V1, V4, V14);  \
	TAILRATIO(V1, V4, V14);            \
	VMULPD V3, V7, V7;                 \
	SCALE(V7, V2);                     \
	LOAD(SI, V0);                      \
	UPPER(V0, V7, V1);                 \
	STORE(V7, DI);                     \
	VMULPD C(const_rootTwoPi), V3, V3; \
	SCALE(V3, V2);                     \
	STORE(V3, R8)

#define BOTHQUICK(N, E, INV, REM, S, X, CDF, PDF) \
	CDFQUICK(N, E, INV, REM, S, X, CDF);      \
	VMULPD  C(const_rootTwoPi), E, E;         \
	QUICKSCALE(E, N);                         \
	VMOVUPD E, PDF

#define BOTHTWO                                           \
	TAILTWO;                                          \
	BOTHQUICK(V2, V3, V1, V4, V14, (SI), (DI), (R8)); \
	BOTHQUICK(V15, V9, V5, V13, V10, BYTES(SI), BYTES(DI), BYTES(R8))

// Applies TWO to CX elements, and STEP where TWO jumps to the label one and to the rest.
// MASK prepares LOADPART and STOREPART for the last 1..LANES−1 elements.
#define EACH(TWO, STEP)            \
	HOIST;                     \
	SUBQ $(2*LANES), CX;       \
	JLT  rest;                 \
loop:                              \
	TWO;                       \
	ADDQ $(2*BYTES), SI;       \
	ADDQ $(2*BYTES), DI;       \
	ADDQ $(2*BYTES), R8;       \
	SUBQ $(2*LANES), CX;       \
	JGE  loop;                 \
rest:                              \
	CMPQ CX, $-LANES;          \
	JLT  part;                 \
one:                               \
	STEP(LOADFULL, STOREFULL); \
	ADDQ $BYTES, SI;           \
	ADDQ $BYTES, DI;           \
	ADDQ $BYTES, R8;           \
	SUBQ $LANES, CX;           \
	JGE  loop;                 \
	JMP  rest;                 \
part:                              \
	ADDQ $(2*LANES), CX;       \
	JZ   done;                 \
	MASK;                      \
	STEP(LOADPART, STOREPART); \
done:                              \
	VZEROUPPER;                \
	RET

#define LOADFULL(P, V) VMOVUPD (P), V
#define STOREFULL(V, P) VMOVUPD V, (P)

// Stores a row of two vectors at DI: variance·exp of the exponents in A and B.
#define KERNELROW(A, B)                       \
	VMOVUPD C(const_kernelMin), V0;       \
	VMAXPD  A, V0, A;                     \
	VMAXPD  B, V0, B;                     \
	REDUCE(A, V0, V1);                    \
	REDUCE(B, V4, V5);                    \
	KERNELPOWER(V1, V2, V3);              \
	KERNELPOWER(V5, V6, V7);              \
	EXPSMALL(A, V2, V0, V1, V3);          \
	EXPSMALL(B, V6, V4, V5, V7);          \
	VBROADCASTSD variance+40(FP), V1;     \
	VSUBPD  C(const_kernelFloor), V0, V0; \
	VSUBPD  C(const_kernelFloor), V4, V4; \
	VMULPD  V1, V0, V0;                   \
	VMULPD  V1, V4, V4;                   \
	VMOVUPD V0, (DI);                     \
	VMOVUPD V4, BYTES(DI);                \
	ADDQ    R9, DI

// From −a² in A: V0 = exp(−a) − kernelFloor, which is 0 far away, and V7 = a. Overwrites A.
#define MATERN(A)                            \
	ZERO(V1);                            \
	VSUBPD  A, V1, A;                    \
	VSQRTPD A, A;                        \
	VSUBPD  A, V1, A;                    \
	VMOVUPD C(const_kernelMin), V0;      \
	VMAXPD  A, V0, A;                    \
	VSUBPD  A, V1, V7;                   \
	REDUCE(A, V0, V1);                   \
	KERNELPOWER(V1, V2, V3);             \
	EXPSMALL(A, V2, V0, V1, V3);         \
	VSUBPD  C(const_kernelFloor), V0, V0

// The value of a Matérn kernel, from V0 and V7.
#define MATERN32VALUE(TO)             \
	VADDPD C(const_one), V7, V4;  \
	VMULPD V0, V4, V4;            \
	VBROADCASTSD variance+40(FP), V6; \
	VMULPD V6, V4, V4;            \
	VMOVUPD V4, TO

#define MATERN52VALUE(TO)                  \
	VMOVUPD C(const_one), V5;          \
	VMOVUPD C(const_third), V4;        \
	VFMADD213PD V5, V7, V4;            \
	VFMADD213PD V5, V7, V4;            \
	VMULPD V0, V4, V4;                 \
	VBROADCASTSD variance+40(FP), V6;  \
	VMULPD V6, V4, V4;                 \
	VMOVUPD V4, TO

// The slope of a Matérn kernel, from V0 and V7.
#define MATERN32SLOPE(TO)                \
	VBROADCASTSD steep+48(FP), V6;   \
	VMULPD V6, V0, V4;               \
	VMOVUPD V4, TO

#define MATERN52SLOPE(TO)                \
	VADDPD C(const_one), V7, V4;     \
	VMULPD V0, V4, V4;               \
	VBROADCASTSD steep+48(FP), V6;   \
	VMULPD V6, V4, V4;               \
	VMOVUPD V4, TO

// Rows of Matérn kernels; those with slopes write these to R8, with the same stride.
#define MATERN32ROW(A, B)         \
	MATERN(A);                \
	MATERN32VALUE((DI));      \
	MATERN(B);                \
	MATERN32VALUE(BYTES(DI)); \
	ADDQ R9, DI

#define MATERN52ROW(A, B)         \
	MATERN(A);                \
	MATERN52VALUE((DI));      \
	MATERN(B);                \
	MATERN52VALUE(BYTES(DI)); \
	ADDQ R9, DI

#define MATERN32BOTH(A, B)        \
	MATERN(A);                \
	MATERN32VALUE((DI));      \
	MATERN32SLOPE((R8));      \
	MATERN(B);                \
	MATERN32VALUE(BYTES(DI)); \
	MATERN32SLOPE(BYTES(R8)); \
	ADDQ R9, DI;              \
	ADDQ R9, R8

#define MATERN52BOTH(A, B)        \
	MATERN(A);                \
	MATERN52VALUE((DI));      \
	MATERN52SLOPE((R8));      \
	MATERN(B);                \
	MATERN52VALUE(BYTES(DI)); \
	MATERN52SLOPE(BYTES(R8)); \
	ADDQ R9, DI;              \
	ADDQ R9, R8

// Subtracts (x − z)² of row R of the group from the exponents A and B.
#define SQUARES(R, A, B)            \
	VBROADCASTSD (R*8)(SI), V2; \
	VSUBPD       V0, V2, V3;    \
	VSUBPD       V1, V2, V2;    \
	VFNMADD231PD V3, V3, A;     \
	VFNMADD231PD V2, V2, B

// The kernel block, two vectors of columns. SI points to CX rows of x in groups of four,
// each with R10 features, and BX to z as R10 pairs of vectors. From −Σ(x−z)² of a row, ROW
// stores values at DI (stride R9 bytes). Four rows at a time make eight sums, enough to hide
// the latency of each.
#define KERNELROWS(ROW)         \
	HOIST;                  \
group:                          \
	ZERO(V8);               \
	ZERO(V9);               \
	ZERO(V10);              \
	ZERO(V11);              \
	ZERO(V12);              \
	ZERO(V13);              \
	ZERO(V14);              \
	ZERO(V15);              \
	MOVQ R10, R11;          \
	MOVQ BX, R12;           \
feature:                        \
	VMOVUPD (R12), V0;      \
	VMOVUPD BYTES(R12), V1; \
	SQUARES(0, V8, V9);     \
	SQUARES(1, V10, V11);   \
	SQUARES(2, V12, V13);   \
	SQUARES(3, V14, V15);   \
	ADDQ $32, SI;           \
	ADDQ $(2*BYTES), R12;   \
	DECQ R11;               \
	JNZ  feature;           \
	ROW(V8, V9);      \
	DECQ CX;                \
	JZ   end;               \
	ROW(V10, V11);    \
	DECQ CX;                \
	JZ   end;               \
	ROW(V12, V13);    \
	DECQ CX;                \
	JZ   end;               \
	ROW(V14, V15);    \
	DECQ CX;                \
	JNZ  group;             \
end:                            \
	VZEROUPPER;             \
	RET
