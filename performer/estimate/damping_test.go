package estimate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// The fourth moment of the estimate with one frequency is a product of integrals over coordinates.
func TestLeastFourthMoment(t *testing.T) {
	// moment returns log E (D²·exp(2a·w² + B·z·w − z²/2))⁴ for d = 1, ‖q+k‖ = z.
	moment := func(a, z float64) float64 {
		const step = 1e-3
		b := math.Sqrt(1 - 4*a)
		centre := 4 * b * z / (1 - 16*a) // the integrand is a normal density around it
		var sum float64
		for w := centre - 12; w < centre+12; w += step {
			sum += step * math.Exp(4*(math.Log(b)+2*a*w*w+b*z*w-z*z/2)-w*w/2-6*z*z)
		}
		return math.Log(sum/math.Sqrt(2*math.Pi)) + 6*z*z
	}
	for _, z := range []float64{0.1, 0.4, 0.5, 0.6, 1, 3} {
		a := leastFourthMoment(z * z)
		least := moment(a, z)
		for _, factor := range []float64{0.9, 1.1} {
			assert.Greater(t, moment(factor*a, z), least, "φ = %v, a = %v", z*z, a)
		}
	}
	assert.Zero(t, leastFourthMoment(0))
	for _, phi := range []float64{1e-300, 1e-8, 0.2499999, 0.25, 0.2500001, 7, maxPhi} {
		s := -4 * leastFourthMoment(phi)
		assert.InEpsilon(t, 4*phi*(1+s), s*(1+4*s), 1e-14, "φ = %v", phi)
	}
}

func TestDamping(t *testing.T) {
	densetest.Both(t, testDamping[float32], testDamping[float64])
}

func testDamping[T dense.Float](t *testing.T) {
	const n, d, scale = 7, 3, 0.6
	rng := rand.New(densetest.Source(90))
	q, k := densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, d, 0, 1)
	for _, causal := range []bool{false, true} {
		u := must.Have(NewUnbiased[T](UnbiasedOptions{Dim: d, Softmax: performer.Softmax{Scale: scale, Causal: causal}, MaxCost: math.Inf(1)}, densetest.Source(91)))
		weights := dense.Head(must.Have(performer.Attend(must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Scale: scale, Causal: causal}})), performer.AttendArgs[T]{
			Q: dense.SplitHeads(q, 1, 1), K: dense.SplitHeads(k, 1, 1), V: dense.SplitHeads(k, 1, 1), Scores: performer.ScoresAfterSoftmax,
		})).Scores, 0, 0)
		var phi float64
		for i := range n {
			for j := range n {
				for c := range d {
					phi += float64(weights.At(i, j)) * scale * math.Pow(float64(q.At(i, c)+k.At(j, c)), 2) / (n * d)
				}
			}
		}
		assert.InEpsilon(t, leastFourthMoment(phi), u.damping(q, k), 1e-5, "causal %v", causal)

		// Rows that see NaN do not count.
		spoilt := k.Clone()
		spoilt.Row(n - 1)[0] = T(math.NaN())
		want := 0.0
		if causal {
			want = u.damping(q.RowRange(0, n-1), k.RowRange(0, n-1))
		}
		assert.InDelta(t, want, u.damping(q, spoilt), 1e-12, "causal %v", causal)
	}
}
