package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

func testHybridIsTheMixture[T dense.Float](t *testing.T) {
	const d = 5
	for _, size := range [][2]int{{1, 1}, {1, 7}, {9, 1}, {6, 4}, {40, 2}} {
		m, n := size[0], size[1]
		w, err := orf.Draw[T](orf.GramSchmidt{}, m, d, exprand.NewSource(1))
		require.NoError(t, err)
		gate, err := orf.Draw[T](orf.IID{}, n, d, exprand.NewSource(2))
		require.NoError(t, err)
		hybrid, err := rff.SoftmaxHybrid(w, gate, scaleOf)
		require.NoError(t, err)
		hyperbolic, err := rff.SoftmaxHyperbolic(w, scaleOf)
		require.NoError(t, err)
		trig, err := rff.SoftmaxTrig(w, scaleOf)
		require.NoError(t, err)
		angular, err := rff.Angular(gate)
		require.NoError(t, err)
		x, y := points[T](3, 70, d, 0.6), points[T](4, 70, d, 0.6)
		in := func(f, g rff.Map[T], i int) (sum, size float64) {
			u := dense.Copy(dense.Matrix[float64]{}, f.Transform(dense.Matrix[T]{}, x.RowRange(i, i+1)))
			v := dense.Copy(dense.Matrix[float64]{}, g.Transform(dense.Matrix[T]{}, y.RowRange(i, i+1)))
			for k, a := range u.Data {
				size += math.Abs(a * v.Data[k])
			}
			return floats.Dot(u.Data, v.Data), size
		}
		for i := range x.Rows {
			s1, size1 := in(hyperbolic, hyperbolic, i)
			s2, size2 := in(trig, trig, i)
			signs, _ := in(angular, angular, i)
			lambda := (1 - signs) / 2
			got, terms := in(hybrid, rff.Keys(hybrid), i)
			// The features are the same but for their last factor, and their products
			// cancel; logarithms and waves are below 16 here.
			assert.InDelta(t, lambda*s1+(1-lambda)*s2, got, 16*densetest.Roundoff[T]()*(size1+size2+terms), "m=%d n=%d row %d", m, n, i)
		}
	}
}

func TestHybridIsTheMixtureOfItsParts(t *testing.T) {
	densetest.Both(t, testHybridIsTheMixture[float32], testHybridIsTheMixture[float64])
}

// The gate chooses the part that has no error.
func TestHybridIsExactAtEqualAndOppositePoints(t *testing.T) {
	w, err := orf.Draw[float64](orf.IID{}, 4, 5, exprand.NewSource(1))
	require.NoError(t, err)
	gate, err := orf.Draw[float64](orf.IID{}, 3, 5, exprand.NewSource(2))
	require.NoError(t, err)
	f, err := rff.SoftmaxHybrid(w, gate, scaleOf)
	require.NoError(t, err)
	x := points[float64](3, 20, 5, 0.6)
	opposite := x.Clone()
	floats.Scale(-1, opposite.Data)
	phi := f.Transform(dense.Matrix[float64]{}, x)
	same, other := rff.Keys(f).Transform(dense.Matrix[float64]{}, x), rff.Keys(f).Transform(dense.Matrix[float64]{}, opposite)
	for i := range x.Rows {
		assert.InEpsilon(t, f.Kernel().Eval(x.Row(i), x.Row(i)), floats.Dot(phi.Row(i), same.Row(i)), 1e-12)
		assert.InDelta(t, f.Kernel().Eval(x.Row(i), opposite.Row(i)), floats.Dot(phi.Row(i), other.Row(i)), 1e-13*floats.Dot(phi.Row(i), phi.Row(i)))
	}
}
