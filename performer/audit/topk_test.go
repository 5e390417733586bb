package audit_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/audit"
)

// stream returns heads of a stream whose neighbours are alike: a sharp head, a head with nearly equal
// weights over values with a mean, and a head of large scores that are alike, for which few keys are
// not enough.
func stream[T dense.Float](rng *rand.Rand, n, d int) (q, k, v dense.Matrix[T]) {
	q, k, v = densetest.Normal[T](rng, n, 3*d, 0, 1), densetest.Normal[T](rng, n, 3*d, 0, 1), densetest.Normal[T](rng, n, 3*d, 0, 1)
	for i := range n {
		for l := range d {
			q.Row(i)[l] *= 12 / T(l+3) // the first coordinates matter
			k.Row(i)[l] *= 12 / T(l+3)
			q.Row(i)[d+l] *= 0.2
			v.Row(i)[d+l]++
			q.Row(i)[2*d+l] *= 0.8
			if i > 0 {
				k.Row(i)[l] = 0.6*k.Row(i - 1)[l] + 0.8*k.Row(i)[l]
			}
		}
	}
	return q, k, v
}

// The error on later queries of the stream is within the tolerance, smaller tolerances take more
// keys, and a head that needs too many reads all.
func TestChooseTopK(t *testing.T) {
	densetest.Both(t, testChooseTopK[float32], testChooseTopK[float64])
}

func testChooseTopK[T dense.Float](t *testing.T) {
	const n, d, later = 2500, 32, 200
	q, k, v := stream[T](rand.New(densetest.Source(901)), n+later, d)
	exact := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: 3}, must.Have(performer.NewExact[T](performer.ExactOptions{Bits: 8}))))
	var keys [][]int
	for _, tolerance := range []float64{0.5, 0.12} {
		c := must.Have(audit.ChooseTopK(exact, q.RowRange(0, n), k.RowRange(0, n), v.RowRange(0, n), tolerance))
		t.Logf("tolerance %v: %v keys, errors %.3f", tolerance, c.Keys, c.Errors)
		keys = append(keys, c.Keys)
		s, whole := must.Have(c.Attention.NewState(d, d)), must.Have(exact.NewState(d, d))
		s.Append(k.RowRange(0, n), v.RowRange(0, n))
		whole.Append(k.RowRange(0, n), v.RowRange(0, n))
		last := func(x dense.Matrix[T]) dense.Matrix[T] { return x.RowRange(n, n+later) }
		got, want := s.Step(dense.Matrix[T]{}, last(q), last(k), last(v)), whole.Step(dense.Matrix[T]{}, last(q), last(k), last(v))
		for h, topK := range c.Keys {
			difference, norm := 0.0, 0.0
			for i := range later {
				for l := h * d; l < (h+1)*d; l++ {
					difference += math.Pow(float64(got.At(i, l))-float64(want.At(i, l)), 2)
					norm += math.Pow(float64(want.At(i, l)), 2)
				}
			}
			assert.LessOrEqual(t, math.Sqrt(difference/norm), tolerance, "head %d", h)
			assert.Equal(t, topK == 0, difference == 0, "head %d", h)
			assert.LessOrEqual(t, c.Errors[h], tolerance, "head %d", h)
		}
	}
	assert.Equal(t, 32, keys[0][1], "nearly equal weights need few keys")
	assert.Greater(t, keys[1][0], keys[0][0])
	assert.Zero(t, keys[1][2])
}

// A head of keys is read whole if one of its heads of queries needs that, and short streams are.
func TestChooseTopKOfGroups(t *testing.T) {
	const n, d = 1500, 16
	q, k, v := stream[float64](rand.New(densetest.Source(902)), n, d)
	e := must.Have(performer.NewExact[float64](performer.ExactOptions{TopK: 7}))
	b := must.Have(performer.NewBatch[float64](performer.BatchOptions{Heads: 3, KeyHeads: 1}, e))
	c := must.Have(audit.ChooseTopK(b, q, k.ColRange(0, d), v.ColRange(0, d), 1e-4))
	assert.Equal(t, []int{0, 0, 0}, c.Keys)
	c = must.Have(audit.ChooseTopK(e, q.RowRange(0, 90).ColRange(0, d), k.RowRange(0, 90).ColRange(0, d), v.RowRange(0, 90).ColRange(0, d), 0.9))
	assert.Equal(t, []int{0}, c.Keys)
	assert.NotZero(t, c.Attention)
}

func TestChooseTopKErrors(t *testing.T) {
	e := must.Have(performer.NewExact[float64](performer.ExactOptions{}))
	x, none := dense.New[float64](10, 4), dense.Matrix[float64]{}
	linear := must.Have(performer.NewBatch[float64](performer.BatchOptions{Heads: 2}, audit.Output[float64]{}))
	for want, call := range map[string]func() error{
		"audit: exact is nil":                            func() error { _, err := audit.ChooseTopK[float64](nil, x, x, x, 0.1); return err },
		"audit: tolerance = -1, want a positive number":  func() error { _, err := audit.ChooseTopK(e, x, x, x, -1); return err },
		"audit: tolerance = NaN, want a positive number": func() error { _, err := audit.ChooseTopK(e, x, x, x, math.NaN()); return err },
		"audit: exact has a audit.Output[float64] for head 0, want a performer.Exact": func() error {
			_, err := audit.ChooseTopK(linear, x, x, x, 0.1)
			return err
		},
		"audit: q is 10×4, k is 10×4, v is 0×0, want as many rows, for 1 heads of queries over 1 of keys": func() error {
			_, err := audit.ChooseTopK(e, x, x, none, 0.1)
			return err
		},
	} {
		require.EqualError(t, call(), want)
	}
}
