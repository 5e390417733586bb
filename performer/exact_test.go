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

// naiveExact is attention row by row in float64, and a bound on the error of
// an evaluation in T: each weight is off by the error of its score, d+2
// roundings of Σ|terms|, and of the exponential; sums add a rounding a key and
// a rescaling a tile.
func naiveExact[T dense.Float](q, k, v dense.Matrix[T], o performer.ExactOptions) (out, tol dense.Matrix[float64]) {
	out, tol = dense.New[float64](q.Rows, v.Cols), dense.New[float64](q.Rows, v.Cols)
	scale := o.Scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(q.Cols))
	}
	for i := range q.Rows {
		n := k.Rows
		if o.Causal {
			n = i + 1
		}
		scores, peak, slack := make([]float64, n), math.Inf(-1), 0.0
		for j := range scores {
			size := 0.0
			for c := range q.Cols {
				term := scale * float64(q.At(i, c)) * float64(k.At(j, c))
				scores[j] += term
				size += math.Abs(term)
			}
			peak = max(peak, scores[j])
			slack = max(slack, size*float64(q.Cols+4))
		}
		factor := 2 * densetest.Roundoff[T]() * (2*slack + float64(n+16))
		total := 0.0
		for j := range scores {
			scores[j] = math.Exp(scores[j] - peak)
			total += scores[j]
		}
		if o.Unnormalised {
			total = math.Exp(-peak)
		}
		for c := range v.Cols {
			var sum, size float64
			for j, p := range scores {
				sum += p * float64(v.At(j, c))
				size += p * math.Abs(float64(v.At(j, c)))
			}
			out.Set(i, c, sum/total)
			tol.Set(i, c, factor*(size+math.Abs(sum))/total)
		}
	}
	return out, tol
}

func TestExactAgainstNaive(t *testing.T) {
	densetest.Both(t, testExact[float32], testExact[float64])
}

func testExact[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(40))
	for _, n := range []int{0, 1, 2, 63, 64, 65, 127, 128, 129, 300} {
		q, k, v := stridedNormal[T](rng, n, 6), stridedNormal[T](rng, n, 6), stridedNormal[T](rng, n, 3)
		for _, o := range []performer.ExactOptions{
			{}, {Softmax: performer.Softmax{Scale: 1}}, {Softmax: performer.Softmax{Scale: -0.5, Causal: true}}, {Softmax: performer.Softmax{Causal: true}}, {Unnormalised: true}, {Softmax: performer.Softmax{Causal: true}, Unnormalised: true},
		} {
			e := must.Have(performer.NewExact[T](o))
			want, tol := naiveExact(q, k, v, o)
			densetest.RequireClose(t, want, tol, e.Forward(dense.Matrix[T]{}, q, k, v), "%+v L=%d", o, n)

			if n > 65 {
				continue
			}
			want, tol = naiveExact(q, k, identity[T](n), o)
			densetest.RequireClose(t, want, tol, weightsOf(e, q, k), "weights %+v L=%d", o, n)
		}
	}
	q, k, v := stridedNormal[T](rng, 70, 6), stridedNormal[T](rng, 200, 6), stridedNormal[T](rng, 200, 3)
	want, tol := naiveExact(q, k, v, performer.ExactOptions{})
	densetest.RequireClose(t, want, tol, must.Have(performer.NewExact[T](performer.ExactOptions{})).Forward(dense.Matrix[T]{}, q, k, v), "cross attention")
}

func stridedNormal[T dense.Float](rng *rand.Rand, n, d int) dense.Matrix[T] {
	return densetest.Normal[T](rng, n, d+3, 0, 1).ColRange(1, d+1)
}

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
		want, tol := naiveExact(q, k, v, o)
		got := must.Have(performer.NewExact[T](o)).Forward(dense.Matrix[T]{}, q, k, v)
		densetest.RequireClose(t, want, tol, got, "causal=%v", causal)
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
		keys             []T
		normal, unscaled T
	}{
		{[]T{-inf, -inf}, nan, 0},
		{[]T{-inf, 0}, 2, 2},
		{[]T{0, -inf}, 1, 1},
		{[]T{inf, 0}, nan, inf},
		{[]T{0, inf}, nan, inf},
		{[]T{0, nan}, nan, nan},
		{[]T{-1e4, -1e4}, 1.5, 0},
		{[]T{1e4, 1e4}, 1.5, inf},
	} {
		k, v := dense.Of(2, 1, c.keys), dense.Of(2, 1, []T{1, 2})
		got := must.Have(performer.NewExact[T](performer.ExactOptions{})).Forward(dense.Matrix[T]{}, one, k, v)
		assert.True(t, densetest.Identical(dense.Of(1, 1, []T{c.normal}), got), "keys %v: %v, want %v", c.keys, got.Data, c.normal)
		got = must.Have(performer.NewExact[T](performer.ExactOptions{Unnormalised: true})).Forward(dense.Matrix[T]{}, one, k, v)
		assert.True(t, densetest.Identical(dense.Of(1, 1, []T{c.unscaled}), got), "keys %v: %v, want %v", c.keys, got.Data, c.unscaled)

		weights := weightsOf(must.Have(performer.NewExact[T](performer.ExactOptions{})), one, k)
		assert.Equal(t, c.normal != c.normal, hasNaN(weights.Row(0)), "weights of keys %v: %v", c.keys, weights.Data)
	}

	// A finite score after tiles of −Inf.
	k, v := densetest.Filled(300, 1, -inf), densetest.Filled[T](300, 1, 7)
	k.Data[290] = 0
	assert.Equal(t, []T{7}, must.Have(performer.NewExact[T](performer.ExactOptions{})).Forward(dense.Matrix[T]{}, one, k, v).Data)
	for _, o := range []performer.ExactOptions{{}, {Unnormalised: true}} {
		none := must.Have(performer.NewExact[T](o)).Forward(densetest.Filled[T](1, 2, 9), one, dense.New[T](0, 1), dense.New[T](0, 2))
		assert.Equal(t, []T{0, 0}, none.Data, "no keys")
	}
}

func TestExactWithoutColumns(t *testing.T) {
	q, k := dense.New[float64](3, 0), dense.New[float64](4, 0)
	v := dense.Of(4, 1, []float64{1, 2, 3, 6})
	assert.Equal(t, []float64{3, 3, 3}, must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(dense.Matrix[float64]{}, q, k, v).Data, "d = 0: all scores are zero")
	wide := dense.New[float64](3, 4)
	got := must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(wide.ColRange(2, 2), q, k, dense.New[float64](4, 0))
	assert.Equal(t, [2]int{3, 0}, [2]int{got.Rows, got.Cols})
}
