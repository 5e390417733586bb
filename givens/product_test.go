package givens_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/givens"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
)

func random[T dense.Float](t *testing.T, d, n int, seed uint64) *givens.Product[T] {
	p := must.Have(givens.RandomProduct[T](d, n, exprand.NewSource(seed)))
	in, out := p.Dims()
	require.Equal(t, [2]int{d, d}, [2]int{in, out})
	return p
}

func norm[T dense.Float](x []T) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}

// tolerance bounds the error of p on a vector of norm size: a rotation errs by
// at most 4ε times the norm of the two coordinates it mixes.
func tolerance[T dense.Float](p *givens.Product[T], size float64) float64 {
	return 4 * densetest.Roundoff[T]() * float64(p.Len()+1) * size
}

func testProduct[T dense.Float](t *testing.T) {
	for _, c := range [][2]int{{1, 0}, {2, 1}, {2, 0}, {3, 0}, {7, 5}, {16, 0}, {33, 0}} {
		p := random[T](t, c[0], c[1], uint64(c[0]))
		x := densetest.Gapped[T](1, 37, c[0])
		before := x.Clone()
		y := p.Apply(dense.Matrix[T]{}, x)
		back := p.ApplyTransposed(dense.Matrix[T]{}, y)
		require.Equal(t, before, x.Clone(), "x is only read")
		m := p.Matrix()
		for i := range x.Rows {
			size := norm(x.Row(i))
			tol := tolerance(p, size)
			require.InDelta(t, size, norm(y.Row(i)), tol, "%v: norm", c)

			v := slices.Clone(x.Row(i))
			p.ApplyVec(v, v)
			require.Equal(t, y.Row(i), v, "%v: a vector as a row", c)
			p.ApplyTransposedVec(v, v)
			require.Equal(t, back.Row(i), v, "%v: the inverse of a vector as a row", c)
			for j := range v {
				require.InDelta(t, float64(x.At(i, j)), float64(v[j]), 2*tol, "%v: inverse", c)
				sum := 0.0
				for k := range v {
					sum += float64(m.At(j, k)) * float64(x.At(i, k))
				}
				require.InDelta(t, sum, float64(y.At(i, j)), tolerance(p, 2*math.Sqrt(float64(c[0]))*size), "%v: Matrix", c)
			}
		}
		z := x.Clone()
		p.Apply(z, z)
		assert.Equal(t, y, z, "%v: in place", c)
		for i := range m.Rows {
			for j := range m.Rows {
				sum, want := 0.0, 0.0
				for k := range m.Cols {
					sum += float64(m.At(i, k)) * float64(m.At(j, k))
				}
				if i == j {
					want = 1
				}
				assert.InDelta(t, want, sum, 2*tolerance(p, 1), "%v: rows %d and %d of P", c, i, j)
			}
		}
	}
}

func TestProduct(t *testing.T) {
	densetest.Both(t, testProduct[float32], testProduct[float64])
}

// testOrder multiplies the rotations out, first one first.
func testOrder[T dense.Float](t *testing.T) {
	p := random[T](t, 6, 0, 3)
	x := densetest.Gapped[T](2, 1, 6).Row(0)
	want := slices.Clone(x)
	for _, g := range givens.Rotations(p) {
		g.ApplyVec(want, want)
	}
	p.ApplyVec(x, x)
	assert.Equal(t, want, x)
}

func TestFirstRotationIsAppliedFirst(t *testing.T) {
	densetest.Both(t, testOrder[float32], testOrder[float64])
}

func TestDefaultLength(t *testing.T) {
	for d, want := range map[int]int{1: 0, 2: 2, 3: 5, 8: 24, 10: 34, 1024: 10240} {
		assert.Equal(t, want, random[float64](t, d, 0, 1).Len(), "d = %d", d)
		assert.Equal(t, want, random[float32](t, d, 0, 1).Len(), "d = %d", d)
	}
	assert.Equal(t, 7, random[float32](t, 5, 7, 1).Len())
}

func TestOneDimension(t *testing.T) {
	p := random[float64](t, 1, 0, 1)
	x := []float64{-3}
	p.ApplyVec(x, x)
	assert.Equal(t, []float64{-3}, x)
	assert.Equal(t, dense.Of(1, 1, []float64{1}), p.Matrix())
}

func TestTypesAndSeedsAgree(t *testing.T) {
	single, double := random[float32](t, 9, 0, 5), random[float64](t, 9, 0, 5)
	for k, g := range givens.Rotations(double) {
		s := givens.Rotations(single)[k]
		i, j := g.Axes()
		cos, sin := g.Angle()
		axis, other := s.Axes()
		roundedCos, roundedSin := s.Angle()
		require.Equal(t, [2]int{i, j}, [2]int{axis, other})
		require.Equal(t, [2]float32{float32(cos), float32(sin)}, [2]float32{roundedCos, roundedSin})
	}
	assert.Equal(t, double, random[float64](t, 9, 0, 5), "same seed")
	assert.NotEqual(t, double, random[float64](t, 9, 0, 6), "another seed")
}

// TestPlanesAndAnglesAreUniform draws 60 000 rotations of R⁴. Each of the six
// planes has 10 000 ± 91, the bound is 5 standard deviations; the first two
// trigonometric moments of the angle have variance 1/2 each. Ten
// comparisons have a false-alarm rate below 1e-5, and the seed is fixed.
func TestPlanesAndAnglesAreUniform(t *testing.T) {
	const n = 60000
	p := random[float64](t, 4, n, 11)
	counts := map[[2]int]float64{}
	var moments [4]float64
	for _, g := range givens.Rotations(p) {
		i, j := g.Axes()
		require.Less(t, i, j)
		counts[[2]int{i, j}]++
		cos, sin := g.Angle()
		for k, v := range []float64{cos, sin, cos*cos - sin*sin, 2 * sin * cos} {
			moments[k] += v
		}
	}
	require.Len(t, counts, 6)
	for plane, c := range counts {
		assert.InDelta(t, n/6.0, c, 5*math.Sqrt(n*5/36.0), "plane %v", plane)
	}
	for k, sum := range moments {
		assert.Less(t, math.Abs(sum), 5*math.Sqrt(n/2.0), "moment %d of the angle", k)
	}
}

func TestRandomErrors(t *testing.T) {
	src := exprand.NewSource(1)
	for _, c := range []struct {
		d, n int
		src  rand.Source
		want string
	}{
		{0, 0, src, "givens: d = 0, want at least 1"},
		{3, -1, src, "givens: n = -1, want at least 0"},
		{1, 2, src, "givens: n = 2, want 0 for d = 1, which has no planes"},
		{3, 0, nil, "givens: src is nil"},
	} {
		_, err := givens.RandomProduct[float32](c.d, c.n, c.src)
		assert.EqualError(t, err, c.want)
		_, err = givens.RandomProduct[float64](c.d, c.n, c.src)
		assert.EqualError(t, err, c.want)
	}
}

func testSizes[T dense.Float](t *testing.T) {
	src := exprand.NewSource(1)
	for _, n := range []int{math.MaxInt, math.MaxInt/2 + 1, math.MaxInt/16 + 2} {
		p, err := givens.RandomProduct[T](8, n, src)
		require.ErrorContains(t, err, fmt.Sprintf("givens: d = 8, n = %d: ", n))
		assert.ErrorContains(t, err, " of memory, want at most ")
		assert.Nil(t, p)
	}
	p := must.Have(givens.RandomProduct[T](1<<24, 3, src))
	assert.Equal(t, 3, p.Len())
	assert.Panics(t, func() { p.Matrix() }, "2⁴⁸ elements")
}

func TestSizes(t *testing.T) {
	densetest.Both(t, testSizes[float32], testSizes[float64])
}

func TestTooManyDimensions(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("d is an int")
	}
	_, err := givens.RandomProduct[float32](math.MaxInt, 1, exprand.NewSource(1))
	assert.EqualError(t, err, fmt.Sprintf("givens: d = %d, want at most 2147483647", math.MaxInt))
}

func TestProductShapesPanic(t *testing.T) {
	p := random[float32](t, 3, 0, 1)
	assert.PanicsWithValue(t, "givens: dst has length 3 and x 4, want 3", func() { p.ApplyVec(nil, make([]float32, 4)) })
	assert.PanicsWithValue(t, "givens: dst has length 3 and x 2, want 3", func() { p.ApplyTransposedVec(nil, make([]float32, 2)) })
	assert.PanicsWithValue(t, "givens: x is 2×4, want n×3", func() { p.Apply(dense.Matrix[float32]{}, dense.New[float32](2, 4)) })
	assert.PanicsWithValue(t, "dense: destination is 1×3, want 2×3", func() { p.ApplyTransposed(dense.New[float32](1, 3), dense.New[float32](2, 3)) })
}

func TestVectorsDoNotAllocate(t *testing.T) {
	p, x := random[float64](t, 64, 0, 1), make([]float64, 64)
	assert.Zero(t, testing.AllocsPerRun(10, func() { p.ApplyVec(x, x); p.ApplyTransposedVec(x, x) }))
}
