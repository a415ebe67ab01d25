//go:build !race

package pass_test

// raceDetector says that code runs some ten times slower.
const raceDetector = false
