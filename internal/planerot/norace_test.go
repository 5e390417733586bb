//go:build !race

package planerot

const raceDetector = false
