package certify

import "slices"

// Families of covariance functions of rows x and x', with r² = Σ ((x_j−x'_j)/l_j)², lengthscales l_j and variance σ².
const (
	KernelSquaredExponential = "squared-exponential" // σ²·exp(−r²/2)
	KernelMatern32           = "matern-3/2"          // σ²·(1 + a)·exp(−a), a = √3·r
	KernelMatern52           = "matern-5/2"          // σ²·(1 + a + a²/3)·exp(−a), a = √5·r
)

// Families returns the families of kernels.
func Families() []string {
	return []string{KernelSquaredExponential, KernelMatern32, KernelMatern52}
}

// A Kernel names the covariance function of the prior and the families that were declared for it. The choice
// among the families costs the logarithm of their number in nats.
type Kernel struct {
	Family    string   `json:"family"`
	Families  []string `json:"families"`
	Isotropic bool     `json:"isotropic"` // one lengthscale for all features, else one each
}

// KernelFamilies returns an error unless the list has at least one family, each known and listed once.
func KernelFamilies(names []string) error {
	var faults faultList
	faults.when(len(names) == 0, "no family of kernels")
	known := Families()
	for i, name := range names {
		faults.when(!slices.Contains(known, name), "kernel %q is unknown, want one of %s", name, List(known))
		faults.when(slices.Contains(names[:i], name), "kernel %q is twice in a list", name)
	}
	return faults.err()
}
