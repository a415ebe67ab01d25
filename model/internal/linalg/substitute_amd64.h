// Substitution in a packed diagonal block, shared by the vector widths. An including
// file defines V0..V8.
//
// CX is the number of columns, R11 that of solved ones. SI points to the coefficients, in the
// order of use, DI to the column being solved, in 8, 4 or 1 panels, DX to the first column, BX
// to a solved one, and R12 and R13 four panels after DI and BX. R8 is the distance in bytes of
// two columns, R9 that of two panels, and R10 is 3·R9.

#define LOAD4 \
	VMOVUPD (DI), V0;         \
	VMOVUPD (DI)(R9*1), V1;   \
	VMOVUPD (DI)(R9*2), V2;   \
	VMOVUPD (DI)(R10*1), V3

#define LOAD8 \
	LOAD4;                    \
	VMOVUPD (R12), V4;        \
	VMOVUPD (R12)(R9*1), V5;  \
	VMOVUPD (R12)(R9*2), V6;  \
	VMOVUPD (R12)(R10*1), V7

#define LESS4 \
	VBROADCASTSD (SI), V8;             \
	VFNMADD231PD (BX), V8, V0;         \
	VFNMADD231PD (BX)(R9*1), V8, V1;   \
	VFNMADD231PD (BX)(R9*2), V8, V2;   \
	VFNMADD231PD (BX)(R10*1), V8, V3

#define LESS8 \
	LESS4;                             \
	VFNMADD231PD (R13), V8, V4;        \
	VFNMADD231PD (R13)(R9*1), V8, V5;  \
	VFNMADD231PD (R13)(R9*2), V8, V6;  \
	VFNMADD231PD (R13)(R10*1), V8, V7

#define FINISH4 \
	VBROADCASTSD (SI), V8;    \
	VMULPD V8, V0, V0;        \
	VMULPD V8, V1, V1;        \
	VMULPD V8, V2, V2;        \
	VMULPD V8, V3, V3;        \
	VMOVUPD V0, (DI);         \
	VMOVUPD V1, (DI)(R9*1);   \
	VMOVUPD V2, (DI)(R9*2);   \
	VMOVUPD V3, (DI)(R10*1)

#define FINISH8 \
	FINISH4;                  \
	VMULPD V8, V4, V4;        \
	VMULPD V8, V5, V5;        \
	VMULPD V8, V6, V6;        \
	VMULPD V8, V7, V7;        \
	VMOVUPD V4, (R12);        \
	VMOVUPD V5, (R12)(R9*1);  \
	VMOVUPD V6, (R12)(R9*2);  \
	VMOVUPD V7, (R12)(R10*1)

#define LOAD1 VMOVUPD (DI), V0

#define LESS1 \
	VBROADCASTSD (SI), V8;  \
	VFNMADD231PD (BX), V8, V0

#define FINISH1 \
	VBROADCASTSD (SI), V8;  \
	VMULPD V8, V0, V0;      \
	VMOVUPD V0, (DI)

// func (n int, coef, x *float64, column, panel int)
#define SUBSTITUTE(LOAD, LESS, FINISH) \
	MOVQ n+0(FP), CX;        \
	MOVQ coef+8(FP), SI;     \
	MOVQ x+16(FP), DI;       \
	MOVQ column+24(FP), R8;  \
	MOVQ panel+32(FP), R9;   \
	SHLQ $3, R8;             \
	SHLQ $3, R9;             \
	MOVQ DI, DX;             \
	XORQ R11, R11;           \
	LEAQ (R9)(R9*2), R10;    \
	LEAQ (DI)(R9*4), R12;    \
column:                      \
	LOAD;                    \
	MOVQ DX, BX;             \
	LEAQ (DX)(R9*4), R13;    \
	MOVQ R11, AX;            \
less:                        \
	DECQ AX;                 \
	JLT  finish;             \
	LESS;                    \
	ADDQ $8, SI;             \
	ADDQ R8, BX;             \
	ADDQ R8, R13;            \
	JMP  less;               \
finish:                      \
	FINISH;                  \
	ADDQ $8, SI;             \
	ADDQ R8, DI;             \
	ADDQ R8, R12;            \
	INCQ R11;                \
	CMPQ R11, CX;            \
	JLT  column;             \
	VZEROUPPER;              \
	RET
