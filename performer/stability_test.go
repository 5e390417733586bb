package performer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// Features that are zero for every key so far contribute nothing, and if all
// of a row are, the quotient is 0/0.
func TestVanishingWeights(t *testing.T) {
	densetest.Both(t, testVanishing[float32], testVanishing[float64])
}

func testVanishing[T dense.Float](t *testing.T) {
	nan := T(math.NaN())
	q := dense.Of(3, 2, []T{1, 0, 0, 1, 1, 1})
	k := dense.Of(3, 2, []T{1, 0, 1, 0, 0, 2})
	v := dense.Of(3, 1, []T{2, 4, 8})
	for _, m := range []rff.Map[T]{logReLU[T](2), reLU[T](2)} {
		got := attention(m, performer.LinearOptions{}).Forward(dense.Matrix[T]{}, q, k, v)
		assert.Equal(t, []T{3, 8, 5.5}, got.Data, "%T", m)

		// Query 1 sees keys 0 and 1, which have none of its feature.
		got = attention(m, performer.LinearOptions{Causal: true}).Forward(dense.Matrix[T]{}, q, k, v)
		assert.True(t, densetest.Identical(dense.Of(3, 1, []T{2, nan, 5.5}), got), "%T: %v", m, got.Data)

		got = attention(m, performer.LinearOptions{}).Forward(dense.Matrix[T]{}, dense.New[T](1, 2), k, v)
		assert.True(t, hasNaN(got.Data), "a query without features is 0/0")
	}
}

// NaN and Inf in queries, keys and values come out.
func TestNaNIsNotHidden(t *testing.T) {
	densetest.Both(t, testNaN[float32], testNaN[float64])
}

func testNaN[T dense.Float](t *testing.T) {
	const n, d = 300, 4
	rng := rand.New(densetest.Source(31))
	q, k, v := densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, 2, 0, 1)
	for _, form := range everyForm[T](d) {
		causal := false
		switch f := form.(type) {
		case performer.Linear[T]:
			causal = performer.InsideOf(f).Options.Causal
		case performer.Exact[T]:
			causal = f.Options().Causal
		}
		const at = 170
		bad := [3]dense.Matrix[T]{q.Clone(), k.Clone(), v.Clone()}
		for i := range bad {
			bad[i].Set(at, 1, T(math.NaN()))
		}
		got := form.Forward(dense.Matrix[T]{}, bad[0], k, v)
		for i := range n {
			assert.Equal(t, i == at, hasNaN(got.Row(i)), "%T: NaN in query %d, row %d", form, at, i)
		}
		for name, got := range map[string]dense.Matrix[T]{
			"key":   form.Forward(dense.Matrix[T]{}, q, bad[1], v),
			"value": form.Forward(dense.Matrix[T]{}, q, k, bad[2]),
		} {
			for i := range n {
				sees := !causal || i >= at
				assert.Equal(t, sees, hasNaN(got.Row(i)), "%T: NaN in %s %d, row %d", form, name, at, i)
			}
		}
	}
}

// An infinite log-feature is an infinite weight: ∞/∞.
func TestInfiniteWeights(t *testing.T) {
	inf := math.Inf(1)
	steps := logRowMap[float64]{rowMap[float64]{in: 1, out: 1, row: func(phi, x []float64) { phi[0] = x[0] }}}
	x := dense.Of(3, 1, []float64{0, inf, 0})
	one := densetest.Filled[float64](3, 1, 1)
	got := attention[float64](steps, performer.LinearOptions{}).Forward(dense.Matrix[float64]{}, one, x, one)
	assert.True(t, densetest.Identical(densetest.Filled(3, 1, math.NaN()), got), "%v", got.Data)
	got = attention[float64](steps, performer.LinearOptions{Causal: true}).Forward(dense.Matrix[float64]{}, one, x, one)
	assert.True(t, densetest.Identical(dense.Of(3, 1, []float64{1, math.NaN(), math.NaN()}), got), "%v", got.Data)
}
