//go:build !race

package orf_test

const raceDetector = false
