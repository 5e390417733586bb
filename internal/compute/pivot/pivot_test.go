package pivot

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// explicit is a matrix whose elements are all there.
type explicit[T dense.Float] struct {
	m  dense.Matrix[T]
	at []int
}

func (e *explicit[T]) Fix(at []int) { e.at = slices.Clone(at) }

func (e *explicit[T]) Columns(dst dense.Matrix[T], rows []int) {
	for i, r := range rows {
		for j, c := range e.at {
			dst.Row(i)[j] = e.m.At(r, c)
		}
	}
}

// gaussian returns exp(−‖x_i − x_j‖²/2) for n random points of the given spread.
func gaussian[T dense.Float](seed uint64, n, d int, spread float64) *explicit[T] {
	x := densetest.Normal[float64](rand.New(rand.NewPCG(seed, 0)), n, d, 0, spread)
	m := dense.New[T](n, n)
	for i := range n {
		for j := range n {
			sum := 0.0
			for l, v := range x.Row(i) {
				sum += (v - x.At(j, l)) * (v - x.At(j, l))
			}
			m.Set(i, j, T(math.Exp(-sum/2)))
		}
	}
	return &explicit[T]{m: m}
}

func filled(n int, v float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	return x
}

// residual returns A without the projection on the columns at, by one elimination after another.
func residual[T dense.Float](a dense.Matrix[T], at []int) dense.Matrix[float64] {
	r := dense.Copy(dense.Matrix[float64]{}, a)
	for _, p := range at {
		column, pivot := make([]float64, r.Rows), r.At(p, p)
		for i := range column {
			column[i] = r.At(i, p)
		}
		for i := range r.Rows {
			for j := range r.Cols {
				r.Set(i, j, r.At(i, j)-column[i]*column[j]/pivot)
			}
		}
	}
	return r
}

// What is kept of the residual lies between the residual at the end and that when all of it was
// computed last.
func testBounds[T dense.Float](t *testing.T) {
	const n = 300
	for _, count := range []int{1, 5, 100} {
		a := gaussian[T](1, n, 3, 1)
		var c Chooser[T]
		at := slices.Clone(c.Choose(a, count, filled(n, 1), nil, filled(n, 1e-5), rand.New(rand.NewPCG(1, 2))))
		require.Len(t, at, count)
		distinct := slices.Clone(at)
		slices.Sort(distinct)
		require.Len(t, slices.Compact(distinct), count)
		require.Equal(t, count == 100, c.known > 0, "all of it is computed where it has fallen")
		// The rounding of a residual grows as that of sums of r squares, over √least.
		tolerance := 1e-5 + 300*densetest.Roundoff[T]()/math.Sqrt(1e-5)
		low, high := residual(a.m, at), residual(a.m, at[:c.known])
		for i, rest := range c.bounds {
			require.GreaterOrEqual(t, rest+tolerance, low.At(i, i), "%d of %d", i, count)
			require.LessOrEqual(t, rest, high.At(i, i)+tolerance, "%d of %d", i, count)
		}
		before := runtime.GOMAXPROCS(3)
		again := c.Choose(a, count, filled(n, 1), nil, filled(n, 1e-5), rand.New(rand.NewPCG(1, 2)))
		runtime.GOMAXPROCS(before)
		assert.Equal(t, at, again)
	}
}

func TestBounds(t *testing.T) { densetest.Both(t, testBounds[float32], testBounds[float64]) }

// A matrix of rank 7 has 7 pivots, whatever rounding leaves, and equal points have one.
func testRank[T dense.Float](t *testing.T) {
	const n, rank = 200, 7
	x := densetest.Normal[float64](rand.New(rand.NewPCG(3, 0)), n, rank, 0, 1)
	a, diagonal, least := &explicit[T]{m: dense.New[T](n, n)}, make([]float64, n), make([]float64, n)
	for i := range n {
		for j := range n {
			sum := 0.0
			for l, v := range x.Row(i) {
				sum += v * x.At(j, l)
			}
			a.m.Set(i, j, T(sum))
		}
		diagonal[i] = float64(a.m.At(i, i))
		least[i] = 1e4 * densetest.Roundoff[T]() * diagonal[i]
	}
	var c Chooser[T]
	assert.Len(t, c.Choose(a, 50, diagonal, nil, least, rand.New(rand.NewPCG(4, 0))), rank)
	for i := range a.m.Data {
		a.m.Data[i] = 1
	}
	assert.Len(t, c.Choose(a, 50, filled(n, 1), nil, filled(n, 1e-5), rand.New(rand.NewPCG(4, 0))), 1)
}

func TestRank(t *testing.T) { densetest.Both(t, testRank[float32], testRank[float64]) }

// shares returns what each row has of the weighted diagonal of a residual.
func shares(r dense.Matrix[float64], weights []float64) []float64 {
	p, total := make([]float64, r.Rows), 0.0
	for i := range p {
		p[i] = max(r.At(i, i), 0) * weights[i]
		total += p[i]
	}
	for i := range p {
		p[i] /= total
	}
	return p
}

// The first three pivots have the law of pivots drawn one by one, with weights, whether all of the
// residual is computed meanwhile or not. χ² over 59 degrees of freedom exceeds 122 by chance once
// in 10⁶. The law of draws without regard to the residual, which blocks without rejection have, is
// far off.
func TestLaw(t *testing.T) {
	const n, draws = 5, 60000
	weights := []float64{1, 3, 0.5, 2, 1}
	rng := rand.New(rand.NewPCG(6, 0))
	var c Chooser[float64]
	for _, x := range []struct {
		spread  float64
		settled float64 // the least share of draws that compute the residual again
	}{{0.7, 0.01}, {0.2, 0.4}} {
		a := gaussian[float64](5, n, 2, x.spread)
		counts, settled := map[[3]int]float64{}, 0.0
		for range draws {
			counts[[3]int(c.Choose(a, 3, filled(n, 1), weights, filled(n, 1e-12), rng))]++
			if c.known > 0 {
				settled++
			}
		}
		assert.Greater(t, settled, x.settled*draws)
		assert.Less(t, settled, 0.95*draws)
		first := shares(a.m, weights)
		right, wrong, cells := 0.0, 0.0, 0
		for i, p := range first {
			second := shares(residual(a.m, []int{i}), weights)
			for j, q := range second {
				if i == j {
					continue
				}
				for k, r := range shares(residual(a.m, []int{i, j}), weights) {
					if k == i || k == j {
						assert.Zero(t, counts[[3]int{i, j, k}])
						continue
					}
					cells++
					add := func(sum *float64, expected float64) {
						d := counts[[3]int{i, j, k}] - expected*draws
						*sum += d * d / (expected * draws)
					}
					add(&right, p*q*r)
					add(&wrong, p*first[j]/(1-p)*first[k]/(1-p-first[j]))
				}
			}
		}
		require.Equal(t, 60, cells)
		assert.Less(t, right, 122.0)
		assert.Greater(t, wrong, 1000.0)
	}
}

// Where each weight is 2³⁰ times the next, pivots come in the order of weights, but for those that
// are rounding: they are those of elimination one by one.
func testOrder[T dense.Float](t *testing.T) {
	const n, least = 30, 1e-3
	a := gaussian[T](11, n, 2, 1)
	weights := make([]float64, n)
	var want []int
	for i := range n {
		weights[i] = math.Exp2(float64(400 - 30*i))
		if residual(a.m, want).At(i, i) > least {
			want = append(want, i)
		}
	}
	require.Less(t, len(want), n-2)
	var c Chooser[T]
	assert.Equal(t, want, c.Choose(a, n, filled(n, 1), weights, filled(n, least), rand.New(rand.NewPCG(12, 0))))
}

func TestOrder(t *testing.T) { densetest.Both(t, testOrder[float32], testOrder[float64]) }

// A weight that is zero, negative or NaN keeps a column from being chosen, and so does a diagonal
// that is NaN. A matrix that is NaN but for its diagonal has one pivot.
func TestWeights(t *testing.T) {
	const n = 60
	a := gaussian[float64](7, n, 4, 1)
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = []float64{0, -1, math.NaN(), 2, 0.1}[i%5]
	}
	var c Chooser[float64]
	at := c.Choose(a, n, filled(n, 1), weights, filled(n, 1e-12), rand.New(rand.NewPCG(8, 0)))
	assert.Len(t, at, 2*n/5)
	for _, i := range at {
		assert.GreaterOrEqual(t, i%5, 3)
	}
	for i := range a.m.Data {
		a.m.Data[i] = math.NaN()
	}
	assert.Len(t, c.Choose(a, n, filled(n, 1), nil, filled(n, 1e-12), rand.New(rand.NewPCG(8, 0))), 1, "NaN")
	assert.Empty(t, c.Choose(a, n, filled(n, math.NaN()), nil, filled(n, 1e-12), rand.New(rand.NewPCG(8, 0))), "NaN")
}

func TestChooseAllocatesNothing(t *testing.T) {
	a := gaussian[float64](9, 100, 3, 1)
	g := &explicit[float64]{m: a.m, at: make([]int, 0, proposals)}
	var c Chooser[float64]
	diagonal, least, rng := filled(100, 1), filled(100, 1e-9), rand.New(rand.NewPCG(1, 0))
	run := func() { c.Choose(fixing{g}, 20, diagonal, nil, least, rng) }
	run()
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	assert.LessOrEqual(t, testing.AllocsPerRun(20, run), 1.0)
}

// fixing is an explicit matrix that keeps the memory of its columns.
type fixing struct{ *explicit[float64] }

func (f fixing) Fix(at []int) { f.at = append(f.at[:0], at...) }
