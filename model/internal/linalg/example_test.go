package linalg_test

import (
	"fmt"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// The features of a row x are the solution of φ·Lᵀ = k(x, Z).
func Example() {
	pool := linalg.NewPool(2)
	defer pool.Close()

	z := linalg.Mat{Rows: 2, Cols: 1, Stride: 1, Data: []float64{0, 1}}
	x := linalg.Mat{Rows: 1, Cols: 1, Stride: 1, Data: []float64{0.5}}
	l, phi := linalg.NewMat(2, 2), linalg.NewMat(1, 2)
	pool.Kernel(linalg.SquaredExponential, z, z, nil, []float64{1}, 1, l, linalg.Mat{})
	pool.Kernel(linalg.SquaredExponential, x, z, nil, []float64{1}, 1, phi, linalg.Mat{})
	if !pool.Cholesky(l) {
		fmt.Println("not positive definite")
		return
	}
	pool.TrsmRightLowerTrans(l, phi)
	fmt.Printf("%.6f\n", phi.Row(0))
	// Output: [0.882497 0.436741]
}
