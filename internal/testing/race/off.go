//go:build !race

// Package race tells tests whether the race detector is on.
package race

// Detector says whether the race detector is on. It makes a sync.Pool forget at random, so that
// tests know nothing of allocations.
const Detector = false
