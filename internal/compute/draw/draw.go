// Package draw draws from finite distributions.
package draw

import (
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Proportional draws an index with the given weights, or with equal weights if all are 0. Unlike
// distuv.Categorical, Proportional never draws another index of weight 0.
func Proportional(weights []float64, rng *rand.Rand) int {
	u := rng.Float64() * vecmath.Sum(weights)
	at := -1
	for i, w := range weights {
		if w > 0 {
			at = i
			if u -= w; u < 0 {
				break
			}
		}
	}
	if at < 0 {
		return rng.IntN(len(weights))
	}
	return at
}
