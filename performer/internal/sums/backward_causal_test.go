package sums

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// Batches of any number of chunks give the same bits on both ways, whole chunks and
// split ones.
func TestGradientWindowsDoNotMatter(t *testing.T) {
	densetest.Both(t, testGradientWindows[float32], testGradientWindows[float64])
}

func testGradientWindows[T dense.Float](t *testing.T) {
	const n, d = 700, 4
	rng := rand.New(source(241))
	plain := densetest.Normal[T](rng, n, d, 0, 1)
	growing, shrinking, spoilt := plain.Clone(), plain.Clone(), plain.Clone()
	for i := range n {
		for j := range d {
			growing.Row(i)[j] *= T(i) / 20
			shrinking.Row(i)[j] *= T(n-i) / 20
		}
	}
	spoilt.Set(333, 1, T(math.NaN()))
	v, dout := densetest.Normal[T](rng, n, 3, 0, 1), densetest.Normal[T](rng, n, 3, 0, 1)
	for _, plainSums := range []bool{false, true} {
		for _, m := range differentiable[T](d, plainSums) {
			for name, x := range map[string]dense.Matrix[T]{"plain": plain, "growing": growing, "shrinking": shrinking, "NaN": spoilt} {
				in := func(window int) Gradients[T] {
					g := Gradients[T]{DQ: dense.New[T](n, d), DK: dense.New[T](n, d), DV: dense.New[T](n, 3), Q: x, K: x, V: v, DOut: dout}
					m.causalBackward(window, &g, nil, nil)
					return g
				}
				want := in(1)
				for _, window := range []int{2, 3, 7, blocksOf(n)} {
					got := in(window)
					require.True(t, densetest.Identical(want.DQ, got.DQ) && densetest.Identical(want.DK, got.DK) && densetest.Identical(want.DV, got.DV),
						"%s, unnormalised %v, %s: windows of %d", m.name, plainSums, name, window)
				}
			}
		}
	}
}

// A growing reference does split chunks in the test above, from either end.
func TestGradientChunksAreSplit(t *testing.T) {
	x := dense.New[float64](130, 1)
	for i := range 130 {
		x.Data[i] = 100 * float64(i)
	}
	shrinking := x.Clone()
	for i := range 130 {
		shrinking.Data[i] = 12900 - x.Data[i]
	}
	e := logarithmsOf(1, 1.0, true)
	for _, purpose := range []purpose{forQueries, forKeys} {
		s := &causal[float64]{e: e, purpose: purpose, Gradients: Gradients[float64]{Q: x, K: x, V: x, DOut: x}}
		back := s.back()
		if back {
			s.Q = shrinking
		}
		s.prepare(4)
		for g := range 3 {
			s.load(g)
		}
		// 250·ln 2 = 173.3: two rows fit, the third is 200 above the first.
		require.Equal(t, 8, s.cut(0), "four chunks of two rows")
		for i, c := range s.batch {
			want := [2]int{2 * i, 2*i + 2}
			if back && i == 0 {
				want = [2]int{0, 2} // the last block has two rows
			} else if back {
				want = [2]int{64 - 2*i, 66 - 2*i}
			}
			assert.Equal(t, want, [2]int{c.from, c.to}, "back = %v, chunk %d", back, i)
		}
		assert.Equal(t, []logscale.Change{{Feature: 0, From: 578, To: 722}, {Feature: 0, From: 722, To: 866}}, s.batch[3].before)
	}
}

func TestUpperTriangle(t *testing.T) {
	rng := rand.New(source(242))
	for _, shape := range [][2]int{{8, 8}, {13, 13}, {32, 32}, {32, 64}, {4, 11}} {
		rows, n := shape[0], shape[1]
		s, x := densetest.Normal[float64](rng, rows, n, 0, 1), densetest.Normal[float64](rng, n, 5, 0, 1)
		fast, slow := densetest.Filled(rows, 5, 7.0), densetest.Filled(rows, 5, 8.0)
		mulTriangle(fast, s.Clone(), x, true)
		for i := range rows {
			for c := range 5 {
				want := 0.0
				for j := i; j < n; j++ {
					want += s.At(i, j) * x.At(j, c)
				}
				require.InDelta(t, want, fast.At(i, c), 1e-13)
			}
		}
		at := min(7, rows-1)
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			x.Set(at, 0, bad)
			mulTriangle(slow, s.Clone(), x, true)
			require.True(t, densetest.Identical(fast.RowRange(at+1, rows), slow.RowRange(at+1, rows)), "%d×%d", rows, n)
			require.True(t, densetest.Identical(fast.ColRange(1, 5), slow.ColRange(1, 5)), "%d×%d", rows, n)
			for i := range at + 1 {
				assert.False(t, layout.Finite(slow.RowRange(i, i+1).ColRange(0, 1)), "row %d of %d×%d", i, rows, n)
			}
		}
	}
}
