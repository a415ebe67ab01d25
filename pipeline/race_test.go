//go:build race

package pipeline_test

// raceDetector says that code runs some ten times slower.
const raceDetector = true
