//go:build !noasm

#include "textflag.h"

// func axpyAVX2(n int, alpha float64, x, y *float64)
TEXT ·axpyAVX2(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), CX
	VBROADCASTSD alpha+8(FP), Y4
	MOVQ x+16(FP), SI
	MOVQ y+24(FP), DI

sixteen:
	SUBQ $16, CX
	JLT  rest
	VMOVUPD     (DI), Y0
	VMOVUPD     32(DI), Y1
	VMOVUPD     64(DI), Y2
	VMOVUPD     96(DI), Y3
	VFMADD231PD (SI), Y4, Y0
	VFMADD231PD 32(SI), Y4, Y1
	VFMADD231PD 64(SI), Y4, Y2
	VFMADD231PD 96(SI), Y4, Y3
	VMOVUPD     Y0, (DI)
	VMOVUPD     Y1, 32(DI)
	VMOVUPD     Y2, 64(DI)
	VMOVUPD     Y3, 96(DI)
	ADDQ        $128, SI
	ADDQ        $128, DI
	JMP         sixteen

rest:
	ADDQ $16, CX
four:
	SUBQ $4, CX
	JLT  tail
	VMOVUPD     (DI), Y0
	VFMADD231PD (SI), Y4, Y0
	VMOVUPD     Y0, (DI)
	ADDQ        $32, SI
	ADDQ        $32, DI
	JMP         four

tail:
	ADDQ $4, CX
	JZ   done
one:
	VMOVSD      (DI), X0
	VFMADD231SD (SI), X4, X0
	VMOVSD      X0, (DI)
	ADDQ        $8, SI
	ADDQ        $8, DI
	DECQ        CX
	JNZ         one

done:
	VZEROUPPER
	RET

// Adds the sixteen lanes of Y0..Y3 to X0: lanes i and i+4, i+8 and i+12, and both. Of the
// four sums it adds the first to the third, the second to the fourth, and both.
#define ADDLANES \
	VADDPD       Y1, Y0, Y0;    \
	VADDPD       Y3, Y2, Y2;    \
	VADDPD       Y2, Y0, Y0;    \
	VEXTRACTF128 $1, Y0, X1;    \
	VADDPD       X1, X0, X0;    \
	VUNPCKHPD    X0, X0, X1;    \
	VADDSD       X1, X0, X0

// func dotAVX2(n int, x, y *float64) float64
//
// n is a multiple of 16.
TEXT ·dotAVX2(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), CX
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DI
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3

loop:
	SUBQ $16, CX
	JLT  done
	VMOVUPD     (SI), Y4
	VMOVUPD     32(SI), Y5
	VMOVUPD     64(SI), Y6
	VMOVUPD     96(SI), Y7
	VFMADD231PD (DI), Y4, Y0
	VFMADD231PD 32(DI), Y5, Y1
	VFMADD231PD 64(DI), Y6, Y2
	VFMADD231PD 96(DI), Y7, Y3
	ADDQ        $128, SI
	ADDQ        $128, DI
	JMP         loop

done:
	ADDLANES
	VMOVSD X0, ret+24(FP)
	VZEROUPPER
	RET

// func sumAVX2(n int, x *float64) float64
//
// n is a multiple of 16.
TEXT ·sumAVX2(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), CX
	MOVQ x+8(FP), SI
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3

loop:
	SUBQ $16, CX
	JLT  done
	VADDPD (SI), Y0, Y0
	VADDPD 32(SI), Y1, Y1
	VADDPD 64(SI), Y2, Y2
	VADDPD 96(SI), Y3, Y3
	ADDQ   $128, SI
	JMP    loop

done:
	ADDLANES
	VMOVSD X0, ret+16(FP)
	VZEROUPPER
	RET

// func combineAVX2(n int, coef *float64, stride int, rows, y *float64)
//
// Takes Σ coef[k·stride]·rows[48k:48k+48] from the 48 elements of y, which stay in registers.
TEXT ·combineAVX2(SB), NOSPLIT, $0-40
	MOVQ n+0(FP), CX
	MOVQ coef+8(FP), SI
	MOVQ stride+16(FP), R8
	MOVQ rows+24(FP), BX
	MOVQ y+32(FP), DI
	SHLQ $3, R8
	VMOVUPD (DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	VMOVUPD 96(DI), Y3
	VMOVUPD 128(DI), Y4
	VMOVUPD 160(DI), Y5
	VMOVUPD 192(DI), Y6
	VMOVUPD 224(DI), Y7
	VMOVUPD 256(DI), Y8
	VMOVUPD 288(DI), Y9
	VMOVUPD 320(DI), Y10
	VMOVUPD 352(DI), Y11

loop:
	DECQ CX
	JLT  done
	VBROADCASTSD (SI), Y12
	VFNMADD231PD (BX), Y12, Y0
	VFNMADD231PD 32(BX), Y12, Y1
	VFNMADD231PD 64(BX), Y12, Y2
	VFNMADD231PD 96(BX), Y12, Y3
	VFNMADD231PD 128(BX), Y12, Y4
	VFNMADD231PD 160(BX), Y12, Y5
	VFNMADD231PD 192(BX), Y12, Y6
	VFNMADD231PD 224(BX), Y12, Y7
	VFNMADD231PD 256(BX), Y12, Y8
	VFNMADD231PD 288(BX), Y12, Y9
	VFNMADD231PD 320(BX), Y12, Y10
	VFNMADD231PD 352(BX), Y12, Y11
	ADDQ         R8, SI
	ADDQ         $384, BX
	JMP          loop

done:
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	VMOVUPD Y3, 96(DI)
	VMOVUPD Y4, 128(DI)
	VMOVUPD Y5, 160(DI)
	VMOVUPD Y6, 192(DI)
	VMOVUPD Y7, 224(DI)
	VMOVUPD Y8, 256(DI)
	VMOVUPD Y9, 288(DI)
	VMOVUPD Y10, 320(DI)
	VMOVUPD Y11, 352(DI)
	VZEROUPPER
	RET
