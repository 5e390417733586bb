package audit

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

// needles returns a causal head of n tokens whose keys are an autoregressive sequence with the
// correlation 0.97. One query in a hundred seeks one key, and the others average values with a
// mean, so that a hundredth of the rows have most of the squared error.
func needles(seed uint64, n, d int) (q, k, v dense.Matrix[float32]) {
	rng := rand.New(densetest.Source(seed))
	q, k, v = densetest.Normal[float32](rng, n, d, 0, 1), densetest.Normal[float32](rng, n, d, 0, 1), densetest.Normal[float32](rng, n, d, 1, 0.3)
	for i := 1; i < n; i++ {
		for j := range d {
			k.Row(i)[j] = 0.97*k.Row(i - 1)[j] + float32(math.Sqrt(1-0.97*0.97))*k.Row(i)[j]
		}
		if rng.IntN(100) == 0 {
			from := k.Row(rng.IntN(i))
			for j, x := range from {
				q.Row(i)[j] = 3 * x
			}
		}
	}
	return q, k, v
}

// Intervals of Measure hold the error in 95 of 100 samples, and more than 25 of 240 miss it in one
// of 10,000 seeds. Intervals from rows with equal probabilities miss it in about 90.
func TestMeasureOfNeedles(t *testing.T) {
	var none dense.Matrix[float32]
	causal := performer.Softmax{Causal: true}
	exact, missed, unknown := must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: causal})), 0, 0
	for head := range uint64(15) {
		q, k, v := needles(760+head, 2048, 32)
		truth := exact.Forward(none, q, k, v)
		for _, c := range allKinds[float32]() {
			size := c.sizes[len(c.sizes)-1] // others miss needles, too rare for a bound
			out := must.Have(c.create(causal, size)).Forward(none, q, k, v)
			want := relativeError(out, truth)
			for sample := range uint64(8) {
				r := must.Have(Measure[float32](t.Context(), exact, q, k, v, Options{}, densetest.Source(800+10*head+sample), Output[float32](out)))[0]
				if want < r.Low || want > r.High {
					missed++
				}
				if math.IsInf(r.High, 1) {
					unknown++
				}
			}
		}
	}
	t.Logf("%d of 240 intervals miss the error, %d have no end", missed, unknown)
	assert.LessOrEqual(t, missed, 25)
	assert.LessOrEqual(t, unknown, 40)
}

// Choices are within the tolerance, and intervals of their reports hold the error, in 95 of 100
// runs. More than 5 of 24 miss in one of 1000 seeds. Rows with equal probabilities miss 9.
func TestChooseOfNeedles(t *testing.T) {
	var none dense.Matrix[float32]
	exact, approximated, beyond, missed := must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})), 0, 0, 0
	for head := range uint64(24) {
		q, k, v := needles(900+head, 2048, 32)
		const tolerance = 0.05
		c := must.Have(Choose(t.Context(), exact.Options().Softmax, q, k, v, tolerance, ChooseOptions{Calls: 10, Reproducible: true}, densetest.Source(930+head)))
		if c.Exact {
			continue
		}
		approximated++
		off := relativeError(c.Attention.Forward(none, q, k, v), exact.Forward(none, q, k, v))
		if off > tolerance {
			beyond++
		}
		if off < c.Report.Low || off > c.Report.High {
			missed++
		}
	}
	t.Logf("%d approximations, %d beyond the tolerance, %d outside the interval", approximated, beyond, missed)
	assert.Greater(t, approximated, 20)
	assert.LessOrEqual(t, beyond, 5)
	assert.LessOrEqual(t, missed, 5)
}
