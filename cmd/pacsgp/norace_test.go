//go:build !race

package main

// raceDetector says that code runs some ten times slower.
const raceDetector = false
