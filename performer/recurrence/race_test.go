//go:build race

package recurrence

const raceDetector = true
