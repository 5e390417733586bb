package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate/conformance"
)

// TestBackwardIsTheDerivative compares with central differences of fourth order.
func TestBackwardIsTheDerivative(t *testing.T) {
	const m, d, step = 11, 5, 1e-4
	for _, a := range directions[float64](t, m, d) {
		for _, n := range []int{0, 1, 70} {
			x, g := points[float64](1, n, d, 0.7), points[float64](2, n, a.out, 1)
			dx := a.backward(dense.Matrix[float64]{}, x, g)
			require.Equal(t, [2]int{n, d}, [2]int{dx.Rows, dx.Cols}, a.name)
			moved := func(j int, by float64) []float64 {
				y := x.Clone()
				for i := range n {
					y.Set(i, j, y.At(i, j)+by)
				}
				phi := a.forward(dense.Matrix[float64]{}, y)
				loss := make([]float64, n)
				for i := range n {
					for k, v := range phi.Row(i) {
						loss[i] += v * g.At(i, k)
					}
				}
				return loss
			}
			truth := dense.New[float64](n, d)
			for j := range d {
				p1, m1, p2, m2 := moved(j, step), moved(j, -step), moved(j, 2*step), moved(j, -2*step)
				for i := range n {
					truth.Set(i, j, (8*(p1[i]-m1[i])-(p2[i]-m2[i]))/(12*step))
				}
			}
			for i := range n {
				if a.nearKink(x.Row(i), 0.002) {
					continue
				}
				var size float64
				for _, v := range truth.Row(i) {
					size = max(size, math.Abs(v))
				}
				for j, want := range truth.Row(i) {
					assert.InDelta(t, want, dx.At(i, j), 1e-6*size, "%s n = %d (%d, %d)", a.name, n, i, j)
				}
			}
		}
	}
}

// The rounding errors of float32 are those of arguments wᵀx, which are about
// (d+6)·u·Σ|w_j x_j| and change a slope by as much, and of the sum over features.
func TestBackwardInFloat32AgreesWithFloat64(t *testing.T) {
	const n, m, d, u = 30, 40, 5, 0x1p-24
	x32, x64 := points[float32](1, n, d, 0.7), points[float64](1, n, d, 0.7)
	double := map[string][]direction[float64]{}
	for _, a := range directions[float64](t, m, d) {
		double[a.name] = append(double[a.name], a)
	}
	for _, single := range directions[float32](t, m, d) {
		a := double[single.name][0]
		double[single.name] = double[single.name][1:]
		g32, g64 := points[float32](2, n, a.out, 1), points[float64](2, n, a.out, 1)
		got, want := single.backward(dense.Matrix[float32]{}, x32, g32), a.backward(dense.Matrix[float64]{}, x64, g64)
		largest := make([]float64, n) // elements of the Jacobians
		for k := range a.out {
			e := dense.New[float64](n, a.out)
			for i := range n {
				e.Set(i, k, 1)
			}
			for i, row := range rowsOf(a.backward(dense.Matrix[float64]{}, x64, e)) {
				for _, v := range row {
					largest[i] = max(largest[i], math.Abs(v))
				}
			}
		}
		for i := range n {
			if a.nearKink(x64.Row(i), 1e-4) {
				continue
			}
			var weight float64
			for _, v := range g64.Row(i) {
				weight += math.Abs(v)
			}
			// The longest Σ|w_j x_j| drawn, times √s or 1/ℓ or a Matérn length; Cauchy
			// frequencies have a heavy tail.
			argument := 60.0
			if a.name == "laplacian" || a.name[:3] == "mat" {
				argument = 500
			}
			tolerance := u * weight * largest[i] * (m + (d+6)*argument)
			for j, v := range want.Row(i) {
				assert.InDelta(t, v, float64(got.At(i, j)), tolerance, "%s (%d, %d)", a.name, i, j)
			}
		}
	}
}

func rowsOf[T dense.Float](m dense.Matrix[T]) [][]T {
	rows := make([][]T, m.Rows)
	for i := range rows {
		rows[i] = m.Row(i)
	}
	return rows
}

// pulledBack is the map that Backward is of points and gradients, or of gradients alone if Backward
// does not depend on points.
type pulledBack[T dense.Float] struct{ direction[T] }

func (m pulledBack[T]) Kernel() kernels.Kernel { return nil }

func (m pulledBack[T]) Dims() (in, out int) {
	if m.constant {
		return m.out, m.in
	}
	return m.in + m.out, m.in
}

func (m pulledBack[T]) Transform(dst, xg dense.Matrix[T]) dense.Matrix[T] {
	if m.constant {
		return m.backward(dst, dense.New[T](xg.Rows, m.in), xg)
	}
	return m.backward(dst, xg.ColRange(0, m.in), xg.ColRange(m.in, xg.Cols))
}

// Backward keeps the contract of a map, and works in place where a map says so.
func testBackwardKeepsTheContract[T dense.Float](t *testing.T) {
	for _, a := range directions[T](t, 11, 5) {
		m := pulledBack[T]{a}
		in, _ := m.Dims()
		assert.NoError(t, conformance.Map(m, points[T](1, 70, in, 0.7)), a.name)
		if a.inPlace {
			x, g := points[T](1, 70, a.in, 0.7), points[T](2, 70, a.out, 1)
			want, y, h := a.backward(dense.Matrix[T]{}, x, g), x.Clone(), g.Clone()
			assert.Equal(t, want, a.backward(y, y, g), "%s: dst is x", a.name)
			assert.Equal(t, want, a.backward(h, x, h), "%s: dst is the gradient", a.name)
		}
	}
}

func TestBackwardKeepsTheContract(t *testing.T) {
	densetest.Both(t, testBackwardKeepsTheContract[float32], testBackwardKeepsTheContract[float64])
}

func TestBackwardShapesPanic(t *testing.T) {
	for _, a := range directions[float64](t, 4, 3) {
		none := dense.Matrix[float64]{}
		x, g := dense.New[float64](2, 3), dense.New[float64](2, a.out)
		assert.PanicsWithValue(t, "rff: x is 2×4, want 2×3", func() { a.backward(none, dense.New[float64](2, 4), g) }, a.name)
		assert.Panics(t, func() { a.backward(none, x, dense.New[float64](2, a.out+1)) }, a.name)
		assert.Panics(t, func() { a.backward(none, x, dense.New[float64](3, a.out)) }, a.name)
		assert.PanicsWithValue(t, "dense: destination is 2×4, want 2×3", func() { a.backward(dense.New[float64](2, 4), x, g) }, a.name)
	}
	identity := must.Have(rff.Draw[float64](rff.Identity{D: 3}, nil))
	assert.PanicsWithValue(t, "rff: dphi is 2×4, want 2×3", func() {
		slopes(identity).Backward(dense.Matrix[float64]{}, dense.New[float64](2, 3), dense.New[float64](2, 4))
	})
	elu := must.Have(rff.Draw[float64](rff.ELU{D: 3}, nil))
	assert.PanicsWithValue(t, "rff: dlog is 1×3, want 2×3", func() {
		logSlopes(elu).LogBackward(dense.Matrix[float64]{}, dense.New[float64](2, 3), dense.New[float64](1, 3))
	})
}

func testBackwardAllocations[T dense.Float](t *testing.T) {
	if race.Detector {
		t.Skip("with the race detector a sync.Pool forgets at random")
	}
	const n, m, d = 200, 70, 20
	x, dx := points[T](1, n, d, 0.3), dense.New[T](n, d)
	for _, a := range directions[T](t, m, d) {
		g := points[T](2, n, a.out, 1)
		a.backward(dx, x, g)
		assert.Zero(t, testing.AllocsPerRun(10, func() { a.backward(dx, x, g) }), a.name)
	}
}

func TestBackwardDoesNotAllocate(t *testing.T) {
	densetest.Both(t, testBackwardAllocations[float32], testBackwardAllocations[float64])
}
