package model

import "github.com/pacsgp/pacsgp/model/kernel"

// Memory is the peak of training and prediction, in bytes, for the limits of a container. It
// counts the matrices of M² and of M rows, and the blocks of rows; the rest is small.
type Memory struct {
	Estimate int64 // while the scales of the kernel are estimated on start rows
	Start    int64 // while a new trainer looks for its start values
	Step     int64 // between two steps: the trainer alone
	State    int64 // of what MarshalBinary returns
	Result   int64 // while Result is computed: trainer and posterior
	Fit      int64 // a [Regression] with its solution
	Pass     int64 // the laws of a model and the making of their predictors

	Posterior int64 // the laws of a model, the bytes that they were read from, and their checks
}

// MemoryOf counts for m inducing points, d features and up to the given number of
// start rows. Workers have a block each where they predict.
func MemoryOf(family *kernel.Family, m, d, rows, workers int) Memory {
	number := func(counts ...int) (bytes int64) {
		for _, n := range counts {
			bytes += 8 * int64(n)
		}
		return bytes
	}
	slopes := 1 // blocks beside those of values
	if family.SlopeIsValue {
		slopes = 0
	}
	square := m * m
	half := (m + 1) / 2
	scratch := square
	if m > twoSidedBlock {
		scratch = half * half
	}
	trainer := number(
		9*square,                                    // precision, its best, K_ZZ, L, factor, S − I, scratch; A and H of the sweep
		m*min(m, twoSidedBlock)+scratch,             // whitener
		2*slopes*square,                             // the slopes of K_ZZ, and their factors
		(2+slopes)*sweepBlock*m, sweepBlock*(2*d+1), // a block of rows
		m*(9*d+12), // z and arrays of its size
		// Packed operands of products. Small and large products share buffers in any order, so that
		// each buffer can grow to the largest size.
		max(1, workers)*(3*sweepBlock*m/2+2*packedRows*min(m, packedDepth)),
	)
	few := min(rows, EstimateRows)
	estimate := number((4+2*slopes)*few*few, 3*few*(d+1), 3*rows)
	return Memory{
		Estimate: estimate,
		Start:    max(estimate, trainer+number(2*square, 3*rows)), // Gram matrix, packed L
		Step:     trainer,
		State:    number(2*square, 4*m*d+2*m),
		Result:   trainer + number(4*square, m*d),
		Fit:      number(12*square, m*d, sweepBlock*m),
		Pass:     number(14*square, m*d, max(1, workers)*4*predictBlock*m),

		Posterior: number(6*square, 3*m*d),
	}
}

// Rows and depth of the piece of an operand that products pack at a time.
const packedRows, packedDepth = 256, 384
