package performer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/rff"
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
	for _, m := range append(positiveMaps[T](d), namedMap[T]{"relu", reLU[T](d)}, namedMap[T]{"log relu", logReLU[T](d)}) {
		for _, opts := range forms[2:] {
			a := attention(m.Map, opts)
			for name, in := range map[string][2]dense.Matrix[T]{
				"plain": {plain, values}, "growing": {growing, values}, "NaN in values": {plain, spoiltValues}, "NaN in keys": {spoilt, values},
			} {
				x, v := in[0], in[1]
				want := dense.New[T](n, 3)
				a.causal(1, want, x, x, v, nil)
				for _, window := range []int{2, 3, 7, blocksOf(n)} {
					got := dense.New[T](n, 3)
					a.causal(window, got, x, x, v, nil)
					require.True(t, densetest.Identical(want, got), "%s %+v %s: windows of %d", m.name, opts, name, window)
				}
			}
		}
	}
	assert.Equal(t, []int{1, 2, 8, 64}, []int{windowOf(5000, 1), windowOf(65, 2), windowOf(5000, 2), windowOf(1<<20, 100)})
}

// A growing reference does split chunks in the test above.
func TestChunksAreSplit(t *testing.T) {
	steps := logRowMap[float64]{rowMap[float64]{in: 1, out: 1, row: func(phi, x []float64) { phi[0] = 100 * x[0] }}}
	x := dense.New[float64](130, 1)
	for i := range 130 {
		x.Data[i] = float64(i)
	}
	a := attention[float64](steps, Options{Causal: true})
	c := &causal[float64]{a: a, gradients: gradients[float64]{q: x, k: x, v: x}}
	c.prepare(4)
	for g := range 3 {
		c.load(g)
	}
	// 250·ln 2 = 173.3: two rows fit, the third is 200 above the first.
	require.Equal(t, 8, c.cut(0), "four chunks of two rows")
	for i, ch := range c.batch {
		assert.Equal(t, [2]int{2 * i, 2*i + 2}, [2]int{ch.from, ch.to})
	}
	assert.Equal(t, []change{{0, 578, 722}, {0, 722, 866}}, c.batch[3].before, "⌈400/ln 2⌉ = 578, ⌈500/ln 2⌉ = 722, ⌈600/ln 2⌉ = 866")
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
		require.True(t, finite(fast))
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

// The sign of a zero is a bit too. Here all that rows from 257 on add up is −0, of
// products that underflow and of negative zeros, with what comes from rows far before
// as well. Zeros of the future would make it +0.
func TestSignOfZeroInThePast(t *testing.T) {
	densetest.Both(t, testSignOfZero[float32], testSignOfZero[float64])
}

func testSignOfZero[T dense.Float](t *testing.T) {
	const n, near, at = 300, 256, 290
	tiny := T(math.SmallestNonzeroFloat32)
	if small := math.SmallestNonzeroFloat64; densetest.Roundoff[T]() < 0x1p-50 {
		tiny = T(small)
	}
	v := densetest.Filled[T](n, 1, T(math.Copysign(0, -1)))
	v.Data[0], v.Data[near] = -tiny, -tiny

	// Weights 0.16, of sums that are −tiny; or e^(−10) and, for what is before, e^(−9).
	q, k := densetest.Filled[T](n, 1, 0.4), densetest.Filled[T](n, 1, 0.4)
	k.Data[0] = 1
	ones, steps := densetest.Filled[T](n, 1, 1), densetest.Filled[T](n, 1, 10)
	for j := range near {
		steps.Data[j] = 0.5
	}
	steps.Data[0], steps.Data[near] = 1, 0
	for _, o := range forms[2:] {
		for _, c := range []struct {
			form Form[T]
			q, k dense.Matrix[T]
		}{
			{attention[T](must(rff.Identity[T](1)), o), q, k},
			{Exact[T]{Scale: 1, Causal: true, Unnormalised: o.Unnormalised}, ones, steps},
		} {
			want := c.form.Forward(dense.Matrix[T]{}, c.q, c.k, v)
			require.Zero(t, want.Data[at-1])
			for _, future := range []float64{0, 1, -1, math.NaN(), math.Inf(1)} {
				changed := v.Clone()
				for i := at; i < n; i++ {
					changed.Data[i] = T(future)
				}
				got := c.form.Forward(dense.Matrix[T]{}, c.q, c.k, changed)
				assert.True(t, densetest.Identical(want.RowRange(0, at), got.RowRange(0, at)), "%T, future %v", c.form, future)
			}
		}
	}
}
