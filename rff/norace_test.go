//go:build !race

package rff_test

const raceDetector = false
