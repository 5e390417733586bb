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

func (e *explicit[T]) Columns(dst dense.Matrix[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		for j, c := range e.at {
			dst.Row(i - lo)[j] = e.m.At(i, c)
		}
	}
}

func (e *explicit[T]) Square(dst dense.Matrix[T]) {
	for i, r := range e.at {
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

func testResidual[T dense.Float](t *testing.T) {
	const n = 300
	for _, count := range []int{1, 5, 100} {
		a := gaussian[T](1, n, 3, 1)
		var c Chooser[T]
		at := slices.Clone(c.Choose(a, count, filled(n, 1), nil, filled(n, 1e-5), rand.New(rand.NewPCG(1, 2))))
		require.Len(t, at, count)
		distinct := slices.Clone(at)
		slices.Sort(distinct)
		require.Len(t, slices.Compact(distinct), count)
		want := residual(a.m, at)
		// The rounding of a residual grows as that of sums of r squares, over √least.
		tolerance := 1e-5 + 300*densetest.Roundoff[T]()/math.Sqrt(1e-5)
		for i, rest := range c.Residual() {
			require.InDelta(t, want.At(i, i), rest, tolerance, "%d of %d", i, count)
		}
		before := runtime.GOMAXPROCS(3)
		again := c.Choose(a, count, filled(n, 1), nil, filled(n, 1e-5), rand.New(rand.NewPCG(1, 2)))
		runtime.GOMAXPROCS(before)
		assert.Equal(t, at, again)
	}
}

func TestResidual(t *testing.T) { densetest.Both(t, testResidual[float32], testResidual[float64]) }

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

// Pairs of the first two pivots have the law of pivots drawn one by one, with weights. χ² over 19
// degrees of freedom exceeds 65 by chance once in 10⁶. The law of two draws without regard to the
// residual, which blocks without rejection have, is far off.
func TestLaw(t *testing.T) {
	const n, draws = 5, 40000
	a := gaussian[float64](5, n, 2, 0.7)
	weights := []float64{1, 3, 0.5, 2, 1}
	share := func(r dense.Matrix[float64]) []float64 {
		p, total := make([]float64, n), 0.0
		for i := range p {
			p[i] = max(r.At(i, i), 0) * weights[i]
			total += p[i]
		}
		for i := range p {
			p[i] /= total
		}
		return p
	}
	counts := map[[2]int]float64{}
	rng := rand.New(rand.NewPCG(6, 0))
	var c Chooser[float64]
	for range draws {
		at := c.Choose(a, 2, filled(n, 1), weights, filled(n, 1e-12), rng)
		counts[[2]int(at)]++
	}
	first := share(a.m)
	right, wrong := 0.0, 0.0
	for i, p := range first {
		second := share(residual(a.m, []int{i}))
		for j := range n {
			if i == j {
				assert.Zero(t, counts[[2]int{i, j}])
				continue
			}
			add := func(sum *float64, expected float64) {
				d := counts[[2]int{i, j}] - expected*draws
				*sum += d * d / (expected * draws)
			}
			add(&right, p*second[j])
			add(&wrong, p*first[j]/(1-p))
		}
	}
	assert.Less(t, right, 65.0)
	assert.Greater(t, wrong, 1000.0)
}

// A weight that is zero, negative or NaN keeps a column from being chosen, and so does a matrix
// that is NaN.
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
	assert.Empty(t, c.Choose(a, n, filled(n, 1), nil, filled(n, 1e-12), rand.New(rand.NewPCG(8, 0))), "NaN")
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
