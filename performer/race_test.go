//go:build race

package performer

const raceDetector = true
