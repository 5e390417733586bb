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

// Batches of any number of chunks give the same bits, whole chunks and split ones,
// with numbers and without.
func TestWindowsDoNotMatter(t *testing.T) {
	densetest.Both(t, testWindows[float32], testWindows[float64])
}

func testWindows[T dense.Float](t *testing.T) {
	const n, d = 700, 4
	rng := rand.New(source(90))
	plain := densetest.Normal[T](rng, n, d, 0, 1)
	growing, spoilt := plain.Clone(), plain.Clone()
	for i := range n {
		for j := range d {
			growing.Row(i)[j] *= T(i) / 20
		}
	}
	spoilt.Set(333, 1, T(math.NaN()))
	spoilt.Set(500, 2, T(math.Inf(1)))
	values := densetest.Normal[T](rng, n, 3, 0, 1)
	spoiltValues := values.Clone()
	spoiltValues.Set(130, 0, T(math.Inf(-1)))
	spoiltValues.Set(400, 2, T(math.NaN()))
	for _, plainSums := range []bool{false, true} {
		for _, m := range append(differentiable[T](d, plainSums), named[T]{"relu", rectified[T](d, false, plainSums)}, named[T]{"log relu", rectified[T](d, true, plainSums)}) {
			for name, in := range map[string][2]dense.Matrix[T]{
				"plain": {plain, values}, "growing": {growing, values}, "NaN in values": {plain, spoiltValues}, "NaN in keys": {spoilt, values},
			} {
				x, v := in[0], in[1]
				want := dense.New[T](n, 3)
				m.causal(1, want, x, x, v, nil)
				for _, window := range []int{2, 3, 7, blocksOf(n)} {
					got := dense.New[T](n, 3)
					m.causal(window, got, x, x, v, nil)
					require.True(t, densetest.Identical(want, got), "%s, unnormalised %v, %s: windows of %d", m.name, plainSums, name, window)
				}
			}
		}
	}
	assert.Equal(t, []int{1, 2, 8, 64}, []int{windowOf(5000, 1), windowOf(65, 2), windowOf(5000, 2), windowOf(1<<20, 100)})
}

// A growing reference does split chunks in the test above.
func TestChunksAreSplit(t *testing.T) {
	x := dense.New[float64](130, 1)
	for i := range 130 {
		x.Data[i] = float64(i)
	}
	c := &causal[float64]{e: logarithmsOf(1, 100.0, false), Gradients: Gradients[float64]{Q: x, K: x, V: x}}
	c.prepare(4)
	for g := range 3 {
		c.load(g)
	}
	// 250·ln 2 = 173.3: two rows fit, the third is 200 above the first.
	require.Equal(t, 8, c.cut(0), "four chunks of two rows")
	for i, ch := range c.batch {
		assert.Equal(t, [2]int{2 * i, 2*i + 2}, [2]int{ch.from, ch.to})
	}
	assert.Equal(t, []logscale.Change{{Feature: 0, From: 578, To: 722}, {Feature: 0, From: 722, To: 866}}, c.batch[3].before, "⌈400/ln 2⌉ = 578, ⌈500/ln 2⌉ = 722, ⌈600/ln 2⌉ = 866")
	assert.Equal(t, [2]int{0, 0}, [2]int{c.first, c.last})
}

// A product with zeros above the diagonal, and a product for each row when a value is
// not finite, have the same sums: those of the rows before it keep their bits, but for
// the sign of a zero, and what is not finite reaches its own row and those after it.
func TestLowerTriangle(t *testing.T) {
	densetest.Both(t, testLowerTriangle[float32], testLowerTriangle[float64])
}

func testLowerTriangle[T dense.Float](t *testing.T) {
	rng := rand.New(source(91))
	for _, shape := range [][2]int{{8, 8}, {13, 13}, {32, 32}, {33, 33}, {4, 11}, {32, 64}} {
		rows, n := shape[0], shape[1]
		first := n - rows
		s, x := densetest.Normal[T](rng, rows, n, 0, 1), densetest.Normal[T](rng, n, 5, 0, 1)
		for i := range n {
			x.Row(i)[3] = T(math.Copysign(0, -1))
			x.Row(i)[4] = -T(math.SmallestNonzeroFloat32)
		}
		for i := range rows {
			s.Row(i)[0] = T(1e-30)
		}
		fast, slow := densetest.Filled[T](rows, 5, 7), densetest.Filled[T](rows, 5, 8)
		mulTriangle(fast, s.Clone(), x, false)
		require.True(t, layout.Finite(fast))
		at := first + min(7, rows-1)
		for _, bad := range []T{T(math.NaN()), T(math.Inf(1)), T(math.Inf(-1))} {
			x.Set(at, 0, bad)
			s.Set(0, at, T(math.Inf(1)))
			mulTriangle(slow, s.Clone(), x, false)
			require.True(t, densetest.Identical(fast.RowRange(0, at-first), slow.RowRange(0, at-first)), "%d×%d", rows, n)
			require.True(t, densetest.Identical(fast.ColRange(1, 5), slow.ColRange(1, 5)), "%d×%d", rows, n)
			for i := at - first; i < rows; i++ {
				y := slow.At(i, 0)
				assert.True(t, y-y != 0, "row %d of %d×%d: %v", i, rows, n, y)
			}
		}
	}
}
