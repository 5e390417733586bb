//go:build !race

package hadamard_test

const raceDetector = false
