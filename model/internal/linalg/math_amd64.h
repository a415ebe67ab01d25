// The bodies of exp, φ, Φ and of the kernel block, shared by the vector widths. An
// including file defines V0..V13 (vector registers), LANES and BYTES of one, ZERO(v),
// MASK, LOADPART, STOREPART for a part of a vector, and
//
//	SCALE(p, n, out): out = p·2ⁿ, rounded once; may use V1, V4, V5
//	UPPER(x, v):      v = 1 − v in the lanes where the sign of x is +; may use V1, V4
//
// Constants: DX points to the table of constants_amd64.go.

#define T(I) ((I)*64)(DX)
#define TI(I, J) ((I+J)*64)(DX)

// n = round(V0/ln 2) to V2, V0 = V0 − n·ln 2. Uses V1.
#define REDUCE \
	VMOVUPD      T(const_log2E), V1;        \
	VFMADD213PD  T(const_roundInt), V0, V1; \
	VSUBPD       T(const_roundInt), V1, V2; \
	VFNMADD231PD T(const_ln2High), V2, V0;  \
	VFNMADD231PD T(const_ln2Low), V2, V0

// V3 = exp(V0) for a reduced V0. Uses V4.
#define EXPSMALL \
	VMOVUPD     T(const_expCoefficients), V3;             \
	VFMADD213PD TI(const_expCoefficients, 1), V0, V3;     \
	VFMADD213PD TI(const_expCoefficients, 2), V0, V3;     \
	VFMADD213PD TI(const_expCoefficients, 3), V0, V3;     \
	VFMADD213PD TI(const_expCoefficients, 4), V0, V3;     \
	VFMADD213PD TI(const_expCoefficients, 5), V0, V3;     \
	VFMADD213PD TI(const_expCoefficients, 6), V0, V3;     \
	VFMADD213PD TI(const_expCoefficients, 7), V0, V3;     \
	VFMADD213PD TI(const_expCoefficients, 8), V0, V3;     \
	VFMADD213PD TI(const_expCoefficients, 9), V0, V3;     \
	VMULPD      V0, V0, V4;                         \
	VFMADD213PD V0, V4, V3;                         \
	VADDPD      T(const_one), V3, V3

// V0 = max(V0, expMin), NaN stays NaN (the second source of the instruction). Uses V1.
#define CLAMPLOW \
	VMOVUPD T(const_expMin), V1;  \
	VMAXPD  V0, V1, V0

#define CLAMPHIGH \
	VMOVUPD T(const_expMax), V1;  \
	VMINPD  V0, V1, V0

// V0 = exp(V0).
#define EXP \
	CLAMPHIGH;           \
	CLAMPLOW;            \
	REDUCE;              \
	EXPSMALL;            \
	SCALE(V3, V2, V0)

// From x in V0: t = min(|x|, normalMax) in V6; exp(−t²/2) as V3·2^V2.
#define GAUSS \
	VANDPD      T(const_absMask), V0, V0;      \
	VMOVUPD     T(const_normalMax), V1;        \
	VMINPD      V0, V1, V6;              \
	VMULPD      V6, V6, V0;              \
	VMOVAPD     V0, V7;                  \
	VFMSUB231PD V6, V6, V7;              \
	VMULPD      T(const_minusHalf), V0, V0;    \
	REDUCE;                              \
	VFMADD231PD T(const_minusHalf), V7, V0;    \
	EXPSMALL

// V7 = Φ(−t)/exp(−t²/2) for t in V6. Uses V1, V4, V5, V8. V1 = 1/(t+4) has a remainder
// V4, from the rounding of the sum (V8, exact for t ≤ 4) and of the quotient.
#define TAILRATIO \
	VADDPD       T(const_four), V6, V4;         \
	VMOVUPD      T(const_one), V5;              \
	VDIVPD       V4, V5, V1;                    \
	VSUBPD       T(const_four), V4, V8;         \
	VSUBPD       V8, V6, V8;                    \
	VFNMADD231PD V1, V4, V5;                    \
	VFNMADD231PD V1, V8, V5;                    \
	VMULPD       V1, V5, V4;                    \
	VMOVUPD      T(const_one), V5;              \
	VFMADD231PD  T(const_minusEight), V1, V5;   \
	VFMADD231PD  T(const_minusEight), V4, V5;   \
	VMULPD       V5, V5, V6;                    \
	VMOVUPD      T(const_cdfEven), V7;          \
	VMOVUPD      T(const_cdfOdd), V8;           \
	VFMADD213PD  TI(const_cdfEven, 1), V6, V7;  \
	VFMADD213PD  TI(const_cdfOdd, 1), V6, V8;   \
	VFMADD213PD  TI(const_cdfEven, 2), V6, V7;  \
	VFMADD213PD  TI(const_cdfOdd, 2), V6, V8;   \
	VFMADD213PD  TI(const_cdfEven, 3), V6, V7;  \
	VFMADD213PD  TI(const_cdfOdd, 3), V6, V8;   \
	VFMADD213PD  TI(const_cdfEven, 4), V6, V7;  \
	VFMADD213PD  TI(const_cdfOdd, 4), V6, V8;   \
	VFMADD213PD  TI(const_cdfEven, 5), V6, V7;  \
	VFMADD213PD  TI(const_cdfOdd, 5), V6, V8;   \
	VFMADD213PD  TI(const_cdfEven, 6), V6, V7;  \
	VFMADD213PD  TI(const_cdfOdd, 6), V6, V8;   \
	VFMADD213PD  TI(const_cdfEven, 7), V6, V7;  \
	VFMADD213PD  TI(const_cdfOdd, 7), V6, V8;   \
	VFMADD213PD  TI(const_cdfEven, 8), V6, V7;  \
	VFMADD213PD  TI(const_cdfOdd, 8), V6, V8;   \
	VFMADD213PD  TI(const_cdfEven, 9), V6, V7;  \
	VFMADD213PD  TI(const_cdfOdd, 9), V6, V8;   \
	VFMADD231PD  V5, V8, V7;                    \
	VFMADD213PD  T(const_cdfLow), V5, V7;       \
	VFMADD213PD  TI(const_cdfLow, 1), V5, V7;   \
	VFMADD213PD  TI(const_cdfLow, 2), V5, V7;   \
	VMULPD       T(const_four), V7, V7;         \
	VMULPD       V4, V7, V4;                    \
	VFMADD213PD  V4, V1, V7

// One vector from SI to DI.
#define EXPSTEP(LOAD, STORE) \
	LOAD(SI, V0);   \
	EXP;            \
	STORE(V0, DI)

#define PDFSTEP(LOAD, STORE) \
	LOAD(SI, V0);                  \
	GAUSS;                         \
	VMULPD T(const_rootTwoPi), V3, V3;   \
	SCALE(V3, V2, V0);             \
	STORE(V0, DI)

// Φ to DI, and φ to R8 in the second form.
#define CDFSTEP(LOAD, STORE) \
	LOAD(SI, V0);         \
	VMOVAPD V0, V9;       \
	GAUSS;                \
	TAILRATIO;            \
	VMULPD V7, V3, V3;    \
	SCALE(V3, V2, V0);    \
	UPPER(V9, V0);        \
	STORE(V0, DI)

#define BOTHSTEP(LOAD, STORE) \
	LOAD(SI, V0);                   \
	VMOVAPD V0, V9;                 \
	GAUSS;                          \
	TAILRATIO;                      \
	VMULPD V3, V7, V7;              \
	SCALE(V7, V2, V0);              \
	UPPER(V9, V0);                  \
	STORE(V0, DI);                  \
	VMULPD T(const_rootTwoPi), V3, V3;    \
	SCALE(V3, V2, V0);              \
	STORE(V0, R8)

// Applies STEP to CX elements. MASK(CX) prepares LOADPART and STOREPART for the last
// 1..LANES−1.
#define EACH(STEP) \
	SUBQ $LANES, CX;             \
	JLT  part;                   \
loop:                            \
	STEP(LOADFULL, STOREFULL);   \
	ADDQ $BYTES, SI;             \
	ADDQ $BYTES, DI;             \
	ADDQ $BYTES, R8;             \
	SUBQ $LANES, CX;             \
	JGE  loop;                   \
part:                            \
	ADDQ $LANES, CX;             \
	JZ   done;                   \
	MASK;                        \
	STEP(LOADPART, STOREPART);   \
done:                            \
	VZEROUPPER;                  \
	RET

#define LOADFULL(P, V) VMOVUPD (P), V
#define STOREFULL(V, P) VMOVUPD V, (P)

// V0 = variance·exp(−½ S) to P.
#define KERNELEXP(S, P) \
	VMULPD T(const_minusHalf), S, V0; \
	CLAMPLOW;                         \
	REDUCE;                           \
	EXPSMALL;                         \
	SCALE(V3, V2, V0);                \
	VMULPD V13, V0, V0;               \
	VMOVUPD V0, P

// The kernel block, two vectors of columns: for each of CX rows of x at SI (stride R8
// bytes), DI (stride R9) gets variance·exp(−½ Σ ((x_k − z_k)·inv_k)²), z at BX as R10
// pairs of vectors, inv at AX. Two rows at a time make four sums, enough to hide what
// each waits for.
#define KERNELROWS \
	VBROADCASTSD variance+56(FP), V13;   \
rows:                                    \
	SUBQ $2, CX;                         \
	JLT  last;                           \
	LEAQ (SI)(R8*1), R13;                \
	ZERO(V10);                           \
	ZERO(V11);                           \
	ZERO(V12);                           \
	ZERO(V14);                           \
	XORQ R11, R11;                       \
	MOVQ BX, R12;                        \
features:                                \
	VBROADCASTSD (SI)(R11*8), V0;        \
	VBROADCASTSD (R13)(R11*8), V5;       \
	VBROADCASTSD (AX)(R11*8), V2;        \
	VSUBPD       (R12), V0, V1;          \
	VSUBPD       BYTES(R12), V0, V3;     \
	VSUBPD       (R12), V5, V4;          \
	VSUBPD       BYTES(R12), V5, V6;     \
	VMULPD       V2, V1, V1;             \
	VMULPD       V2, V3, V3;             \
	VMULPD       V2, V4, V4;             \
	VMULPD       V2, V6, V6;             \
	VFMADD231PD  V1, V1, V10;            \
	VFMADD231PD  V3, V3, V11;            \
	VFMADD231PD  V4, V4, V12;            \
	VFMADD231PD  V6, V6, V14;            \
	ADDQ         $(2*BYTES), R12;        \
	INCQ         R11;                    \
	CMPQ         R11, R10;               \
	JLT          features;               \
	KERNELEXP(V10, (DI));                \
	KERNELEXP(V11, BYTES(DI));           \
	ADDQ R9, DI;                         \
	KERNELEXP(V12, (DI));                \
	KERNELEXP(V14, BYTES(DI));           \
	ADDQ R9, DI;                         \
	LEAQ (R13)(R8*1), SI;                \
	JMP  rows;                           \
last:                                    \
	ADDQ $2, CX;                         \
	JZ   end;                            \
	ZERO(V10);                           \
	ZERO(V11);                           \
	XORQ R11, R11;                       \
	MOVQ BX, R12;                        \
feature:                                 \
	VBROADCASTSD (SI)(R11*8), V0;        \
	VBROADCASTSD (AX)(R11*8), V2;        \
	VSUBPD       (R12), V0, V1;          \
	VSUBPD       BYTES(R12), V0, V3;     \
	VMULPD       V2, V1, V1;             \
	VMULPD       V2, V3, V3;             \
	VFMADD231PD  V1, V1, V10;            \
	VFMADD231PD  V3, V3, V11;            \
	ADDQ         $(2*BYTES), R12;        \
	INCQ         R11;                    \
	CMPQ         R11, R10;               \
	JLT          feature;                \
	KERNELEXP(V10, (DI));                \
	KERNELEXP(V11, BYTES(DI));           \
end:                                     \
	VZEROUPPER;                          \
	RET
