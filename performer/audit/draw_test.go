package audit

import "math/rand/v2"

// sampled draws rows with probabilities in proportion to weights.
func sampled(rows []deviation, weights []float64, n int, rng *rand.Rand) []deviation {
	drawn, chances := draw(weights, n, rng)
	some := pick(rows, drawn)
	for i, at := range drawn {
		some[i].chance = chances[at]
	}
	return some
}
