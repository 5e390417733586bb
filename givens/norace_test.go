//go:build !race

package givens_test

const raceDetector = false
