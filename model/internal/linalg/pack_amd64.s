//go:build !noasm

#include "textflag.h"

// func packTransAVX2(k int, src *float64, ld int, dst *float64, stride int)
//
// Copies k columns (a multiple of 4) of four rows of src to four adjacent columns of dst. It
// prefetches the next four rows, because rows are too short for the processor to do so.
TEXT ·packTransAVX2(SB), NOSPLIT, $0-40
	MOVQ k+0(FP), CX
	MOVQ src+8(FP), SI
	MOVQ ld+16(FP), R8
	MOVQ dst+24(FP), DI
	MOVQ stride+32(FP), R9
	SHLQ $3, R8
	SHLQ $3, R9
	LEAQ (SI)(R8*2), R10
	LEAQ (R9)(R9*2), R11
	LEAQ (R8)(R8*4), R12

loop:
	SUBQ $4, CX
	JLT  done
	PREFETCHT0 (SI)(R8*4)
	PREFETCHT0 (SI)(R12*1)
	PREFETCHT0 (R10)(R8*4)
	PREFETCHT0 (R10)(R12*1)
	VMOVUPD    (SI), Y0
	VMOVUPD    (SI)(R8*1), Y1
	VMOVUPD    (R10), Y2
	VMOVUPD    (R10)(R8*1), Y3
	VUNPCKLPD  Y1, Y0, Y4
	VUNPCKHPD  Y1, Y0, Y5
	VUNPCKLPD  Y3, Y2, Y6
	VUNPCKHPD  Y3, Y2, Y7
	VPERM2F128 $0x20, Y6, Y4, Y0
	VPERM2F128 $0x20, Y7, Y5, Y1
	VPERM2F128 $0x31, Y6, Y4, Y2
	VPERM2F128 $0x31, Y7, Y5, Y3
	VMOVUPD    Y0, (DI)
	VMOVUPD    Y1, (DI)(R9*1)
	VMOVUPD    Y2, (DI)(R9*2)
	VMOVUPD    Y3, (DI)(R11*1)
	ADDQ       $32, SI
	ADDQ       $32, R10
	LEAQ       (DI)(R9*4), DI
	JMP        loop

done:
	VZEROUPPER
	RET

// func packRowsAVX2(k int, src *float64, ld int, dst *float64, width int, w *float64)
//
// Copies width columns (a multiple of 4) of k rows of src to dst, without gaps. Row i is
// multiplied by w[i] unless w is nil.
TEXT ·packRowsAVX2(SB), NOSPLIT, $0-48
	MOVQ k+0(FP), CX
	MOVQ src+8(FP), SI
	MOVQ ld+16(FP), R8
	MOVQ dst+24(FP), DI
	MOVQ width+32(FP), R9
	MOVQ w+40(FP), R10
	SHLQ $3, R8
	SHLQ $3, R9
	TESTQ R10, R10
	JNZ  weighted

row:
	DECQ CX
	JLT  done
	XORQ DX, DX
four:
	VMOVUPD (SI)(DX*1), Y0
	VMOVUPD Y0, (DI)(DX*1)
	ADDQ    $32, DX
	CMPQ    DX, R9
	JLT     four
	ADDQ    R8, SI
	ADDQ    R9, DI
	JMP     row

weighted:
	DECQ CX
	JLT  done
	VBROADCASTSD (R10), Y1
	XORQ DX, DX
times:
	VMULPD  (SI)(DX*1), Y1, Y0
	VMOVUPD Y0, (DI)(DX*1)
	ADDQ    $32, DX
	CMPQ    DX, R9
	JLT     times
	ADDQ    R8, SI
	ADDQ    R9, DI
	ADDQ    $8, R10
	JMP     weighted

done:
	VZEROUPPER
	RET
