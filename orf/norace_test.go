//go:build !race

package orf

const raceDetector = false
