package kernels_test

import (
	"cmp"
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

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
)

// cloud returns n points of standard deviation s around the point (at, …, at),
// with a stride wider than d.
func cloud[T dense.Float](seed uint64, n, d int, at, s float64) dense.Matrix[T] {
	rng := rand.New(exprand.NewSource(seed))
	x := dense.New[T](n, d+3).ColRange(1, d+1)
	for i := range n {
		for j := range d {
			x.Set(i, j, T(at+s*rng.NormFloat64()))
		}
	}
	return x
}

// eval returns the kernel of rows in float64.
func eval[T dense.Float](k kernels.Kernel, x, y []T) float64 {
	a, b := make([]float64, len(x)), make([]float64, len(y))
	for i := range x {
		a[i], b[i] = float64(x[i]), float64(y[i])
	}
	return k.Eval(a, b)
}

// bound returns how far Gram may be from Eval: the errors that Gram documents,
// and for composed kernels what follows from them.
func bound(k kernels.Kernel, x, y []float64, u float64) float64 {
	d := float64(len(x))
	nx, ny := floats.Norm(x, 2), floats.Norm(y, 2)
	value := math.Abs(k.Eval(x, y))
	inner := (d + 2) * u * nx * ny
	switch k := k.(type) {
	case kernels.DotProduct:
		return inner + u*value
	case kernels.Softmax:
		return value * (math.Expm1(cmp.Or(k.Gamma, 1)*inner) + 4*u)
	case kernels.Polynomial:
		gamma, p := cmp.Or(k.Gamma, 1), float64(k.Degree)
		return p*math.Pow(gamma*nx*ny+k.Offset, p-1)*2*gamma*inner + 4*u*value
	case kernels.Gaussian, kernels.Matern, kernels.RationalQuadratic:
		// |q·k'(q)| is at most 1/e for the first, and less than 1 for the others.
		return 12 * math.E * (d + 3) * u
	case kernels.Angular, kernels.ArcCosine:
		// |J_n'| ≤ 8 on [0, π], and radius has another n roundings.
		scale := 1.0
		if arc, ok := k.(kernels.ArcCosine); ok {
			scale = 4 * math.Pow(nx*ny, float64(arc.Order))
		}
		return 8 * (d + 2) * u * scale
	case kernels.ELU:
		return (d + 4) * u * value
	case kernels.Sum:
		var b float64
		for _, term := range k {
			b += bound(term, x, y, u) + 4*u*math.Abs(term.Eval(x, y))
		}
		return b
	case kernels.Product:
		var upper float64 = 1
		for _, factor := range k {
			upper *= math.Abs(factor.Eval(x, y)) + bound(factor, x, y, u)
		}
		return upper - value + 4*u*value
	case kernels.Scaled:
		return k.By*bound(k.K, x, y, u) + 2*u*value
	}
	return u * value
}

func testGram[T dense.Float](t *testing.T) {
	const d = 5
	for _, c := range []struct{ at, s float64 }{{0, 1}, {0, 0.01}, {3, 0.5}, {100, 1}} {
		x, y := cloud[T](1, 70, d, c.at, c.s), cloud[T](2, 67, d, c.at, c.s)
		for j, v := range x.Row(3) {
			y.Set(5, j, v)
			y.Set(6, j, -v)
			y.Set(7, j, 2*v)
			y.Set(8, j, 0)
		}
		for _, k := range all {
			if c.at > 0 && (strings.Contains(fmt.Sprint(k), "Softmax") || strings.Contains(fmt.Sprint(k), "Exponential")) {
				continue // overflows there
			}
			g := kernels.Gram(dense.Matrix[T]{}, k, x, y)
			one := kernels.Gram(dense.Matrix[T]{}, k, x, dense.Matrix[T]{})
			require.Equal(t, [4]int{70, 67, 70, 70}, [4]int{g.Rows, g.Cols, one.Rows, one.Cols})
			a, b := make([]float64, d), make([]float64, d)
			check := func(got T, xi, yj []T) {
				for l := range d {
					a[l], b[l] = float64(xi[l]), float64(yj[l])
				}
				// A factor below 2⁻¹²⁶ is rounded to a multiple of 2⁻¹⁴⁹ and
				// multiplied by others up to 250, d times.
				underflow := d * 250 * math.SmallestNonzeroFloat32
				want, tolerance := k.Eval(a, b), bound(k, a, b, densetest.Roundoff[T]())+underflow
				if !(math.Abs(float64(got)-want) <= tolerance) {
					require.InDelta(t, want, float64(got), tolerance, "%v at %v, %v", k, xi, yj)
				}
			}
			for i := range x.Rows {
				for j := range y.Rows {
					check(g.At(i, j), x.Row(i), y.Row(j))
				}
				for j := range i + 1 {
					check(one.At(i, j), x.Row(i), x.Row(j))
					if one.At(i, j) != one.At(j, i) {
						require.Equal(t, one.At(i, j), one.At(j, i), "%v: symmetric", k)
					}
				}
				require.Equal(t, T(eval(k, x.Row(i), x.Row(i))), one.At(i, i), "%v: diagonal", k)
			}
		}
	}
}

func TestGram(t *testing.T) {
	densetest.Both(t, testGram[float32], testGram[float64])
}

// testExactWhereItMatters: points close together and far from the origin, where
// expanding the square gives nothing but noise, keep their kernel.
func testExactWhereItMatters[T dense.Float](t *testing.T) {
	step := math.Sqrt(densetest.Roundoff[T]())
	x := dense.Of(2, 2, []T{1000, 1000, 1000 + T(1000*step), 1000})
	gap := float64(x.At(1, 0)) - 1000
	got := kernels.Gram(dense.Matrix[T]{}, kernels.Gaussian{LengthScale: gap}, x, x)
	assert.Equal(t, T(math.Exp(-0.5)), got.At(0, 1))
	assert.Equal(t, T(1), got.At(1, 1))

	narrow := dense.Of(2, 2, []T{1, 0, 1, T(step)})
	angle := 1 - float64(kernels.Gram(dense.Matrix[T]{}, kernels.Angular{}, narrow, narrow).At(0, 1))
	assert.InDelta(t, 2*math.Atan(float64(T(step)))/math.Pi, angle, 2*densetest.Roundoff[T](), "rounding of a number next to 1")
}

func TestGramExactWhereItMatters(t *testing.T) {
	densetest.Both(t, testExactWhereItMatters[float32], testExactWhereItMatters[float64])
}

// testRange: squares and products that overflow or underflow in T do not show
// where the kernel does not overflow.
func testRange[T dense.Float](t *testing.T) {
	big, small, smaller := 1e30, 0x1p-49, 0x1p-110
	if densetest.Roundoff[T]() == 0x1p-53 {
		big, small, smaller = 1e200, 0x1p-479, 0x1p-1000
	}
	check := func(want float64, k kernels.Kernel, x, y []T) {
		got := kernels.Gram(dense.Matrix[T]{}, k, dense.Of(1, len(x), x), dense.Of(1, len(y), y))
		assert.InDelta(t, want, float64(got.At(0, 0)), 4*densetest.Roundoff[T](), "%v at %v, %v", k, x, y)
	}
	for _, c := range []T{T(big), T(1 / big)} {
		check(math.Exp(-0.5), kernels.Gaussian{LengthScale: float64(c)}, []T{c, 0}, []T{c, c})
		check(math.Exp(-1), kernels.Gaussian{LengthScale: float64(c)}, []T{c, 0}, []T{0, c})
		check(0.5, kernels.Angular{}, []T{c, 0}, []T{c, c})
	}
	check(0.5, kernels.Angular{}, []T{T(small), 0}, []T{T(smaller), T(smaller)})
	check(0.5, kernels.Angular{}, []T{T(smaller), T(smaller)}, []T{T(small), 0})
	if densetest.Roundoff[T]() == 0x1p-24 {
		check(math.Exp(-0.5), kernels.Softmax{Gamma: 0.5 / (big * big)}, []T{T(big)}, []T{T(-big)})
	}
}

func TestGramRange(t *testing.T) {
	densetest.Both(t, testRange[float32], testRange[float64])
}

func testNaNAndInf[T dense.Float](t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		x := cloud[T](8, 70, 3, 0, 1)
		x.Set(66, 1, T(v))
		for _, k := range all {
			if _, own := k.(rounded); own {
				continue
			}
			for _, y := range []dense.Matrix[T]{{}, x.RowRange(60, 70)} {
				g := kernels.Gram(dense.Matrix[T]{}, k, x, y)
				at := 66
				if y.Data != nil {
					at = 6
				}
				for i := range g.Rows {
					for j := range g.Cols {
						e := float64(g.At(i, j))
						isBad := math.IsNaN(e) || math.IsInf(e, 0)
						require.Equal(t, i == 66 || j == at, isBad, "%v with %v, element (%d, %d) = %v", k, v, i, j, e)
					}
				}
			}
		}
	}
}

func TestGramNaNAndInf(t *testing.T) {
	densetest.Both(t, testNaNAndInf[float32], testNaNAndInf[float64])
}

// override embeds a kernel of the package and evaluates another: Gram must use
// the latter.
type override struct{ kernels.Gaussian }

func (override) Eval(x, y []float64) float64 { return x[0] * y[0] }

func TestGramOfEmbeddedKernel(t *testing.T) {
	x := dense.Of(2, 1, []float64{2, 3})
	assert.Equal(t, []float64{4, 6, 6, 9}, kernels.Gram(dense.Matrix[float64]{}, override{}, x, x).Data)
}

func TestGramDoesNotDependOnProcessorsOrSplits(t *testing.T) {
	x, y := cloud[float32](3, 200, 9, 0, 1), cloud[float32](4, 150, 9, 0, 1)
	k := kernels.Sum{kernels.Gaussian{}, kernels.Product{kernels.ELU{}, kernels.Matern{}}, kernels.Laplacian{}}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	serial := kernels.Gram(dense.Matrix[float32]{}, k, x, y)
	runtime.GOMAXPROCS(4)
	assert.Equal(t, serial, kernels.Gram(dense.Matrix[float32]{}, k, x, y))
	part := kernels.Gram(dense.Matrix[float32]{}, k, x.RowRange(70, 80), y.RowRange(3, 9))
	assert.Equal(t, dense.Copy(dense.Matrix[float32]{}, serial.RowRange(70, 80).ColRange(3, 9)), part)
}

func TestGramDestination(t *testing.T) {
	x := dense.Of(2, 2, []float64{1, 0, 0, 2})
	wide := dense.New[float64](2, 4)
	for i := range wide.Data {
		wide.Data[i] = 7
	}
	kernels.Gram(wide.ColRange(1, 3), kernels.DotProduct{}, x, dense.Matrix[float64]{})
	assert.Equal(t, []float64{7, 1, 0, 7, 7, 0, 4, 7}, wide.Data)
	assert.PanicsWithValue(t, "dense: destination is 2×4, want 2×2", func() { kernels.Gram(wide, kernels.DotProduct{}, x, x) })
	assert.PanicsWithValue(t, "kernels: x is 2×2, y is 2×4: columns differ", func() {
		kernels.Gram(dense.Matrix[float64]{}, kernels.DotProduct{}, x, wide)
	})
	assert.PanicsWithValue(t, "kernels: k is nil", func() { kernels.Gram(dense.Matrix[float64]{}, nil, x, x) })
	assert.PanicsWithValue(t, "kernels: Softmax.Gamma = -1, want a positive finite number, or 0 for 1", func() {
		kernels.Gram(dense.Matrix[float64]{}, kernels.Softmax{Gamma: -1}, dense.New[float64](0, 2), dense.Matrix[float64]{})
	})
}

func TestGramOfNothing(t *testing.T) {
	none, x := dense.New[float32](0, 3), cloud[float32](1, 2, 3, 0, 1)
	for _, k := range all {
		g := kernels.Gram(dense.Matrix[float32]{}, k, x, none)
		assert.Equal(t, [2]int{2, 0}, [2]int{g.Rows, g.Cols})
		g = kernels.Gram(dense.Matrix[float32]{}, k, none, x)
		assert.Equal(t, [2]int{0, 2}, [2]int{g.Rows, g.Cols})
		g = kernels.Gram(dense.Matrix[float32]{}, k, none, dense.Matrix[float32]{})
		assert.Equal(t, [2]int{0, 0}, [2]int{g.Rows, g.Cols})
	}
	// R^0 has one point.
	assert.Equal(t, []float32{1, 1, 1, 1}, kernels.Gram(dense.Matrix[float32]{}, kernels.Gaussian{}, dense.New[float32](2, 0), dense.Matrix[float32]{}).Data)
}
