//go:build race

package recurrence_test

const raceDetector = true
