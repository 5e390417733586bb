//go:build !race

package rotate

const raceDetector = false
