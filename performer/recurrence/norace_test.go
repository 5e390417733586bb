//go:build !race

package recurrence

const raceDetector = false
