package givens_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/givens"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
)

func testRotation[T dense.Float](t *testing.T) {
	for _, c := range []struct {
		i, j  int
		theta float64
	}{{0, 1, 0.3}, {3, 1, 2}, {2, 4, -1}, {4, 0, math.Pi}, {1, 2, 100}} {
		g := must.Have(givens.NewRotation[T](c.i, c.j, c.theta))
		i, j := g.Axes()
		require.Equal(t, [2]int{c.i, c.j}, [2]int{i, j})

		x := densetest.Gapped[T](1, 4, 5)
		first := slices.Clone(x.Row(0))
		y := g.Apply(dense.Matrix[T]{}, x)
		require.Equal(t, first, x.Row(0), "x is only read")
		for r := range x.Rows {
			want := slices.Clone(x.Row(r))
			sin, cos := math.Sincos(c.theta)
			u, v := float64(want[c.i]), float64(want[c.j])
			// Three roundings to a product and one to the sum.
			tol := 4 * densetest.Roundoff[T]() * (math.Abs(u) + math.Abs(v))
			assert.InDelta(t, cos*u-sin*v, float64(y.At(r, c.i)), tol, "%+v: y_i", c)
			assert.InDelta(t, sin*u+cos*v, float64(y.At(r, c.j)), tol, "%+v: y_j", c)
			for k := range want {
				if k != c.i && k != c.j {
					assert.Equal(t, want[k], y.At(r, k), "%+v: coordinate %d stays", c, k)
				}
			}
			g.ApplyVec(want, want)
			assert.Equal(t, y.Row(r), want, "%+v: a vector as a row", c)
			g.Inverse().ApplyVec(want, want)
			for k, v := range want {
				assert.InDelta(t, float64(x.At(r, k)), float64(v), 4*tol, "%+v: inverse", c)
			}
		}
		z := x.Clone()
		g.Apply(z, z)
		assert.Equal(t, y, z, "%+v: in place", c)
		back := g.Inverse().Apply(dense.Matrix[T]{}, y)
		g.Inverse().Apply(z, z)
		assert.Equal(t, back, z, "%+v: inverse in place", c)
		for r := range back.Rows {
			want := slices.Clone(y.Row(r))
			g.Inverse().ApplyVec(want, want)
			assert.Equal(t, want, back.Row(r), "%+v: inverse of a vector as a row", c)
		}
	}
}

func TestRotation(t *testing.T) {
	densetest.Both(t, testRotation[float32], testRotation[float64])
}

func testQuarterTurn[T dense.Float](t *testing.T) {
	g := must.Have(givens.NewRotation[T](0, 1, math.Pi/2))
	x := []T{1, 0}
	g.ApplyVec(x, x)
	assert.InDelta(t, 0, float64(x[0]), densetest.Roundoff[T]())
	assert.Equal(t, T(1), x[1], "axis 0 turns towards axis 1")
	swapped := must.Have(givens.NewRotation[T](1, 0, -math.Pi/2))
	y := []T{1, 0}
	swapped.ApplyVec(y, y)
	assert.Equal(t, x, y, "exchanging the axes is the inverse angle")
}

func TestQuarterTurn(t *testing.T) {
	densetest.Both(t, testQuarterTurn[float32], testQuarterTurn[float64])
}

func testRotationNotFinite[T dense.Float](t *testing.T) {
	g := must.Have(givens.NewRotation[T](0, 2, 1))
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		x := []T{T(bad), 1, 2}
		g.ApplyVec(x, x)
		assert.False(t, math.Abs(float64(x[0])) <= math.MaxFloat64, "%v: %v", bad, x)
		assert.False(t, math.Abs(float64(x[2])) <= math.MaxFloat64, "%v: %v", bad, x)
		assert.Equal(t, T(1), x[1])
	}
}

func TestRotationNotFinite(t *testing.T) {
	densetest.Both(t, testRotationNotFinite[float32], testRotationNotFinite[float64])
}

func TestNewRotationErrors(t *testing.T) {
	for _, c := range []struct {
		i, j  int
		theta float64
		want  string
	}{
		{-1, 2, 0, "givens: i = -1, want at least 0"},
		{1, -2, 0, "givens: j = -2, want at least 0"},
		{3, 3, 0, "givens: i = j = 3, want two different axes"},
		{0, 1, math.NaN(), "givens: theta = NaN, want a finite angle"},
		{0, 1, math.Inf(-1), "givens: theta = -Inf, want a finite angle"},
	} {
		_, err := givens.NewRotation[float32](c.i, c.j, c.theta)
		assert.EqualError(t, err, c.want)
		_, err = givens.NewRotation[float64](c.i, c.j, c.theta)
		assert.EqualError(t, err, c.want)
	}
}

func TestRotationShapesPanic(t *testing.T) {
	g := must.Have(givens.NewRotation[float64](1, 4, 1))
	const want = "givens: rotation of axes 1 and 4 in dimension 4"
	assert.PanicsWithValue(t, want, func() { g.ApplyVec(nil, make([]float64, 4)) })
	assert.PanicsWithValue(t, want, func() { g.Inverse().Apply(dense.Matrix[float64]{}, dense.New[float64](2, 4)) })
	assert.PanicsWithValue(t, "dense: destination is 2×5, want 3×5", func() { g.Apply(dense.New[float64](2, 5), dense.New[float64](3, 5)) })
	assert.Equal(t, 0, g.Apply(dense.Matrix[float64]{}, dense.New[float64](0, 5)).Rows)
}
