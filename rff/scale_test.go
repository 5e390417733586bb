package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
)

// Columns far from 0, in units of different sizes, with one that does not vary.
func testStandardise[T dense.Float](t *testing.T) {
	const n, d = 200, 4
	z, x := points[float64](31, n, d, 1), dense.New[T](n, d)
	for i := range n {
		for j, unit := range []float64{1, 1e9, 1e-12, 0} {
			x.Set(i, j, T(unit*(1000+z.At(i, j))+3))
		}
	}
	f := must.Have(rff.Draw[T](must.Have(rff.Standardise(x)), nil))
	got, column := wide(f.Transform(dense.Matrix[T]{}, x)), make([]float64, n)
	for j := range 2 {
		for i := range n {
			column[i] = got.At(i, j)
		}
		mean, deviation := stat.MeanStdDev(column, nil)
		assert.InDelta(t, 0, mean, 4000*densetest.Roundoff[T](), "column %d", j)
		assert.InDelta(t, 1, deviation, 4000*densetest.Roundoff[T](), "column %d", j)
	}
	far := x.RowRange(0, 1).Clone()
	far.Set(0, 3, 1e6)
	assert.Zero(t, f.Transform(dense.Matrix[T]{}, far).At(0, 3), "a column that did not vary")

	// The same map with a matrix, alone and before another map.
	for _, c := range []struct{ centre, factors []float64 }{{nil, []float64{2, -1, 0, 0.5}}, {[]float64{1, 2, 3, 4}, []float64{0.5, 0.25, 4, 0}}} {
		a, b := dense.New[float64](d, d), make([]float64, d)
		for j, v := range c.factors {
			a.Set(j, j, v)
			if c.centre != nil {
				b[j] = -v * c.centre[j]
			}
		}
		scale, affine := rff.Affine{Centre: c.centre, Factors: c.factors}, rff.Affine{A: a, Offset: b}
		quadratic := must.Have(rff.Draw[T](rff.Quadratic{D: d}, nil))
		one := must.Have(rff.Compose(scale, quadratic))
		other := must.Have(rff.Compose(affine, quadratic))
		at := points[T](32, 300, d, 1)
		for _, pair := range [][2]rff.Map[T]{{must.Have(rff.Draw[T](scale, nil)), must.Have(rff.Draw[T](affine, nil))}, {one, other}} {
			want := wide(pair[1].Transform(dense.Matrix[T]{}, at))
			phi := pair[0].Transform(dense.Matrix[T]{}, at)
			for i, v := range wide(phi).Data {
				require.InDelta(t, want.Data[i], v, 1000*densetest.Roundoff[T]())
			}
			dx := pair[0].(rff.Differentiable[T]).Backward(dense.Matrix[T]{}, at, phi)
			back := pair[1].(rff.Differentiable[T]).Backward(dense.Matrix[T]{}, at, phi)
			for i, v := range wide(dx).Data {
				require.InDelta(t, float64(back.Data[i]), v, 1e5*densetest.Roundoff[T]())
			}
			x, y := wide(at).Row(0), wide(at).Row(1)
			assert.InDelta(t, pair[1].Kernel().Eval(x, y), pair[0].Kernel().Eval(x, y), 1e3*densetest.Roundoff[T]())
		}
	}
}

func TestStandardise(t *testing.T) {
	densetest.Both(t, testStandardise[float32], testStandardise[float64])
}

// Columns that vary in their last digits, against their exact means and deviations.
func testStandardiseLastDigits[T dense.Float](t *testing.T) {
	u := densetest.Roundoff[T]()
	for _, base := range []T{14.62, 0.1, -1e9 / 3, 1} {
		for _, n := range []int{2, 10, 1000} {
			for name, digits := range map[string]func(i int) int{
				"one row": func(i int) int { return i / (n - 1) },
				"halves":  func(i int) int { return 2 * i / n },
				"turns":   func(i int) int { return i % 2 },
				"seven":   func(i int) int { return i * i % 7 },
			} {
				x, sum, squares := dense.New[T](n, 1), 0.0, 0.0
				ulp := T(2*u) * T(math.Exp2(math.Floor(math.Log2(math.Abs(float64(base))))))
				for i := range n {
					k := digits(i)
					x.Set(i, 0, base+T(k)*ulp)
					require.Equal(t, T(k)*ulp, x.At(i, 0)-base)
					sum, squares = sum+float64(k), squares+float64(k*k)
				}
				mean := sum / float64(n)
				deviation := math.Sqrt((squares - sum*mean) / float64(n-1))
				f := must.Have(rff.Draw[T](must.Have(rff.Standardise(x)), nil))
				z := f.Transform(dense.Matrix[T]{}, x)
				rounding := (float64(n) + 8) * u // the norm of n differences, and the map
				moved := 0x1p-53 * math.Abs(float64(x.At(n-1, 0))) / float64(ulp) / deviation
				for i := range n {
					want := (float64(digits(i)) - mean) / deviation
					require.InDelta(t, want, float64(z.At(i, 0)), moved+rounding*(1+math.Abs(want)), "%v, %d rows, %s: row %d", base, n, name, i)
					step := float64(digits(i)-digits(0)) / deviation
					require.InDelta(t, step, float64(z.At(i, 0)-z.At(0, 0)), rounding*(1+math.Abs(want)), "%v, %d rows, %s: row %d", base, n, name, i)
				}
			}
		}
	}
}

func TestStandardiseLastDigits(t *testing.T) {
	densetest.Both(t, testStandardiseLastDigits[float32], testStandardiseLastDigits[float64])
}
