package certify

// AtMost prints an upper bound in [0, 1] rounded up.
func AtMost(x float64) string { return atMost(x) }
