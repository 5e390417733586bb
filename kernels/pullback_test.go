package kernels_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
)

// affine is the map of the pullbacks of these tests, R^4 → R^3.
func affine(k kernels.Kernel) kernels.Pullback {
	return kernels.Pullback{
		K:      k,
		A:      dense.Of(3, 4, []float64{1, 2, 0, -1, 0.5, 0, 3, 1, -2, 1, 1, 0.25}),
		Centre: []float64{1, -1, 2, 0.5},
		Offset: []float64{0.25, -3, 1},
	}
}

// The image of 0 is computed by hand.
func TestPullbackIsTheKernelOfTheImages(t *testing.T) {
	image := func(x []float64) []float64 {
		k, z := affine(nil), make([]float64, 3)
		for i := range z {
			z[i] = k.Offset[i]
			for j, v := range x {
				z[i] += k.A.At(i, j) * (v - k.Centre[j])
			}
		}
		return z
	}
	x, y := []float64{0, 0, 0, 0}, []float64{0.5, -2, 1, 3}
	assert.InDeltaSlice(t, []float64{1 + 0.5 + 0.25, -0.5 - 6 - 0.5 - 3, 2 + 1 - 2 - 0.125 + 1}, image(x), 1e-14)
	assert.InDeltaSlice(t, image(y), affine(nil).At(y), 1e-14)
	for _, k := range []kernels.Kernel{kernels.DotProduct{}, kernels.Gaussian{LengthScale: 4}, kernels.Laplacian{LengthScale: 9}, kernels.Polynomial{Degree: 2, Offset: 1}} {
		want := k.Eval(image(x), image(y))
		assert.InEpsilon(t, want, affine(k).Eval(x, y), 1e-13, "%v", k)
		plain := affine(k)
		plain.Centre, plain.Offset = nil, nil
		zero, shifted := make([]float64, 3), make([]float64, 3)
		for i := range shifted {
			shifted[i] = floats.Dot(plain.A.Row(i), y)
		}
		assert.InEpsilon(t, 1+k.Eval(zero, shifted), 1+plain.Eval(x, y), 1e-13, "%v without centre and offset", k)
	}
}

// pullbacks are kernels of points of R^4.
func pullbacks() []kernels.Kernel {
	return []kernels.Kernel{
		affine(kernels.Gaussian{LengthScale: 5}), affine(kernels.Sum{kernels.Laplacian{LengthScale: 6}, kernels.DotProduct{}}),
		kernels.Sum{kernels.Laplacian{}, affine(kernels.Gaussian{LengthScale: 5})},
	}
}

func testGramOfPullbacks[T dense.Float](t *testing.T) {
	const d = 4
	x, y := cloud[T](1, 21, d, 0.2, 1), cloud[T](2, 90, d, 0, 1)
	for _, k := range pullbacks() {
		g, one := kernels.Gram(dense.Matrix[T]{}, k, x, y), kernels.Gram(dense.Matrix[T]{}, k, x, dense.Matrix[T]{})
		part := kernels.Gram(dense.Matrix[T]{}, k, x.RowRange(5, 9), y.RowRange(70, 90))
		assert.Equal(t, dense.Copy(dense.Matrix[T]{}, g.RowRange(5, 9).ColRange(70, 90)), part, "%v: part", k)
		before := runtime.GOMAXPROCS(3)
		assert.Equal(t, g, kernels.Gram(dense.Matrix[T]{}, k, x, y), "%v: three processors", k)
		runtime.GOMAXPROCS(before)
		own := make([]float64, y.Rows)
		for j := range own {
			own[j] = eval(k, y.Row(j), y.Row(j))
		}
		near := func(want float64, got T, tolerance float64, i, j int) {
			if !(math.Abs(float64(got)-want) <= tolerance) {
				require.InDelta(t, want, float64(got), tolerance, "%v (%d, %d)", k, i, j)
			}
		}
		for i := range x.Rows {
			diagonal := eval(k, x.Row(i), x.Row(i))
			for j := range y.Rows {
				want := eval(k, x.Row(i), y.Row(j))
				near(want, g.At(i, j), 1e-12*math.Sqrt(diagonal*own[j])+densetest.Roundoff[T]()*math.Abs(want), i, j)
			}
			for j := range i {
				require.Equal(t, one.At(i, j), one.At(j, i), "%v: symmetric", k)
				near(eval(k, x.Row(i), x.Row(j)), one.At(i, j), 2*densetest.Roundoff[T]()*math.Abs(diagonal)+1e-11, i, j)
			}
			require.Equal(t, T(diagonal), one.At(i, i), "%v: diagonal", k)
		}
	}
}

func TestGramOfPullbacks(t *testing.T) {
	densetest.Both(t, testGramOfPullbacks[float32], testGramOfPullbacks[float64])
}

func TestGramOfPullbacksShowsNaN(t *testing.T) {
	const d = 4
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for j := range d {
			x := cloud[float64](8, 3, d, 0, 1)
			x.Set(1, j, bad)
			for _, k := range pullbacks() {
				g := kernels.Gram(dense.Matrix[float64]{}, k, x, dense.Matrix[float64]{})
				for i := range 9 {
					v := g.At(i/3, i%3)
					require.Equal(t, i/3 == 1 || i%3 == 1, math.IsNaN(v) || math.IsInf(v, 0), "%v with %v at %d: (%d, %d) = %v", k, bad, j, i/3, i%3, v)
				}
			}
		}
	}
}

func TestErrorsOfPullbacks(t *testing.T) {
	of := func(change func(k *kernels.Pullback)) kernels.Pullback {
		k := affine(kernels.Gaussian{})
		k.A = k.A.Clone()
		change(&k)
		return k
	}
	for want, k := range map[string]kernels.Kernel{
		"kernels: Pullback.K is nil":                                                    of(func(k *kernels.Pullback) { k.K = nil }),
		"kernels: Pullback.A is 0×0, want at least 1×1":                                 of(func(k *kernels.Pullback) { k.A = dense.Matrix[float64]{} }),
		"kernels: Pullback.Centre has length 2, A is 3×4":                               of(func(k *kernels.Pullback) { k.Centre = k.Centre[:2] }),
		"kernels: Pullback.Offset has length 2, A is 3×4":                               of(func(k *kernels.Pullback) { k.Offset = k.Offset[:2] }),
		"kernels: Pullback.A: dense: 11 elements cannot hold a 3×4 matrix of stride 4":  of(func(k *kernels.Pullback) { k.A.Data = k.A.Data[:11] }),
		"kernels: Pullback.A[1][3] = NaN, want a finite number":                         of(func(k *kernels.Pullback) { k.A.Set(1, 3, math.NaN()) }),
		"kernels: Pullback.Centre[0] = +Inf, want a finite number":                      of(func(k *kernels.Pullback) { k.Centre = []float64{math.Inf(1), 0, 0, 0} }),
		"kernels: Pullback.Offset[2] = -Inf, want a finite number":                      of(func(k *kernels.Pullback) { k.Offset = []float64{0, 0, math.Inf(-1)} }),
		"kernels: Gaussian.LengthScale = -1, want a positive finite number, or 0 for 1": of(func(k *kernels.Pullback) { k.K = kernels.Gaussian{LengthScale: -1} }),
	} {
		assert.EqualError(t, kernels.Check(k), want)
	}
	assert.PanicsWithValue(t, "kernels: x has length 3, Pullback.A is 3×4", func() { affine(kernels.Gaussian{}).Eval([]float64{1, 2, 3}, []float64{1, 2, 3}) })
	short := of(func(k *kernels.Pullback) { k.A.Data = nil })
	assert.PanicsWithValue(t, "kernels: Pullback.A: dense: 0 elements cannot hold a 3×4 matrix of stride 4", func() { short.Eval(make([]float64, 4), make([]float64, 4)) })
	assert.PanicsWithValue(t, "kernels: Pullback.A: dense: 0 elements cannot hold a 3×4 matrix of stride 4", func() { short.At(make([]float64, 4)) })
	assert.PanicsWithValue(t, "kernels: x has length 3, Pullback.A is 3×4", func() { affine(nil).At(make([]float64, 3)) })
	assert.PanicsWithValue(t, "kernels: Pullback.K is nil", func() { affine(nil).Eval(nil, nil) })
}

func TestStringsOfPullbacks(t *testing.T) {
	assert.Equal(t, "Pullback{K: Angular{}, A: 3×4}", affine(kernels.Angular{}).String())
}
