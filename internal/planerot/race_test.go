//go:build race

package planerot

// raceDetector makes a sync.Pool forget at random, so that nothing can be said of
// allocations.
const raceDetector = true
