//go:build !race

package givens

const raceDetector = false
