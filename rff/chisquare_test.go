package rff_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// chiSquares are the maps of histograms of R^d.
func chiSquares[T dense.Float](t testing.TB, m, d int) map[string]rff.Differentiable[T] {
	maps := map[string]rff.Differentiable[T]{}
	for name, steps := range map[string]int{"additive 1": 1, "additive 2": 2, "additive 3": 3} {
		f, err := rff.AdditiveChiSquare[T](d, steps, 0)
		require.NoError(t, err)
		maps[name] = slopes(f)
	}
	skewed, err := rff.SkewedChiSquare[T](m, d, 0.5, exprand.NewSource(31))
	require.NoError(t, err)
	maps["skewed"] = slopes(skewed)
	return maps
}

// histograms returns n points with coordinates in [0, 1), a tenth of them 0.
func histograms[T dense.Float](seed uint64, n, d int) dense.Matrix[T] {
	rng := rand.New(exprand.NewSource(seed))
	x := dense.New[T](n, d)
	for i := range x.Data {
		if v := rng.Float32(); rng.IntN(10) > 0 {
			x.Data[i] = T(v)
		}
	}
	return x
}

// Sampling the spectrum at intervals of L repeats the kernel with the period 2π/L, by
// Poisson's formula: what is left is exact.
func TestAdditiveChiSquareIsThePeriodicKernel(t *testing.T) {
	const d = 6
	x := histograms[float64](1, 40, d)
	for _, interval := range []float64{0.8, 0.4, 0.1} {
		f, err := rff.AdditiveChiSquare[float64](d, int(40/interval), interval)
		require.NoError(t, err)
		phi := f.Transform(dense.Matrix[float64]{}, x)
		for i := range x.Rows {
			for j := range x.Rows {
				var want, size float64
				for l, v := range x.Row(i) {
					u := x.At(j, l)
					if u == 0 || v == 0 {
						continue
					}
					for k := -40; k <= 40; k++ {
						want += math.Sqrt(u*v) / math.Cosh((math.Log(u/v)+2*math.Pi*float64(k)/interval)/2)
					}
					size += math.Sqrt(u * v)
				}
				got := floats.Dot(phi.Row(i), phi.Row(j))
				require.InDelta(t, want, got, 1e-13*size, "L = %v", interval)
				if interval == 0.1 {
					// Images are below 4·e^(−(2π/L − λ)/2), and λ < 16 here.
					require.InDelta(t, f.Kernel().Eval(x.Row(i), x.Row(j)), got, 1e-9)
				}
			}
		}
	}
}

// The values of scikit-learn's AdditiveChi2Sampler at (2, 0, 0.25), from its formulas
// evaluated in Python: √(xL), then for each step j √(2xL/cosh(πjL)) times the cosine and
// the sine of jL·log x, each for all coordinates.
//
//ci:portable
func TestAdditiveChiSquareGolden(t *testing.T) {
	densetest.Both(t, testAdditiveChiSquareGolden[float32], testAdditiveChiSquareGolden[float64])
}

func testAdditiveChiSquareGolden[T dense.Float](t *testing.T) {
	golden := map[int][]float64{
		1: {1.2649110640673518, 0, 0.4472135954999579},
		2: {1.0, 0, 0.3535533905932738, 0.8397063994768549, 0, 0.24280938352033396, 0.30326027328746813, 0, -0.20168739948016595},
		3: {0.8944271909999159, 0, 0.31622776601683794, 0.8828264708980155, 0, 0.2758920563194469, 0.2512425886439911, 0, -0.17087056583324836, 0.43142185942881184, 0, 0.07993401143320161, 0.2671961571379142, 0, -0.16062496603573834},
	}
	for steps, want := range golden {
		f, err := rff.AdditiveChiSquare[T](3, steps, 0)
		require.NoError(t, err)
		got := f.Transform(dense.Matrix[T]{}, dense.Of(1, 3, []T{2, 0, 0.25}))
		require.Equal(t, len(want), got.Cols)
		for i, v := range got.Data {
			assert.InDelta(t, want[i], float64(v), 8*densetest.Roundoff[T](), "steps = %d, feature %d", steps, i)
		}
	}
}

// The frequencies have the spectral law of the kernel: its Fourier transform is a
// hyperbolic secant again.
func TestSkewedSpectralLaw(t *testing.T) {
	for _, lambda := range []float64{0, 0.5, 1, 3} {
		got := quad.Fixed(func(w float64) float64 { return math.Cos(w*lambda) / math.Cosh(math.Pi*w) }, -12, 12, 400, nil, 0)
		c := 0.5
		x, y := []float64{1}, []float64{(1+c)*math.Exp(-lambda) - c}
		assert.InDelta(t, got, kernels.SkewedChiSquare{C: c}.Eval(x, y), 1e-13, "λ = %v", lambda)
	}
}

// What is outside the domain, and no number, gives NaN in the features of its
// coordinate or row, and in no other.
func TestChiSquareOutsideTheDomain(t *testing.T) {
	densetest.Both(t, testChiSquareOutsideTheDomain[float32], testChiSquareOutsideTheDomain[float64])
}

func testChiSquareOutsideTheDomain[T dense.Float](t *testing.T) {
	const d = 4
	finite := func(v T) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }
	for name, f := range chiSquares[T](t, 9, d) {
		_, out := f.Dims()
		for _, bad := range []float64{-0.5, -3, math.NaN(), math.Inf(1), math.Inf(-1)} {
			x := histograms[T](2, 3, d)
			x.Set(1, 2, T(bad))
			phi := f.Transform(dense.Matrix[T]{}, x)
			dx := f.Backward(dense.Matrix[T]{}, x, points[T](1, 3, out, 1))
			for i := range 3 {
				for j, v := range phi.Row(i) {
					wrong := i == 1 && (name == "skewed" || j%d == 2)
					require.Equal(t, !wrong, finite(v), "%s of %v: feature (%d, %d) = %v", name, bad, i, j, v)
				}
			}
			assert.False(t, finite(dx.At(1, 2)), "%s at %v", name, bad)
			for j := range d {
				assert.True(t, finite(dx.At(0, j)) && finite(dx.At(2, j)), name)
			}
		}
		zero := f.Transform(dense.Matrix[T]{}, dense.New[T](1, d))
		if name != "skewed" {
			assert.Equal(t, make([]T, out), zero.Data, name)
		}
	}
}

func TestChiSquareBackwardIsTheDerivative(t *testing.T) {
	const n, d, step = 70, 5, 1e-5
	for name, f := range chiSquares[float64](t, 9, d) {
		_, out := f.Dims()
		x, g := histograms[float64](3, n, d), points[float64](4, n, out, 1)
		floats.AddConst(0.1, x.Data)
		dx := f.Backward(dense.Matrix[float64]{}, x, g)
		for j := range d {
			moved := func(by float64) dense.Matrix[float64] {
				y := x.Clone()
				for i := range n {
					y.Set(i, j, y.At(i, j)+by)
				}
				return f.Transform(dense.Matrix[float64]{}, y)
			}
			p1, m1, p2, m2 := moved(step), moved(-step), moved(2*step), moved(-2*step)
			for i := range n {
				want := (8*(floats.Dot(p1.Row(i), g.Row(i))-floats.Dot(m1.Row(i), g.Row(i))) -
					floats.Dot(p2.Row(i), g.Row(i)) + floats.Dot(m2.Row(i), g.Row(i))) / (12 * step)
				assert.InDelta(t, want, dx.At(i, j), 1e-7, "%s (%d, %d)", name, i, j)
			}
		}
		x.Set(0, 0, 0)
		if name != "skewed" {
			assert.Zero(t, f.Backward(dense.Matrix[float64]{}, x, g).At(0, 0), "%s at 0", name)
			g.Set(0, 0, math.NaN())
			assert.True(t, math.IsNaN(f.Backward(dense.Matrix[float64]{}, x, g).At(0, 0)), "%s at 0", name)
		}
	}
}

func TestChiSquareRowsDoNotDependOnTheBatch(t *testing.T) {
	densetest.Both(t, testChiSquareRows[float32], testChiSquareRows[float64])
}

func testChiSquareRows[T dense.Float](t *testing.T) {
	const n, d = 150, 5
	x := histograms[T](5, n, d)
	frame := dense.New[T](n, d+3)
	dense.Copy(frame.ColRange(2, 2+d), x)
	for name, f := range chiSquares[T](t, 21, d) {
		all := f.Transform(dense.Matrix[T]{}, x)
		for _, i := range []int{0, 63, 64, n - 1} {
			assert.Equal(t, all.Row(i), f.Transform(dense.Matrix[T]{}, x.RowRange(i, i+1)).Row(0), "%s row %d", name, i)
		}
		before := runtime.GOMAXPROCS(5)
		assert.Equal(t, all, f.Transform(dense.Matrix[T]{}, frame.ColRange(2, 2+d)), name)
		runtime.GOMAXPROCS(before)
		assert.PanicsWithValue(t, "rff: x is 3×6, want 3×5", func() { f.Transform(dense.Matrix[T]{}, dense.New[T](3, 6)) }, name)
	}
}

func TestBadChiSquares(t *testing.T) {
	check := func(want string) func(_ any, err error) {
		return func(_ any, err error) { t.Helper(); assert.EqualError(t, err, "rff: "+want) }
	}
	check("d = 0, want at least 1")(rff.AdditiveChiSquare[float64](0, 1, 0))
	check("sampleSteps = 0, want at least 1")(rff.AdditiveChiSquare[float64](1, 0, 0))
	check("sampleInterval = 0 has a default for up to 3 sampleSteps, not for 4")(rff.AdditiveChiSquare[float64](1, 4, 0))
	for text, v := range map[string]float64{"-1": -1, "NaN": math.NaN(), "+Inf": math.Inf(1)} {
		check("sampleInterval = " + text + ", want a positive finite number")(rff.AdditiveChiSquare[float32](1, 2, v))
		check("c = " + text + ", want a positive finite number")(rff.SkewedChiSquare[float32](2, 1, v, repeated()))
	}
	check("c = 0, want a positive finite number")(rff.SkewedChiSquare[float64](2, 1, 0, repeated()))
	check("m = 0, want at least 1")(rff.SkewedChiSquare[float64](0, 1, 1, repeated()))
	check("d = 0, want at least 1")(rff.SkewedChiSquare[float64](2, 0, 1, repeated()))
	check("src is nil")(rff.SkewedChiSquare[float64](2, 1, 1, nil))
}
