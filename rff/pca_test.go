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

// More columns than rows: n points have n − 1 components.
func TestPCAOfFewPoints(t *testing.T) {
	x := points[float64](3, 4, 9, 1)
	f := must.Have(rff.Draw[float64](must.Have(rff.PCA(x, 3, true)), nil))
	z := f.Transform(dense.Matrix[float64]{}, x)
	// Whitened vertices of a simplex: all distances are equal, √(2(n−1)).
	for i := range 4 {
		for j := range i {
			assert.InDelta(t, math.Sqrt(6), floats.Distance(z.Row(i), z.Row(j), 2), 1e-12)
		}
	}
	_, err := rff.PCA(x, 4, true)
	assert.ErrorContains(t, err, "rff: component 3 of x has the variance ")
	assert.ErrorContains(t, err, "zero to rounding, and cannot be whitened: want at most 3 components")
	_, err = rff.PCA(x, 4, false)
	assert.NoError(t, err)
}

func TestAffineErrors(t *testing.T) {
	x := points[float64](3, 10, 2, 1)
	line := dense.New[float32](10, 2)
	for i := range 10 {
		line.Set(i, 0, float32(i))
		line.Set(i, 1, 1e6)
	}
	bad := x.Clone()
	bad.Set(7, 1, math.NaN())
	infinite := x.Clone()
	infinite.Set(2, 0, math.Inf(-1))
	for want, f := range map[string]func() error{
		"rff: x is 1×2, want at least 2×1":                              func() error { _, err := rff.PCA(x.RowRange(0, 1), 1, false); return err },
		"rff: components = 0, want 1 to 2 for x of 10×2":                func() error { _, err := rff.PCA(x, 0, false); return err },
		"rff: components = 3, want 1 to 2 for x of 10×2":                func() error { _, err := rff.PCA(x, 3, false); return err },
		"rff: x[7][1] = NaN, want a finite number":                      func() error { _, err := rff.PCA(bad, 1, false); return err },
		"rff: x[2][0] = -Inf, want a finite number":                     func() error { _, err := rff.PCA(infinite, 1, false); return err },
		"rff: component 1 of x has the variance 0, zero to rounding":    func() error { _, err := rff.PCA(line, 2, true); return err },
		"kernels: Pullback.A is 0×0, want at least 1×1":                 func() error { return drawn[float64](rff.Affine{}) },
		"kernels: Pullback.Offset has length 3, A is 10×2":              func() error { return drawn[float64](rff.Affine{A: x, Offset: make([]float64, 3)}) },
		"kernels: Pullback.A[7][1] = NaN, want a finite number":         func() error { return drawn[float64](rff.Affine{A: bad}) },
		"rff: A[0][0] = 1.2360327593760871e+45 is outside the range of": func() error { return drawn[float32](must.Have(rff.PCA(tiny(), 1, true))) },
	} {
		assert.ErrorContains(t, f(), want)
	}
}

// drawn returns the error of Draw.
func drawn[T dense.Float](a rff.Affine) error {
	_, err := rff.Draw[T](a, nil)
	return err
}

// tiny are points whose whitening overflows float32.
func tiny() dense.Matrix[float32] {
	return dense.Of(3, 1, []float32{0, 0, math.SmallestNonzeroFloat32})
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

func TestComposeErrors(t *testing.T) {
	first := rff.Affine{A: points[float64](1, 3, 2, 1)}
	four := must.Have(rff.Draw[float64](rff.Identity{D: 4}, nil))
	_, err := rff.Compose(rff.Affine{}, four)
	assert.ErrorContains(t, err, "Pullback.A is 0×0, want at least 1×1")
	_, err = rff.Compose[float64](first, nil)
	assert.EqualError(t, err, "rff: then is nil, want a map")
	_, err = rff.Compose(first, four)
	assert.EqualError(t, err, "rff: then is a map of R^4, want R^3, where first leads")

	w := must.Have(orf.Draw[float64](orf.IID{}, 5, 3, exprand.NewSource(1)))
	f := must.Have(rff.Compose(first, newMap(w, nil, math.Abs)))
	back := f.(rff.Differentiable[float64])
	require.Error(t, back.CanBackward())
	assert.PanicsWithValue(t, back.CanBackward().Error(), func() {
		back.Backward(dense.Matrix[float64]{}, dense.New[float64](1, 2), dense.New[float64](1, 5))
	})
}
