package validate_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
)

// waves is a map of random Fourier features [cos, sin]/√m. drawWaves stretches the frequencies by a
// factor, which is 1 for an unbiased map of the Gaussian kernel.
type waves[T dense.Float] struct {
	w dense.Matrix[float64]
	k kernels.Kernel
}

func drawWaves[T dense.Float](m, d int, stretch float64) validate.Draw[T] {
	return func(src rand.Source) (rff.Map[T], error) {
		rng := rand.New(src)
		w := dense.New[float64](m, d)
		for i := range w.Data {
			w.Data[i] = stretch * rng.NormFloat64()
		}
		return waves[T]{w, kernels.Gaussian{}}, nil
	}
}

func (f waves[T]) Dims() (in, out int) { return f.w.Cols, 2 * f.w.Rows }

func (f waves[T]) Kernel() kernels.Kernel { return f.k }

func (f waves[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	m := f.w.Rows
	dst = dense.Ensure(dst, x.Rows, 2*m)
	for i := range x.Rows {
		for l := range m {
			var t float64
			for j, v := range x.Row(i) {
				t += f.w.At(l, j) * float64(v)
			}
			s, c := math.Sincos(t)
			dst.Set(i, l, T(c/math.Sqrt(float64(m))))
			dst.Set(i, m+l, T(s/math.Sqrt(float64(m))))
		}
	}
	return dst
}

// pairs returns n pairs of points at distances from 0 up to about 2.
func pairs[T dense.Float](n, d int) (x, y dense.Matrix[T]) {
	x, y = densetest.Gapped[T](11, n, d), densetest.Gapped[T](12, n, d)
	for i := range n {
		c := T(float64(i) / float64(n))
		for j, v := range x.Row(i) {
			y.Set(i, j, v+c*y.At(i, j))
		}
	}
	return x, y
}

const (
	frequencies = 8
	pairCount   = 100 // more than the 64 rows that are transformed together
	drawCount   = 500
)

// testBias: |z| < 4 at 100 pairs fails by chance with probability 0.6 %, and the seed is fixed.
// Frequencies that are 5 % too long fail the test.
func testBias[T dense.Float](t *testing.T) {
	x, y := pairs[T](pairCount, 3)
	got := must.Have(validate.Measure(t.Context(), drawWaves[T](frequencies, 3, 1), x, y, drawCount, exprand.NewSource(1)))
	require.Len(t, got.Pairs, pairCount)
	assert.Equal(t, kernels.Gaussian{}, got.Kernel)
	assert.Equal(t, drawCount, got.Draws)
	assert.True(t, got.Unbiased(4), "%v", got)
	exact, variance := dense.Copy(dense.Matrix[float64]{}, x), 0.0
	for i, row := range got.Pairs {
		other := dense.Copy(dense.Matrix[float64]{}, y)
		q := math.Pow(floats.Distance(exact.Row(i), other.Row(i), 2), 2)
		assert.InDelta(t, math.Exp(-q/2), row.Truth, 1e-14)
		// Var = (1−e^{−q})²/(2m) [Sutherland & Schneider 2015].
		variance = math.Pow(1-math.Exp(-q), 2) / (2 * frequencies)
		assert.InDelta(t, math.Sqrt(variance/drawCount), row.StdErr, 0.2*math.Sqrt(variance/drawCount)+1e-9)
	}
	// Pair 0 is a point with itself, whose estimate is exact up to rounding.
	assert.InDelta(t, 1, got.Pairs[0].Mean, 4*frequencies*epsilonOf[T]())
	assert.Less(t, math.Abs(got.Pairs[0].Z), 1.0)

	planted := must.Have(validate.Measure(t.Context(), drawWaves[T](frequencies, 3, 1.05), x, y, drawCount, exprand.NewSource(1)))
	assert.False(t, planted.Unbiased(4))
	pair, z := planted.Worst()
	assert.Equal(t, z, planted.Pairs[pair].Z)
	assert.Less(t, z, -4.0, "longer frequencies make the kernel narrower")
}

func TestBias(t *testing.T) { densetest.Both(t, testBias[float32], testBias[float64]) }

// TestStatistics recomputes the statistics from the draws by their textbook formulas.
func TestStatistics(t *testing.T) {
	const draws = 70 // two batches and a part
	x, y := pairs[float64](5, 2)
	draw := drawWaves[float64](3, 2, 1)
	got := must.Have(validate.Measure(t.Context(), draw, x, y, draws, exprand.NewSource(7)))

	src := exprand.NewSource(7)
	estimates, squares, overall := make([][]float64, 5), make([][]float64, 5), make([]float64, draws)
	for t := range draws {
		m, _ := draw(rand.NewPCG(src.Uint64(), src.Uint64()))
		fx, fy := m.Transform(dense.Matrix[float64]{}, x), m.Transform(dense.Matrix[float64]{}, y)
		for i := range 5 {
			e := floats.Dot(fx.Row(i), fy.Row(i))
			truth := m.Kernel().Eval(x.Row(i), y.Row(i))
			estimates[i] = append(estimates[i], e)
			squares[i] = append(squares[i], (e-truth)*(e-truth))
			overall[t] += (e - truth) * (e - truth) / 5
		}
	}
	check := func(values []float64, mean, stdErr float64) {
		assert.InDelta(t, stat.Mean(values, nil), mean, 1e-15)
		assert.InDelta(t, stat.StdErr(stat.StdDev(values, nil), draws), stdErr, 1e-15)
	}
	for i := range 5 {
		p := got.Pairs[i]
		check(estimates[i], p.Mean, p.StdErr)
		check(squares[i], p.MSE, p.MSEStdErr)
		assert.InDelta(t, (p.Mean-p.Truth)/math.Hypot(p.StdErr, p.Rounding), p.Z, 1e-12)
	}
	check(overall, got.MSE, got.MSEStdErr)
}

// testExactMap: a map without randomness has the standard error 0, and z compares with rounding.
func testExactMap[T dense.Float](t *testing.T) {
	x, y := densetest.Gapped[T](1, 20, 5), densetest.Gapped[T](2, 20, 5)
	draw := func(rand.Source) (rff.Map[T], error) { return line[T]{5}, nil }
	got := must.Have(validate.Measure(t.Context(), draw, x, y, 3, exprand.NewSource(1)))
	assert.True(t, got.Unbiased(4), "%v", got)
	for _, row := range got.Pairs {
		assert.Zero(t, row.StdErr)
	}
	wrong := func(rand.Source) (rff.Map[T], error) {
		return waves[T]{dense.New[float64](1, 5), kernels.DotProduct{}}, nil
	}
	got = must.Have(validate.Measure(t.Context(), wrong, x, y, 3, exprand.NewSource(1)))
	assert.False(t, got.Unbiased(4))
}

func TestBiasOfExactMap(t *testing.T) {
	densetest.Both(t, testExactMap[float32], testExactMap[float64])
}

func TestNaNIsWorst(t *testing.T) {
	x, y := pairs[float64](4, 2)
	x.Set(2, 1, math.NaN())
	got := must.Have(validate.Measure(t.Context(), drawWaves[float64](2, 2, 3), x, y, 50, exprand.NewSource(1)))
	pair, z := got.Worst()
	assert.Equal(t, 2, pair)
	assert.True(t, math.IsNaN(z))
	assert.False(t, got.Unbiased(math.Inf(1)))
	assert.True(t, math.IsNaN(got.MSE))
}

func testCompare[T dense.Float](t *testing.T) {
	x, y := pairs[T](20, 3)
	got := must.Have(validate.Compare(t.Context(), []validate.Method[T]{
		{Name: "eight", Draw: drawWaves[T](8, 3, 1)},
		{Name: "sixteen", Draw: drawWaves[T](16, 3, 1)},
		{Name: "stretched", Draw: drawWaves[T](8, 3, 1.2)},
	}, x, y, drawCount, exprand.NewSource(3)))
	require.Len(t, got.Methods, 3)
	first, second, third := got.Methods[0], got.Methods[1], got.Methods[2]
	assert.Equal(t, [2]float64{1, 0}, [2]float64{first.Ratio, first.RatioStdErr})
	// Twice the frequencies halve the variance, exactly.
	assert.InDelta(t, 0.5, second.Ratio, 4*second.RatioStdErr)
	assert.Less(t, second.RatioStdErr, 0.05)
	assert.True(t, first.Unbiased(4))
	assert.False(t, third.Unbiased(4))

	alone := must.Have(validate.Measure(t.Context(), drawWaves[T](8, 3, 1), x, y, drawCount, exprand.NewSource(3)))
	assert.Equal(t, alone, first.Measurement, "the first method sees the same sources alone")

	lines := strings.Split(strings.TrimSuffix(got.String(), "\n"), "\n")
	require.Len(t, lines, 5)
	assert.Equal(t, "20 pairs, 500 draws", lines[0])
	for _, line := range lines[2:] {
		assert.Len(t, line, len(lines[1]), "columns are aligned")
	}
}

func TestCompare(t *testing.T) { densetest.Both(t, testCompare[float32], testCompare[float64]) }

func TestResultDoesNotDependOnProcessors(t *testing.T) {
	x, y := pairs[float32](10, 3)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	serial := must.Have(validate.Measure(t.Context(), drawWaves[float32](4, 3, 1), x, y, 100, exprand.NewSource(3)))
	runtime.GOMAXPROCS(4)
	parallel := must.Have(validate.Measure(t.Context(), drawWaves[float32](4, 3, 1), x, y, 100, exprand.NewSource(3)))
	assert.Equal(t, serial, parallel)
}

func TestMeasureErrors(t *testing.T) {
	x := dense.New[float64](4, 3)
	src := exprand.NewSource(1)
	draw := drawWaves[float64](2, 3, 1)
	failing := func(n int) validate.Draw[float64] {
		return func(src rand.Source) (rff.Map[float64], error) {
			n--
			if n < 0 {
				return nil, errors.New("no more")
			}
			return draw(src)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // failing counts its calls
	keyless := func(maps ...waves[float64]) validate.Draw[float64] {
		return func(rand.Source) (rff.Map[float64], error) {
			if len(maps) == 1 {
				return maps[0], nil
			}
			return mismatched{maps[0], maps[1]}, nil
		}
	}
	one, two := waves[float64]{dense.New[float64](1, 3), kernels.Gaussian{}}, waves[float64]{dense.New[float64](2, 3), kernels.Gaussian{}}
	for want, err := range map[string]error{
		"draw is nil": must.Err(validate.Measure(t.Context(), nil, x, x, 2, src)),
		"x is 4×3, y is 2×3, want the same shape: row i of both is pair i": must.Err(validate.Measure(t.Context(), draw, x, x.RowRange(0, 2), 2, src)),
		"x and y have no rows, want at least 1 pair":                       must.Err(validate.Measure(t.Context(), draw, x.RowRange(0, 0), x.RowRange(0, 0), 2, src)),
		"draws = 1, want at least 2":                                       must.Err(validate.Measure(t.Context(), draw, x, x, 1, src)),
		"src is nil":                                                       must.Err(validate.Measure(t.Context(), draw, x, x, 2, nil)),
		"draw 40: no more":                                                 must.Err(validate.Measure(t.Context(), failing(40), x, x, 60, src)),
		"draw 0: the map is nil":                                           must.Err(validate.Measure(t.Context(), func(rand.Source) (rff.Map[float64], error) { return nil, nil }, x, x, 2, src)),
		"draw 0: the map takes points of R^5, x is 4×3":                    must.Err(validate.Measure(t.Context(), drawWaves[float64](2, 5, 1), x, x, 2, src)),
		"draw 0: the map has 2 features, that of keys 4":                   must.Err(validate.Measure(t.Context(), keyless(one, two), x, x, 2, src)),
		"draw 0: the map names no kernel to compare with":                  must.Err(validate.Measure(t.Context(), keyless(waves[float64]{w: one.w}), x, x, 2, src)),
	} {
		assert.EqualError(t, err, "validate: "+want)
	}
	if math.MaxInt > limit.Repeats {
		_, err := validate.Measure(t.Context(), draw, x, x, math.MaxInt, src)
		assert.EqualError(t, err, fmt.Sprintf("validate: draws = %d, want at most 1099511627775", math.MaxInt))
	}
	_, err := validate.Measure(t.Context(), draw, x, x, 0, src)
	assert.EqualError(t, err, "validate: draws = 0, want at least 2")
	_, err = validate.Compare[float64](t.Context(), nil, x, x, 2, src)
	assert.EqualError(t, err, "validate: no methods, want at least 1")
	_, err = validate.Compare(t.Context(), []validate.Method[float64]{{Name: "iid", Draw: draw}, {Name: "bad", Draw: failing(3)}}, x, x, 40, src)
	assert.EqualError(t, err, "validate: method bad: draw 3: no more")
}

// mismatched is a Paired map with keys of another dimension.
type mismatched struct {
	rff.Map[float64]
	keys rff.Map[float64]
}

func (m mismatched) Keys() rff.Map[float64] { return m.keys }

// line is the map φ(x) = x.
type line[T dense.Float] struct{ d int }

func (l line[T]) Dims() (in, out int) { return l.d, l.d }

func (l line[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] { return dense.Copy(dst, x) }

func (l line[T]) Kernel() kernels.Kernel { return kernels.DotProduct{} }
