package rff_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

var (
	allWeights = []rff.WeightLaw{rff.RademacherWeights, rff.GaussianWeights, rff.ComplexRademacherWeights, rff.ComplexGaussianWeights}
	series     = kernels.Maclaurin{Coefficients: []float64{1, 1, 0, 0.5, 0.25}}
	shifted    = kernels.Polynomial{Degree: 3, Gamma: 0.5, Offset: 0.75}
)

// sketches are the maps of dot-product kernels, with m features of R^d.
func sketches[T dense.Float](t testing.TB, m, d int) map[string]rff.Differentiable[T] {
	maps := map[string]rff.Differentiable[T]{}
	add := func(name string, f rff.Map[T], err error) {
		require.NoError(t, err)
		maps[name] = slopes(f)
	}
	for _, law := range allWeights {
		src := exprand.NewSource(11)
		product, err := rff.PolynomialSketch[T](m, d, shifted, law, src)
		add(fmt.Sprintf("polynomial %v", law), product, err)
		maclaurin, err := rff.Maclaurin[T](m, d, series, rff.GeometricDegrees(series), law, src)
		add(fmt.Sprintf("maclaurin %v", law), maclaurin, err)
	}
	for _, k := range []kernels.Polynomial{shifted, {Degree: 2}, {Degree: 1, Offset: 1}} {
		tensor, err := rff.TensorSketch[T](m, d, k, exprand.NewSource(12))
		add(fmt.Sprintf("tensor %v", k), tensor, err)
	}
	return maps
}

// repeated gives the words of a source of bits to a map, and the same again to what
// builds the map another way.
func repeated() rand.Source { return exprand.NewSource(13) }

// A map is what its formula says, for weights recovered from linear maps of one factor.
func TestPolynomialIsTheProductOfItsFactors(t *testing.T) {
	densetest.Both(t, testPolynomialFactors[float32], testPolynomialFactors[float64])
}

func testPolynomialFactors[T dense.Float](t *testing.T) {
	const m, d = 6, 5
	x := points[T](1, 70, d, 1)
	for _, law := range allWeights {
		parts, half := 1, m
		if law >= rff.ComplexRademacherWeights {
			parts, half = 2, m/2
		}
		// Degree 1 maps from the same source have the weights of the factors one after
		// another; at the unit vectors they show them.
		src := repeated()
		units := dense.New[T](d, d)
		for i := range d {
			units.Set(i, i, 1)
		}
		var factors []dense.Matrix[float64]
		for range 3 {
			one, err := rff.PolynomialSketch[T](m, d, kernels.Polynomial{Degree: 1}, law, src)
			require.NoError(t, err)
			w := dense.Copy(dense.Matrix[float64]{}, one.Transform(dense.Matrix[T]{}, units))
			floats.Scale(math.Sqrt(float64(half)), w.Data)
			factors = append(factors, w)
		}
		f, err := rff.PolynomialSketch[T](m, d, kernels.Polynomial{Degree: 3, Gamma: 0.5}, law, repeated())
		require.NoError(t, err)
		phi := f.Transform(dense.Matrix[T]{}, x)
		for i := range x.Rows {
			for j := range half {
				want, size := complex(math.Pow(0.5, 1.5)/math.Sqrt(float64(half)), 0), 1.0
				for _, w := range factors {
					var z complex128
					var s float64
					for l, v := range x.Row(i) {
						c := complex(w.At(l, j), 0)
						if parts == 2 {
							c += complex(0, w.At(l, half+j))
						}
						z += c * complex(float64(v), 0)
						s += (math.Abs(real(c)) + math.Abs(imag(c))) * math.Abs(float64(v))
					}
					want, size = want*z, size*s
				}
				// d roundings in each factor, two in a product.
				tolerance := 3 * (d + 6) * densetest.Roundoff[T]() * size
				require.InDelta(t, real(want), float64(phi.At(i, j)), tolerance, "%v (%d, %d)", law, i, j)
				if parts == 2 {
					require.InDelta(t, imag(want), float64(phi.At(i, half+j)), tolerance, "%v (%d, %d)", law, i, j)
				}
			}
		}
	}
}

// An offset is a coordinate of the point.
func TestOffsetIsACoordinate(t *testing.T) {
	const m, d = 12, 4
	x := points[float64](1, 9, d, 1)
	long := dense.New[float64](9, d+1)
	for i := range 9 {
		for j, v := range x.Row(i) {
			long.Set(i, j, v*math.Sqrt(shifted.Gamma))
		}
		long.Set(i, d, math.Sqrt(shifted.Offset))
	}
	plain := kernels.Polynomial{Degree: shifted.Degree}
	for _, law := range allWeights {
		with, err := rff.PolynomialSketch[float64](m, d, shifted, law, repeated())
		require.NoError(t, err)
		without, err := rff.PolynomialSketch[float64](m, d+1, plain, law, repeated())
		require.NoError(t, err)
		assert.InDeltaSlice(t, without.Transform(dense.Matrix[float64]{}, long).Data, with.Transform(dense.Matrix[float64]{}, x).Data, 1e-12)
	}
	with, err := rff.TensorSketch[float64](m, d, shifted, repeated())
	require.NoError(t, err)
	without, err := rff.TensorSketch[float64](m, d+1, plain, repeated())
	require.NoError(t, err)
	assert.InDeltaSlice(t, without.Transform(dense.Matrix[float64]{}, long).Data, with.Transform(dense.Matrix[float64]{}, x).Data, 1e-12)
}

// fourier returns the coordinates of x in the orthonormal basis of the real Fourier
// transform: what is real first, then real parts, then imaginary ones.
func fourier(x []float64) []float64 {
	m := len(x)
	at := func(k int, wave func(float64) float64) float64 {
		sum := 0.0
		for j, v := range x {
			sum += v * wave(2*math.Pi*float64(j*k%m)/float64(m)) / math.Sqrt(float64(m))
		}
		return sum
	}
	y := []float64{at(0, math.Cos)}
	if m%2 == 0 {
		y = append(y, at(m/2, math.Cos))
	}
	for _, wave := range []func(float64) float64{math.Cos, func(t float64) float64 { return -math.Sin(t) }} {
		for k := 1; 2*k < m; k++ {
			y = append(y, math.Sqrt2*at(k, wave))
		}
	}
	return y
}

// A tensor sketch is the Fourier transform of the convolution of count sketches, which
// degree 1 shows, for any length of it and whichever way it is computed.
func TestTensorSketchIsAConvolution(t *testing.T) {
	for _, m := range []int{1, 2, 3, 7, 8, 15, 64, 97} {
		testTensorSketchIsAConvolution(t, m, 5)
		testTensorSketchIsAConvolution(t, m, 300)
	}
}

func testTensorSketchIsAConvolution(t *testing.T, m, d int) {
	src := repeated()
	x := points[float64](2, 3, d, 1)
	var counts []dense.Matrix[float64]
	for range 3 {
		one, err := rff.TensorSketch[float64](m, d, kernels.Polynomial{Degree: 1}, src)
		require.NoError(t, err)
		counts = append(counts, one.Transform(dense.Matrix[float64]{}, x))
	}
	f, err := rff.TensorSketch[float64](m, d, kernels.Polynomial{Degree: 3}, repeated())
	require.NoError(t, err)
	phi := f.Transform(dense.Matrix[float64]{}, x)
	for i := range x.Rows {
		want := make([]float64, m)
		want[0] = 1
		for _, c := range counts {
			next := make([]float64, m)
			for a, u := range want {
				for b, v := range c.Row(i) {
					next[(a+b)%m] += u * v
				}
			}
			want = next
		}
		// A spectrum is at most Σ|x_i|, and off by about d + m roundings of that: waves of
		// a transform of prime length come from a recurrence, whose error grows with m.
		size := math.Pow(floats.Norm(x.Row(i), 1), 3)
		assert.InDeltaSlice(t, fourier(want), phi.Row(i), 6*float64(d+m)*densetest.Roundoff[float64]()*size, "m = %d, d = %d", m, d)
	}
}

func TestTensorSketchOfManyDimensionsDoesNotAllocate(t *testing.T) {
	if race.Detector {
		t.Skip("with the race detector a sync.Pool forgets at random")
	}
	const m, d, n = 24, 2000, 70
	for _, k := range []kernels.Polynomial{{Degree: 1}, {Degree: 2, Offset: 1}} {
		f, err := rff.TensorSketch[float32](m, d, k, repeated())
		require.NoError(t, err)
		x, dst, dx := points[float32](1, n, d, 1), dense.New[float32](n, m), dense.New[float32](n, d)
		f.Transform(dst, x)
		back := slopes(f)
		back.Backward(dx, x, dst)
		assert.Zero(t, testing.AllocsPerRun(5, func() { f.Transform(dst, x) }), k.String())
		assert.Zero(t, testing.AllocsPerRun(5, func() { back.Backward(dx, x, dst) }), k.String())
	}
}

// Sketches in float32 are those of the same draws in float64, to rounding.
func TestSketchesInFloat32AgreeWithFloat64(t *testing.T) {
	const m, d = 20, 5
	x32, x64 := points[float32](3, 30, d, 0.7), points[float64](3, 30, d, 0.7)
	double := sketches[float64](t, m, d)
	for name, f := range sketches[float32](t, m, d) {
		got, want := f.Transform(dense.Matrix[float32]{}, x32), double[name].Transform(dense.Matrix[float64]{}, x64)
		for i := range x64.Rows {
			// A factor is at most ‖w‖‖x̃‖, here below 12, and there are at most 4; gains
			// are at most 1.
			for j, v := range want.Row(i) {
				assert.InDelta(t, v, float64(got.At(i, j)), 4*(d+6)*0x1p-24*math.Pow(12, 3), "%s (%d, %d)", name, i, j)
			}
		}
	}
}

// One projection for both factors estimates E[(wᵀx)²(wᵀy)²] instead of (xᵀy)².
func TestSharedFactorsAreCaught(t *testing.T) {
	k := kernels.Polynomial{Degree: 2}
	src := exprand.NewSource(22)
	estimates := sample(t, pairs, func() (rff.Map[float64], error) {
		w, err := orf.Draw[float64](orf.IID{}, 8, pairs.Cols, src)
		require.NoError(t, err)
		return rff.New(w, rff.Scheme[float64]{F: []func(float64) float64{func(t float64) float64 { return t * t }}, Kernel: k})
	})
	assert.Greater(t, zOf(estimates[0], k.Eval(pairs.Row(0), pairs.Row(1))), float64(maxZ))
}

func TestDegrees(t *testing.T) {
	assert.Equal(t, []float64{1, 0.5, 0, 0.125, 0.0625}, rff.GeometricDegrees(series))
	degrees, err := rff.RadiusDegrees(series, 2)
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 4, 0, 32, 64}, degrees)
	sparse := kernels.Maclaurin{Coefficients: []float64{0, 1, 0}}
	degrees, err = rff.RadiusDegrees(sparse, 1e100)
	require.NoError(t, err)
	assert.Equal(t, []float64{0, 1e200, 0}, degrees, "a degree that has no part may overflow")
	for want, radius := range map[string]float64{
		"rff: radius = NaN, want a positive finite number":                                   math.NaN(),
		"rff: radius = +Inf, want a positive finite number":                                  math.Inf(1),
		"rff: radius = 0, want a positive finite number":                                     0,
		"rff: radius = -2, want a positive finite number":                                    -2,
		"rff: radius = 1e+60 makes the part of degree 3 +Inf, want a positive finite number": 1e60,
		"rff: radius = 1e-100 makes the part of degree 3 0, want a positive finite number":   1e-100,
	} {
		_, err = rff.RadiusDegrees(series, radius)
		assert.EqualError(t, err, want)
	}
	_, err = rff.RadiusDegrees(kernels.Maclaurin{Coefficients: []float64{1, math.NaN()}}, 1)
	assert.EqualError(t, err, "rff: k is out of range: kernels: Maclaurin.Coefficients[1] = NaN, want a finite number, at least 0")
	// Features that are all constant still show what is no number.
	f, err := rff.Maclaurin[float64](4, 2, kernels.Maclaurin{Coefficients: []float64{2}}, []float64{1}, rff.ComplexGaussianWeights, repeated())
	require.NoError(t, err)
	phi := f.Transform(dense.Matrix[float64]{}, dense.Of(2, 2, []float64{1, 2, math.Inf(1), 0}))
	assert.Equal(t, []float64{1, 1, 0, 0}, phi.Row(0))
	assert.True(t, math.IsNaN(phi.At(1, 0)) && math.IsNaN(phi.At(1, 3)))
	dx := slopes(f).Backward(dense.Matrix[float64]{}, dense.New[float64](1, 2), dense.Of(1, 4, []float64{1, 2, 3, 4}))
	assert.Equal(t, []float64{0, 0}, dx.Data)
}

func TestBadSketches(t *testing.T) {
	densetest.Both(t, testBadSketches[float32], testBadSketches[float64])
}

func testBadSketches[T dense.Float](t *testing.T) {
	check := func(want string) func(_ any, err error) {
		return func(_ any, err error) { t.Helper(); assert.EqualError(t, err, "rff: "+want) }
	}
	k, src := kernels.Polynomial{Degree: 2}, repeated()
	const real = rff.RademacherWeights
	check("m = 0, want at least 1")(rff.PolynomialSketch[T](0, 2, k, real, src))
	check("d = 0, want at least 1")(rff.PolynomialSketch[T](2, 0, k, real, src))
	check("src is nil")(rff.PolynomialSketch[T](2, 2, k, real, nil))
	check("law = WeightLaw(4), want one of the four")(rff.PolynomialSketch[T](2, 2, k, 4, src))
	check("law = WeightLaw(-1), want one of the four")(rff.PolynomialSketch[T](2, 2, k, -1, src))
	check("m = 3, want an even number for ComplexGaussianWeights")(rff.PolynomialSketch[T](3, 2, k, rff.ComplexGaussianWeights, src))
	degree := "k is out of range: kernels: Polynomial.Degree = -1, want at least 1, or 0 for 3"
	check(degree)(rff.PolynomialSketch[T](2, 2, kernels.Polynomial{Degree: -1}, real, src))
	check(degree)(rff.TensorSketch[T](2, 2, kernels.Polynomial{Degree: -1}, src))

	check("m = 0, want at least 1")(rff.TensorSketch[T](0, 2, k, src))
	check("d = 0, want at least 1")(rff.TensorSketch[T](2, 0, k, src))
	check("src is nil")(rff.TensorSketch[T](2, 2, k, nil))

	p := rff.GeometricDegrees(series)
	check("m = 0, want at least 1")(rff.Maclaurin[T](0, 2, series, p, real, src))
	check("d = 0, want at least 1")(rff.Maclaurin[T](2, 0, series, p, real, src))
	check("src is nil")(rff.Maclaurin[T](2, 2, series, p, real, nil))
	check("law = WeightLaw(7), want one of the four")(rff.Maclaurin[T](2, 2, series, p, 7, src))
	check("m = 3, want an even number for ComplexRademacherWeights")(rff.Maclaurin[T](3, 2, series, p, rff.ComplexRademacherWeights, src))
	check("k is out of range: kernels: Maclaurin.Coefficients[1] = -0.5, want a finite number, at least 0")(
		rff.Maclaurin[T](2, 2, kernels.Maclaurin{Coefficients: []float64{1, -0.5}}, []float64{1, 1}, real, src))
	check("2 degrees, want 5, one for each coefficient")(rff.Maclaurin[T](2, 2, series, []float64{1, 1}, real, src))
	check("degrees[3] = 0, want a positive number for the coefficient 0.5")(rff.Maclaurin[T](2, 2, series, []float64{1, 1, 1, 0, 1}, real, src))
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		check(fmt.Sprintf("degrees[2] = %v, want a finite number, at least 0", bad))(rff.Maclaurin[T](2, 2, series, []float64{1, 1, bad, 1, 1}, real, src))
	}
	check("the sum of degrees is +Inf, want a finite number")(rff.Maclaurin[T](2, 2, series, []float64{1, 1, 1, math.MaxFloat64, math.MaxFloat64}, real, src))
}

// A Degree of 0 stands for that of the kernel's default: features have the same bits as with 3.
func TestSketchesOfTheZeroPolynomial(t *testing.T) {
	zero, three := kernels.Polynomial{}, kernels.Polynomial{Degree: 3}
	x := dense.Of(1, 2, []float64{0.5, -2})
	sketch := func(k kernels.Polynomial) []float64 {
		p, err := rff.PolynomialSketch[float64](4, 2, k, rff.GaussianWeights, repeated())
		require.NoError(t, err)
		q, err := rff.TensorSketch[float64](4, 2, k, repeated())
		require.NoError(t, err)
		return append(p.Transform(dense.Matrix[float64]{}, x).Data, q.Transform(dense.Matrix[float64]{}, x).Data...)
	}
	assert.Equal(t, sketch(three), sketch(zero))
}

func TestSketchesOutsideTheRangeOfFloat32(t *testing.T) {
	_, err := rff.PolynomialSketch[float32](2, 2, kernels.Polynomial{Degree: 4, Gamma: 1e30}, rff.GaussianWeights, repeated())
	assert.EqualError(t, err, "rff: Polynomial.Gamma = 1e+30 is outside the range of float32")
	_, err = rff.PolynomialSketch[float32](2, 2, kernels.Polynomial{Degree: 4, Offset: 1e100}, rff.GaussianWeights, repeated())
	assert.EqualError(t, err, "rff: Polynomial.Offset = 1e+100 is outside the range of float32")
	_, err = rff.TensorSketch[float32](2, 2, kernels.Polynomial{Degree: 2, Gamma: 1e100}, repeated())
	assert.EqualError(t, err, "rff: Polynomial.Gamma = 1e+100 is outside the range of float32")
	_, err = rff.TensorSketch[float32](2, 2, kernels.Polynomial{Degree: 2, Offset: 1e-100}, repeated())
	assert.EqualError(t, err, "rff: Polynomial.Offset = 1e-100 is outside the range of float32")
	_, err = rff.Maclaurin[float32](2, 2, kernels.Maclaurin{Coefficients: []float64{1e100}}, []float64{1}, rff.GaussianWeights, repeated())
	assert.EqualError(t, err, "rff: degrees[0] = 1 is outside the range of float32")
	// The common factor of degrees is no size of anything.
	large := kernels.Maclaurin{Coefficients: []float64{1e300, 1e300}}
	_, err = rff.Maclaurin[float64](2, 2, large, large.Coefficients, rff.GaussianWeights, repeated())
	assert.NoError(t, err)
}

func TestSketchStrings(t *testing.T) {
	f, err := rff.PolynomialSketch[float64](4, 2, kernels.Polynomial{Degree: 2}, rff.ComplexRademacherWeights, repeated())
	require.NoError(t, err)
	assert.Equal(t, "PolynomialSketch(Polynomial{Degree: 2, Gamma: 1, Offset: 0}, ComplexRademacherWeights): R^2 → R^4", fmt.Sprint(f))
	tensor, err := rff.TensorSketch[float64](4, 2, kernels.Polynomial{Degree: 2}, repeated())
	require.NoError(t, err)
	assert.Equal(t, "TensorSketch(Polynomial{Degree: 2, Gamma: 1, Offset: 0}): R^2 → R^4", fmt.Sprint(tensor))
	for _, law := range allWeights {
		assert.Contains(t, law.String(), "Weights")
		assert.NotContains(t, law.String(), "(")
	}
}
