package performer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// Features of elu+1 that are far out of the range that is used as it is, in keys, in
// queries, in a few of either.
func TestDirectFeaturesOutOfRange(t *testing.T) {
	densetest.Both(t, testDirect[float32], testDirect[float64])
}

func testDirect[T dense.Float](t *testing.T) {
	const n, d = 600, 4
	rng := rand.New(densetest.Source(120))
	a := attention[T](must.Have(rff.Draw[T](rff.ELU{D: d}, nil)), performer.LinearOptions{})
	require.True(t, performer.InsideOf(a).Engine.Direct != nil)
	shifted := func(shift float64, rows ...int) dense.Matrix[T] {
		x := densetest.Normal[T](rng, n, d, 0, 1)
		for i := range n {
			for _, r := range rows {
				if i != r {
					continue
				}
				for j := range d {
					x.Row(i)[j] += T(shift)
				}
			}
		}
		return x
	}
	every := make([]int, n)
	for i := range every {
		every[i] = i
	}
	one := shifted(0)
	one.Set(5, 0, -150)
	column := shifted(0)
	for i := range n {
		column.Set(i, 2, -400)
	}
	v := densetest.Normal[T](rng, n, 3, 0, 1)
	for _, c := range []struct {
		what string
		q, k dense.Matrix[T]
	}{
		{"usual", shifted(0), shifted(0)},
		{"keys small", shifted(0), shifted(-200, every...)},
		{"keys large", shifted(0), shifted(1e12, every...)},
		{"one feature of keys small", shifted(0), column},
		{"queries small", shifted(-200, every...), shifted(0)},
		{"a few queries small or large", shifted(-100, 3, 77, 299, 599), shifted(0)},
		{"a key small", shifted(0), one},
		{"both small", shifted(-60, every...), shifted(-60, every...)},
		{"queries large", shifted(1e13, 8, 9), shifted(0)},
	} {
		want, tol := newPairs(a, c.q, c.k).attend(dense.Copy(dense.Matrix[float64]{}, v))
		require.Less(t, largest(tol), 1e-2, "the test means something")
		densetest.RequireClose(t, want, tol, a.Forward(dense.Matrix[T]{}, c.q, c.k, v), "%s", c.what)
		ones := densetest.Filled[T](n, 2, 1)
		assert.Equal(t, ones, a.Forward(dense.Matrix[T]{}, c.q, c.k, ones), c.what)
	}
	for _, opts := range forms {
		assert.True(t, performer.InsideOf(attention[T](must.Have(rff.Draw[T](rff.ELU{D: d}, nil)), opts)).Engine.Direct != nil, "%+v", opts)
	}
	assert.False(t, performer.InsideOf(attention(maptest.Positive[T](8, d), performer.LinearOptions{})).Engine.Direct != nil)
}
