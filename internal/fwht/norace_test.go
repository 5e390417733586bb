//go:build !race

package fwht

const raceDetector = false
