package planerot

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
)

// eachTier runs the tests of both types for every tier.
func eachTier(t *testing.T, f32, f64 func(t *testing.T)) {
	everyTier(t, func(t *testing.T) { bothTypes(t, f32, f64) })
}

// guarded returns n random rows of d elements with NaN before, between and after
// them.
func guarded[T Float](rng *rand.Rand, n, d, gap int) (dense.Matrix[T], []T) {
	const margin = 3
	all := make([]T, margin+n*(d+gap)+margin)
	for i := range all {
		all[i] = T(math.NaN())
	}
	r := dense.Matrix[T]{Rows: n, Cols: d, Data: all[margin : len(all)-margin], Stride: d + gap}
	for i := range n {
		for j := range d {
			r.Row(i)[j] = T(rng.NormFloat64())
		}
	}
	return r, all
}

// sameBits reports whether a and b have the same bits where they are not NaN in
// both.
func sameBits[T Float](a, b []T) bool {
	for i, v := range a {
		if v != v && b[i] != b[i] {
			continue
		}
		if v != b[i] || math.Signbit(float64(v)) != math.Signbit(float64(b[i])) {
			return false
		}
	}
	return len(a) == len(b)
}

// compare compares ApplyRows with Apply and ApplyInverse on every row, and what is
// around the rows with what was there, for a dst of its own and for dst = x.
func compare[T Float](t *testing.T, n, d int, gs []Turn[T], change func(x dense.Matrix[T])) {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	for _, inverse := range []bool{false, true} {
		x, inX := guarded[T](rng, n, d, 2)
		change(x)
		dst, inDst := guarded[T](rng, n, d, 5)
		wantX, wantDst := append([]T(nil), inX...), append([]T(nil), inDst...)
		ApplyRows(dst, x, gs, inverse)
		require.True(t, sameBits(wantX, inX), "x is only read: n = %d, d = %d", n, d)
		for i := range n {
			row := wantX[3+i*x.Stride:][:d]
			if inverse {
				ApplyInverse(row, gs)
			} else {
				Apply(row, gs)
			}
			copy(wantDst[3+i*dst.Stride:][:d], row)
		}
		require.True(t, sameBits(wantDst, inDst), "n = %d, d = %d, inverse %v", n, d, inverse)
		ApplyRows(x, x, gs, inverse)
		require.True(t, sameBits(wantX, inX), "in place: n = %d, d = %d, inverse %v", n, d, inverse)
	}
}

func keep[T Float](dense.Matrix[T]) {}

func testSizes[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	lanes := max(1, Group[T](1)/mostVectors)
	for d := 2; d <= 70; d++ {
		gs := turns[T](rng, d, 2*d)
		for n := range 2*lanes + 2 {
			compare(t, n, d, gs, keep[T])
		}
	}
	for _, n := range []int{3 * lanes, 4*lanes - 1, 4 * lanes, 4*lanes + 1, 4*lanes + 2, 9*lanes + 3} {
		for _, d := range []int{2, 15, 16, 17, 100, 255, 1024} {
			compare(t, n, d, turns[T](rng, d, 2*d), keep[T])
		}
	}
}

func TestSizes(t *testing.T) { eachTier(t, testSizes[float32], testSizes[float64]) }

// testFewTurns has lists about as long as those that are worth transposing for,
// and shorter ones.
func testFewTurns[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, d := range []int{2, 7, 8, 64} {
		for n := range d/transposing + 3 {
			compare(t, 19, d, turns[T](rng, d, n), keep[T])
		}
	}
	compare(t, 19, 1, nil, keep[T])
	compare(t, 19, 0, nil, keep[T])
}

func TestFewTurns(t *testing.T) { eachTier(t, testFewTurns[float32], testFewTurns[float64]) }

// testLongRows has rows for which a block has fewer vectors to a coordinate.
func testLongRows[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	bytes := 64 // of a vector
	if k := best[T](); k != nil {
		bytes = k.lanes * simd.Size[T]()
	}
	for _, d := range []int{blockBytes/bytes/2 + 3, blockBytes/bytes + 5} {
		n := Group[T](d) + 2
		if n > 3 {
			require.Less(t, n-2, Group[T](1))
		}
		compare(t, n, d, turns[T](rng, d, d/transposing+1), keep[T])
	}
}

func TestLongRows(t *testing.T) { eachTier(t, testLongRows[float32], testLongRows[float64]) }

// testNotFinite makes elements NaN, infinite, subnormal and −0. Rows that have
// none of them must have the bits that they have elsewhere.
func testNotFinite[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	smallest := math.SmallestNonzeroFloat64
	if simd.Size[T]() == 4 {
		smallest = math.SmallestNonzeroFloat32
	}
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), smallest, -3 * smallest, math.Copysign(0, -1)}
	const n, d = 70, 37
	for _, v := range odd {
		gs := turns[T](rng, d, 3*d)
		gs = append(gs, Turn[T]{0, 1, 1, 0}, Turn[T]{2, 1, -1, 0}, Turn[T]{3, 4, 0, 1})
		compare(t, n, d, gs, func(x dense.Matrix[T]) {
			for i := 0; i < n; i += 3 {
				row := x.Row(i)
				for j := range row {
					if rng.IntN(2) == 0 {
						row[j] = T(v)
					}
				}
			}
		})
	}
	for _, v := range odd[:3] {
		gs := turns[T](rng, d, 3*d)
		x, _ := guarded[T](rng, n, d, 0)
		before, _ := guarded[T](rng, n, d, 0)
		ApplyRows(before, x, gs, false)
		x.Row(33)[5] = T(v)
		after, _ := guarded[T](rng, n, d, 0)
		ApplyRows(after, x, gs, false)
		for i := range n {
			require.Equal(t, i != 33, sameBits(before.Row(i), after.Row(i)), "%v in row 33: row %d", v, i)
		}
	}
}

func TestNotFinite(t *testing.T) { eachTier(t, testNotFinite[float32], testNotFinite[float64]) }

func TestShortSlicesPanic(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		long, short := dense.Matrix[float32]{Rows: 4, Cols: 4, Data: make([]float32, 22), Stride: 6}, dense.Matrix[float32]{Rows: 4, Cols: 4, Data: make([]float32, 21, 30), Stride: 6}
		gs := turns[float32](rand.New(rand.NewPCG(1, 1)), 4, 9)
		const want = "dense: 21 elements cannot hold a 4×4 matrix of stride 6"
		assert.NotPanics(t, func() { ApplyRows(long, long, gs, false) })
		assert.PanicsWithValue(t, want, func() { ApplyRows(long, short, gs, false) })
		assert.PanicsWithValue(t, want, func() { ApplyRows(short, long, gs, false) })
		narrow := dense.Matrix[float32]{Rows: 4, Cols: 3, Data: make([]float32, 21), Stride: 6}
		assert.PanicsWithValue(t, "planerot: dst is 4×3, want 4×4, the shape of x", func() { ApplyRows(narrow, long, gs, false) })
	})
}

func testAllocations[T Float](t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	x, _ := guarded[T](rng, 100, 33, 0)
	gs := turns[T](rng, 33, 100)
	assert.Zero(t, testing.AllocsPerRun(20, func() { ApplyRows(x, x, gs, false) }))
}

func TestDoesNotAllocate(t *testing.T) {
	eachTier(t, testAllocations[float32], testAllocations[float64])
}
