package certify_test

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// Random draws lost 0.011 on 12,000 rows, KL is 420 nats, and 28 hyper-parameters
// were chosen from 1,201 values each.
func ExampleBound() {
	b, err := certify.Bound(certify.Terms{Risk: .011, KL: 420, LnInverseWeight: 198.6, N: 12_000, Delta: .01})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(b.Upper)
	// Output: 0.08280897134850665
}
