package performer_test

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

// Scores as large as ±10⁴, whose exponentials are far out of range, with gaps
// of whole numbers, so that scores are exact.
func TestExactLargeLogits(t *testing.T) {
	densetest.Both(t, testLargeLogits[float32], testLargeLogits[float64])
}

func testLargeLogits[T dense.Float](t *testing.T) {
	const n = 300
	rng := rand.New(densetest.Source(41))
	q, k, v := densetest.Filled[T](n, 1, 100), dense.New[T](n, 1), densetest.Normal[T](rng, n, 2, 0, 1)
	for j := range n {
		k.Data[j] = T(rng.IntN(20001)-10000) / 100
	}
	for i := range n / 2 {
		q.Data[2*i] = -100
	}
	for _, causal := range []bool{false, true} {
		o := performer.ExactOptions{Softmax: performer.Softmax{Scale: 1, Causal: causal}}
		part := func(m dense.Matrix[T]) dense.Tensor[T] { return dense.SplitHeads(m, 1, 1) }
		want := dense.Head(naive(o, performer.AttendArgs[T]{Q: part(q), K: part(k), V: part(v)}, dense.Tensor[float64]{}, 0).out, 0, 0)
		got := must.Have(performer.NewExact[T](o)).Forward(dense.Matrix[T]{}, q, k, v)
		// A score is one exact product, so that weights have the rounding of an exponential and
		// sums.
		densetest.RequireClose(t, want, densetest.Filled(n, 2, 4*(n+16)*densetest.Roundoff[T]()), got, "causal=%v", causal)
		for _, x := range got.Data {
			assert.Less(t, math.Abs(float64(x)), 10.0, "finite")
		}
	}
}

// What happens at the ends of the range, as documented.
func TestExactInfiniteScores(t *testing.T) {
	densetest.Both(t, testInfiniteScores[float32], testInfiniteScores[float64])
}

func testInfiniteScores[T dense.Float](t *testing.T) {
	inf, nan := T(math.Inf(1)), T(math.NaN())
	one := dense.Of(1, 1, []T{1})
	for _, c := range []struct {
		keys []T
		want T
	}{
		{[]T{-inf, -inf}, nan},
		{[]T{-inf, 0}, 2},
		{[]T{0, -inf}, 1},
		{[]T{inf, 0}, nan},
		{[]T{0, inf}, nan},
		{[]T{0, nan}, nan},
		{[]T{-1e4, -1e4}, 1.5},
		{[]T{1e4, 1e4}, 1.5},
	} {
		k, v := dense.Of(2, 1, c.keys), dense.Of(2, 1, []T{1, 2})
		got := must.Have(performer.NewExact[T](performer.ExactOptions{})).Forward(dense.Matrix[T]{}, one, k, v)
		assert.True(t, densetest.Identical(dense.Of(1, 1, []T{c.want}), got), "keys %v: %v, want %v", c.keys, got.Data, c.want)

		weights := weightsOf(must.Have(performer.NewExact[T](performer.ExactOptions{})), one, k)
		assert.Equal(t, c.want != c.want, hasNaN(weights.Row(0)), "weights of keys %v: %v", c.keys, weights.Data)
	}

	// A finite score after tiles of −Inf.
	k, v := densetest.Filled(300, 1, -inf), densetest.Filled[T](300, 1, 7)
	k.Data[290] = 0
	assert.Equal(t, []T{7}, must.Have(performer.NewExact[T](performer.ExactOptions{})).Forward(dense.Matrix[T]{}, one, k, v).Data)
	none := must.Have(performer.NewExact[T](performer.ExactOptions{})).Forward(densetest.Filled[T](1, 2, 9), one, dense.New[T](0, 1), dense.New[T](0, 2))
	assert.Equal(t, []T{0, 0}, none.Data, "no keys")
}

func TestExactWithoutColumns(t *testing.T) {
	q, k := dense.New[float64](3, 0), dense.New[float64](4, 0)
	v := dense.Of(4, 1, []float64{1, 2, 3, 6})
	assert.Equal(t, []float64{3, 3, 3}, must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(dense.Matrix[float64]{}, q, k, v).Data, "d = 0: all scores are zero")
	wide := dense.New[float64](3, 4)
	got := must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(wide.ColRange(2, 2), q, k, dense.New[float64](4, 0))
	assert.Equal(t, [2]int{3, 0}, [2]int{got.Rows, got.Cols})
}
