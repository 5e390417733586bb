package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// stretched are points of R^d whose axes are mixed, with deviations 1 … d, around at.
func stretched[T dense.Float](n, d int, at float64) dense.Matrix[T] {
	x, mix := points[float64](21, n, d, 1), points[float64](22, d, d, 1)
	var q mat.QR
	q.Factorize(gonum.ToMat(mix))
	var axes mat.Dense
	q.QTo(&axes)
	y := dense.New[T](n, d)
	for i := range n {
		for j := range d {
			v := at
			for k := range d {
				v += axes.At(j, k) * float64(k+1) * x.At(i, k)
			}
			y.Set(i, j, T(v))
		}
	}
	return y
}

func testPCA[T dense.Float](t *testing.T) {
	const n, d = 300, 5
	for _, at := range []float64{0, 1000} {
		x := stretched[T](n, d, at)
		// Coordinates are off by the rounding of z; means also by that of μ in float64.
		tolerance := 100 * densetest.Roundoff[T]()
		for _, whiten := range []bool{false, true} {
			f := must.Have(rff.Draw[T](must.Have(rff.PCA(x, 3, whiten)), nil))
			in, out := f.Dims()
			assert.Equal(t, [2]int{d, 3}, [2]int{in, out})
			z := wide(f.Transform(dense.Matrix[T]{}, x))
			var covariance, own mat.SymDense
			stat.CovarianceMatrix(&covariance, gonum.ToMat(z), nil)
			stat.CovarianceMatrix(&own, gonum.ToMat(wide(x)), nil)
			var eig mat.EigenSym
			require.True(t, eig.Factorize(&own, false))
			for a := range 3 {
				variance := eig.Values(nil)[d-1-a]
				want := 1.0
				if !whiten {
					want = variance
				}
				mean := 0.0
				for i := range n {
					mean += z.At(i, a) / n
				}
				assert.InDelta(t, 0, mean, tolerance*math.Sqrt(want)*(1+at/100), "mean of component %d at %v", a, at)
				for b := range a {
					assert.InDelta(t, 0, covariance.At(a, b), 30*tolerance, "components %d and %d at %v", a, b, at)
				}
				assert.InEpsilon(t, want, covariance.At(a, a), 30*tolerance, "component %d at %v", a, at)
			}
		}
		rotation := must.Have(rff.Draw[T](must.Have(rff.PCA(x, d, false)), nil))
		z := wide(rotation.Transform(dense.Matrix[T]{}, x))
		for i := range 20 {
			want := floats.Distance(wide(x).Row(i), wide(x).Row(i+1), 2)
			assert.InDelta(t, want, floats.Distance(z.Row(i), z.Row(i+1), 2), 30*tolerance, "distances at %v", at)
		}
	}
}

func TestPCA(t *testing.T) {
	densetest.Both(t, testPCA[float32], testPCA[float64])
}

// The composition is the map on what the affine map leads to.
func testCompose[T dense.Float](t *testing.T) {
	const n, d, r = 300, 4, 3
	x := points[T](1, n, d, 1)
	first := must.Have(rff.PCA(stretched[T](50, d, 3), r, true))
	z := must.Have(rff.Draw[T](first, nil)).Transform(dense.Matrix[T]{}, x)
	for name, then := range allMaps[T](t, r) {
		f := must.Have(rff.Compose(first, then))
		_, out := then.Dims()
		in, got := f.Dims()
		assert.Equal(t, [2]int{d, out}, [2]int{in, got})
		assert.Equal(t, then.Transform(dense.Matrix[T]{}, z), f.Transform(dense.Matrix[T]{}, x), name)

		logs, positive := then.(rff.LogMap[T])
		composedLogs, composedPositive := f.(rff.LogMap[T])
		require.Equal(t, positive, composedPositive, name)
		if positive {
			assert.Equal(t, logs.LogTransform(dense.Matrix[T]{}, z), composedLogs.LogTransform(dense.Matrix[T]{}, x), name)
		}
		back, differentiable := then.(rff.Differentiable[T])
		composedBack, ok := f.(rff.Differentiable[T])
		require.Equal(t, differentiable, ok, name)
		if differentiable {
			assert.Equal(t, back.CanBackward(), composedBack.CanBackward(), name)
		}
		_, both := then.(rff.DifferentiableLog[T])
		_, ok = f.(rff.DifferentiableLog[T])
		assert.Equal(t, both, ok, name)

		if then.Kernel() == nil {
			assert.Nil(t, f.Kernel(), name)
			continue
		}
		a, b := wide(x).Row(0), wide(x).Row(1)
		want := then.Kernel().Eval(wide(z).Row(0), wide(z).Row(1))
		assert.InDelta(t, want, f.Kernel().Eval(a, b), 200*densetest.Roundoff[T]()*(1+math.Abs(want)), name)
	}
}

func TestCompose(t *testing.T) {
	densetest.Both(t, testCompose[float32], testCompose[float64])
}

// logOnly and backward hide what else a map can do.
type (
	logOnly  struct{ rff.LogMap[float64] }
	backward struct{ rff.Differentiable[float64] }
	separate struct {
		rff.LogMap[float64]
		back rff.Differentiable[float64]
	}
)

func (s separate) Backward(dst, x, g dense.Matrix[float64]) dense.Matrix[float64] {
	return s.back.Backward(dst, x, g)
}

func (s separate) CanBackward() error { return s.back.CanBackward() }

func TestComposeKeepsWhatAMapCanDo(t *testing.T) {
	first := rff.Affine{A: points[float64](1, 3, 2, 1)}
	w := must.Have(orf.Draw[float64](orf.IID{}, 5, 3, exprand.NewSource(1)))
	drawn := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w))
	positive := logs(drawn)
	x, g := points[float64](2, 4, 2, 1), points[float64](3, 4, 5, 1)
	whole := must.Have(rff.Compose(first, rff.Map[float64](positive)))
	all := whole.(rff.DifferentiableLog[float64])
	for _, c := range []struct {
		then       rff.Map[float64]
		logs, back bool
	}{
		{logOnly{positive}, true, false}, {backward{slopes[float64](positive)}, false, true}, {separate{positive, slopes[float64](positive)}, true, true},
		{struct{ rff.Map[float64] }{positive}, false, false},
	} {
		f := must.Have(rff.Compose(first, c.then))
		logs, isLog := f.(rff.LogMap[float64])
		back, isBack := f.(rff.Differentiable[float64])
		_, both := f.(rff.DifferentiableLog[float64])
		assert.Equal(t, []bool{c.logs, c.back, false}, []bool{isLog, isBack, both}, "%T", c.then)
		if isLog {
			assert.Equal(t, all.LogTransform(dense.Matrix[float64]{}, x), logs.LogTransform(dense.Matrix[float64]{}, x))
		}
		if isBack {
			assert.Equal(t, all.Backward(dense.Matrix[float64]{}, x, g), back.Backward(dense.Matrix[float64]{}, x, g))
		}
	}
}
