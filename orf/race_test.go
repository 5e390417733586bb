//go:build race

package orf_test

// raceDetector makes a sync.Pool forget at random, so that nothing can be said of
// allocations.
const raceDetector = true
