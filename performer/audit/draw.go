package audit

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// rowWeights returns weights of the rows of q with the sum 1, for draws: ½ equal weights, ¼ weights
// in proportion to ‖q_i‖⁴, and ¼ weights in proportion to 1/(i+1) if attention is causal. Most
// errors grow with the norm of the query, and queries that see few keys have large outputs. The
// equal weights are for rows with a large error for another reason. Rows with NaN have no norm.
func rowWeights[T dense.Float](q dense.Matrix[T], causal bool) []float64 {
	norms, places, weights := make([]float64, q.Rows), make([]float64, q.Rows), make([]float64, q.Rows)
	for i := range norms {
		places[i] = 1
		if causal {
			places[i] /= float64(i + 1)
		}
		if s := vecmath.HalfSquaredNorm(q.Row(i)); s <= math.MaxFloat64 {
			norms[i] = s
		}
	}
	if largest := slices.Max(norms); largest > 0 {
		for i, s := range norms {
			norms[i] = s / largest * (s / largest)
		}
	}
	addShare(weights, norms, 0.25)
	addShare(weights, places, 0.25)
	addShare(weights, nil, 0.5)
	return weights
}

func addShare(weights, x []float64, share float64) {
	sum := floats.Sum(x)
	for i := range weights {
		if sum > 0 {
			weights[i] += share * x[i] / sum
		} else {
			weights[i] += share / float64(len(weights))
		}
	}
}

// draw draws n indices of weights, or all if there are fewer, each at most once. draw returns the
// indices, ascending, and the probability of each of all indices to be drawn. The probabilities are
// proportional to the weights, and at most 1 [Särndal et al. 1992, section 3.6].
func draw(weights []float64, n int, rng *rand.Rand) (drawn []int, chances []float64) {
	chances = make([]float64, len(weights))
	n = min(n, len(weights))
	certain, rest := 0, floats.Sum(weights)
	for more := true; more; { // until no other probability reaches 1
		more = false
		factor, left := float64(n-certain)/rest, 0.0
		for i, w := range weights {
			if chances[i] == 1 {
				continue
			}
			if chances[i] = w * factor; n == len(weights) || chances[i] >= 1 {
				chances[i] = 1
				certain++
				more = true
			} else {
				left += w
			}
		}
		rest = left
	}
	u, end := rng.Float64()*(1-1e-9), 0.0 // rounding of end must not lose the last point
	for _, i := range rng.Perm(len(weights)) {
		if end += chances[i]; end > u && len(drawn) < n {
			drawn = append(drawn, i)
			u++
		}
	}
	slices.Sort(drawn)
	return drawn, chances
}
