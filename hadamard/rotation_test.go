package hadamard_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
)

// newRotation pads least, so that all kinds of orders are tested.
func newRotation[T dense.Float](t *testing.T, d, factors int, seed uint64) *hadamard.Rotation[T] {
	return must.Have(hadamard.NewRotation[T](d, hadamard.RotationOptions{Factors: factors, Order: hadamard.NextOrder(d)}, exprand.NewSource(seed)))
}

func norm[T dense.Float](x []T) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}

// tolerance bounds the error of k factors of order h·2^log on a vector of norm size: a factor has
// log additions, a scale and its rounding, and the error of every stage has a norm of at most ε
// times that of the vector. A core has h/4 + 2 additions to an element, each of which errs by at
// most ε·Σ|x| ≤ ε·√h·‖x‖ in units of the result.
func tolerance[T dense.Float](k, order int, size float64) float64 {
	roundings := math.Log2(float64(order)) + 2
	if order&(order-1) != 0 {
		h := float64(hadamard.CoreOrder(order))
		roundings += (h/4+2)*math.Sqrt(h) - math.Log2(h)
	}
	return float64(k) * roundings * densetest.Roundoff[T]() * size
}

func testRotation[T dense.Float](t *testing.T) {
	dims := []int{96, 100, 128, 768, 5120}
	for d := 1; d <= 70; d++ {
		dims = append(dims, d)
	}
	for _, d := range dims {
		for _, blocks := range []int{1, 2, 3, 4} {
			r := newRotation[T](t, d, blocks, uint64(d))
			in, out := r.Dims()
			require.Equal(t, d, in)
			require.Equal(t, hadamard.NextOrder(d), out, "d = %d", d)
			x := densetest.Gapped[T](uint64(blocks), 7, d)
			before := x.Clone()
			y := r.Apply(dense.Matrix[T]{}, x)
			require.Equal(t, [2]int{7, out}, [2]int{y.Rows, y.Cols})
			back := r.ApplyTransposed(dense.Matrix[T]{}, y)
			require.Equal(t, before, x.Clone(), "x is only read")
			for i := range x.Rows {
				size := norm(x.Row(i))
				tol := tolerance[T](blocks, out, size)
				require.InDelta(t, size, norm(y.Row(i)), tol, "d = %d k = %d: norm", d, blocks)
				for j := range d {
					require.InDelta(t, float64(x.At(i, j)), float64(back.At(i, j)), 2*tol, "d = %d k = %d: RᵀR = I", d, blocks)
				}
			}
			if d == out {
				z := x.Clone()
				r.Apply(z, z)
				assert.Equal(t, y.Clone(), z, "d = %d k = %d: Apply in place", d, blocks)
				r.ApplyTransposed(z, z)
				assert.Equal(t, back, z, "d = %d k = %d: ApplyTransposed in place", d, blocks)
			}
		}
	}
}

func TestRotation(t *testing.T) {
	densetest.Both(t, testRotation[float32], testRotation[float64])
}

// testDefinition multiplies the factors (1/√d')·H·D_i out, with the signs that the bits of the
// source say.
func testDefinition[T dense.Float](t *testing.T) {
	for _, c := range [][3]int{{6, 8, 3}, {10, 12, 1}, {12, 12, 2}, {42, 44, 3}} {
		definition[T](t, c[0], c[1], c[2])
	}
}

func definition[T dense.Float](t *testing.T, d, order, blocks int) {
	r := newRotation[T](t, d, blocks, 9)
	src := exprand.NewSource(9)
	h := hadamard.Matrix[float64](order)
	x := densetest.Gapped[T](1, 1, d)
	want := make([]float64, order)
	for j := range d {
		want[j] = float64(x.At(0, j))
	}
	for range blocks {
		word := src.Uint64()
		next := make([]float64, order)
		for i := range next {
			for j := range order {
				sign := 1 - 2*float64(word>>j&1)
				next[i] += h.At(i, j) * sign * want[j] / math.Sqrt(float64(order))
			}
		}
		want = next
	}
	got := r.Apply(dense.Matrix[T]{}, x)
	for i, v := range want {
		assert.InDelta(t, v, float64(got.At(0, i)), 2*tolerance[T](blocks, order, norm(x.Row(0))), "d = %d: element %d", d, i)
	}
}

func TestRotationIsTheProductOfItsFactors(t *testing.T) {
	densetest.Both(t, testDefinition[float32], testDefinition[float64])
}

func testRowsAlone[T dense.Float](t *testing.T) {
	const d = 101 // of order 104 = 52·2
	r := newRotation[T](t, d, 3, 2)
	x := densetest.Gapped[T](8, 1100, d)
	y := r.Apply(dense.Matrix[T]{}, x)
	back := r.ApplyTransposed(dense.Matrix[T]{}, y)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	assert.Equal(t, y, r.Apply(dense.Matrix[T]{}, x), "one processor")
	assert.Equal(t, back, r.ApplyTransposed(dense.Matrix[T]{}, y), "one processor")
	for _, i := range []int{0, 629, 630, 1099} {
		assert.Equal(t, y.Row(i), r.Apply(dense.Matrix[T]{}, x.RowRange(i, i+1)).Row(0), "row %d alone", i)
		assert.Equal(t, back.Row(i), r.ApplyTransposed(dense.Matrix[T]{}, y.RowRange(i, i+1)).Row(0), "row %d alone", i)
	}
}

func TestRotationRowsDoNotDependOnTheOthersNorOnProcessors(t *testing.T) {
	densetest.Both(t, testRowsAlone[float32], testRowsAlone[float64])
}

func testRotationNotFinite[T dense.Float](t *testing.T) {
	r := newRotation[T](t, 5, 3, 1)
	for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
		x := densetest.Gapped[T](2, 2, 5)
		x.Set(1, 4, T(bad))
		y := r.Apply(dense.Matrix[T]{}, x)
		back := r.ApplyTransposed(dense.Matrix[T]{}, y)
		for j := range 5 {
			assert.LessOrEqual(t, math.Abs(float64(back.At(0, j))), 100.0, "the other row")
			assert.False(t, math.Abs(float64(y.At(1, j))) <= math.MaxFloat64, "%v: element %d of R·x", bad, j)
			assert.False(t, math.Abs(float64(back.At(1, j))) <= math.MaxFloat64, "%v: element %d of RᵀR·x", bad, j)
		}
	}
}

func TestRotationNotFinite(t *testing.T) {
	densetest.Both(t, testRotationNotFinite[float32], testRotationNotFinite[float64])
}

// TestDefaultRotation: three factors of the order that is fast.
func TestDefaultRotation(t *testing.T) {
	for _, d := range []int{1, 7, 300, 700, 1000, 1500} {
		r := must.Have(hadamard.NewRotation[float64](d, hadamard.RotationOptions{}, exprand.NewSource(8)))
		in, out := r.Dims()
		assert.Equal(t, []int{d, hadamard.FastOrder(d)}, []int{in, out})
		same := must.Have(hadamard.NewRotation[float64](d, hadamard.RotationOptions{Factors: 3, Order: out}, exprand.NewSource(8)))
		x := densetest.Gapped[float64](2, 1, d)
		assert.Equal(t, same.Apply(dense.Matrix[float64]{}, x), r.Apply(dense.Matrix[float64]{}, x))
	}
}

func TestNewRotationErrors(t *testing.T) {
	src := exprand.NewSource(1)
	for _, c := range []struct {
		d    int
		opts hadamard.RotationOptions
		src  rand.Source
		want string
	}{
		{0, hadamard.RotationOptions{}, src, "hadamard: d = 0, want at least 1"},
		{-2, hadamard.RotationOptions{Order: 4}, src, "hadamard: d = -2, want at least 1"},
		{4, hadamard.RotationOptions{Factors: -1}, src, "hadamard: Factors = -1, want at least 1, or 0 for 3"},
		{4, hadamard.RotationOptions{}, nil, "hadamard: src is nil"},
		{9, hadamard.RotationOptions{Order: 8}, src, "hadamard: Order = 8, want at least d = 9"},
		{9, hadamard.RotationOptions{Order: -3}, src, "hadamard: Order = -3, want at least d = 9"},
		{9, hadamard.RotationOptions{Order: 10}, src,
			"hadamard: Order 10 is not the order of a Hadamard matrix known here, the next is 12"},
		{math.MaxInt, hadamard.RotationOptions{}, src,
			fmt.Sprintf("hadamard: d = %d, want one with an order ≥ d that fits in an int", math.MaxInt)},
	} {
		_, err := hadamard.NewRotation[float32](c.d, c.opts, c.src)
		assert.EqualError(t, err, c.want)
	}
}

func testSizes[T dense.Float](t *testing.T) {
	const most = math.MaxInt/2 + 1
	src := exprand.NewSource(1)
	for _, c := range []struct{ d, order, factors int }{
		{1, 1, math.MaxInt}, {16, 16, most}, {16, 16, most / 8}, {most, most, 1}, {3, most, 2}, {3, 1 << 26, 1 << 26},
	} {
		r, err := hadamard.NewRotation[T](c.d, hadamard.RotationOptions{Factors: c.factors, Order: c.order}, src)
		want := fmt.Sprintf("hadamard: d = %d, Order = %d, Factors = %d: ", c.d, c.order, c.factors)
		require.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, " of memory, want at most ")
		assert.Nil(t, r)
	}
	_, err := hadamard.NewRotation[T](most, hadamard.RotationOptions{}, src)
	assert.ErrorContains(t, err, fmt.Sprintf("hadamard: d = %d, ", most))
	assert.Panics(t, func() { hadamard.Matrix[T](1 << 30) })

	r := must.Have(hadamard.NewRotation[T](1<<20, hadamard.RotationOptions{Factors: 5}, src))
	in, _ := r.Dims()
	assert.Equal(t, 1<<20, in)
}

func TestSizes(t *testing.T) {
	densetest.Both(t, testSizes[float32], testSizes[float64])
}

func TestRotationDoesNotAllocate(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	for _, d := range []int{100, 768, 1000} {
		r := newRotation[float32](t, d, 3, 1)
		_, order := r.Dims()
		x, y := dense.New[float32](16, d), dense.New[float32](16, order)
		assert.Zero(t, testing.AllocsPerRun(10, func() {
			r.Apply(y, x)
			r.ApplyTransposed(x, y)
		}), "d = %d", d)
	}
}

func TestRotationShapesPanic(t *testing.T) {
	r := newRotation[float64](t, 5, 1, 1)
	assert.PanicsWithValue(t, "hadamard: x is 2×8, want n×5 for a rotation from R^5 into R^8",
		func() { r.Apply(dense.Matrix[float64]{}, dense.New[float64](2, 8)) })
	assert.PanicsWithValue(t, "hadamard: y is 2×5, want n×8 for a rotation from R^5 into R^8",
		func() { r.ApplyTransposed(dense.Matrix[float64]{}, dense.New[float64](2, 5)) })
	assert.PanicsWithValue(t, "dense: destination is 2×5, want 2×8",
		func() { r.Apply(dense.New[float64](2, 5), dense.New[float64](2, 5)) })
}
