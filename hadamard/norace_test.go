//go:build !race

package hadamard

const raceDetector = false
