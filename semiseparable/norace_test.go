//go:build !race

package semiseparable

const raceDetector = false
