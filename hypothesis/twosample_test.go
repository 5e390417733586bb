package hypothesis_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hypothesis"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// mmd returns the biased and the unbiased estimate from the Gram matrix of both samples [Gretton et
// al. 2012].
func mmd(k kernels.Kernel, x, y dense.Matrix[float64]) (biased, unbiased float64) {
	all := pool(x, y)
	gram := kernels.Gram(dense.Matrix[float64]{}, k, all, all)
	m, n := float64(x.Rows), float64(y.Rows)
	for i := range all.Rows {
		for j, v := range gram.Row(i) {
			switch {
			case i < x.Rows && j < x.Rows:
				biased += v / (m * m)
				if i != j {
					unbiased += v / (m * (m - 1))
				}
			case i >= x.Rows && j >= x.Rows:
				biased += v / (n * n)
				if i != j {
					unbiased += v / (n * (n - 1))
				}
			default:
				biased -= v / (m * n)
				unbiased -= v / (m * n)
			}
		}
	}
	return biased, unbiased
}

// Both estimates equal the estimates from the Gram matrix, for all sizes of cells and for merged
// cells.
func TestTwoSampleEstimates(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testTwoSampleEstimates[float32](t, 1e-5) })
	t.Run("type=float64", func(t *testing.T) { testTwoSampleEstimates[float64](t, 1e-11) })
}

func testTwoSampleEstimates[T dense.Float](t *testing.T, tolerance float64) {
	const d = 3
	src := rand.NewPCG(1, 2)
	rng := rand.New(src)
	phi := must.Have(rff.Draw[T](rff.Quadratic{D: d}, nil))
	for _, c := range [][2]int{{2, 2}, {40, 300}, {90, 500}} {
		x, y := sample[T](rng, c[0], d, gauss), sample[T](rng, c[1], d, gauss)
		for i := range y.Data {
			y.Data[i] = 1.5*y.Data[i] + 3
		}
		biased, unbiased := mmd(phi.Kernel(), dense.Copy(dense.Matrix[float64]{}, x), dense.Copy(dense.Matrix[float64]{}, y))
		want := must.Have(hypothesis.TwoSample(t.Context(), phi, x, y, hypothesis.Options{Draws: 99, Cells: 64}, src))
		assert.InDelta(t, biased, want.Statistic, tolerance*(1+biased))
		assert.InDelta(t, unbiased, want.Unbiased, tolerance*(1+biased))
		if c[0] == 2 {
			continue
		}
		assert.Equal(t, 0.01, want.P)
		for _, size := range []int{1, 3, 7} {
			cells := func(x dense.Matrix[T], parts, most int) *hypothesis.Cells[T] {
				all := must.Have(hypothesis.NewCells(phi, size, most))
				for i := range parts {
					lo, hi := i*x.Rows/parts, (i+1)*x.Rows/parts
					if i == 0 {
						require.NoError(t, all.Add(x.RowRange(lo, hi), src))
						continue
					}
					part := must.Have(hypothesis.NewCells(phi, size, most))
					require.NoError(t, part.Add(x.RowRange(lo, hi), src))
					require.NoError(t, all.Merge(part))
				}
				assert.Equal(t, x.Rows, all.Rows())
				assert.LessOrEqual(t, all.Count(), most)
				return all
			}
			got := must.Have(hypothesis.Compare(t.Context(), cells(x, 2, 1000), cells(y, 3, 50), 99, src))
			assert.InDelta(t, biased, got.Statistic, tolerance*(1+biased))
			assert.InDelta(t, unbiased, got.Unbiased, tolerance*(1+biased))
			assert.Equal(t, 0.01, got.P)
		}
	}
}

// All permutations are equally likely: the p-value of 4 and 3 rows approaches the p-value over all
// 35 divisions, with ties, with a standard error of √(p(1−p)/B).
func TestAllPermutations(t *testing.T) {
	const draws = 20000
	phi := must.Have(rff.Draw[float64](rff.Identity{D: 1}, nil))
	rows := []float64{0.3, 0.9, 2, 2, -1, 0.3, 2}
	x, y := dense.Of(4, 1, rows[:4]), dense.Of(3, 1, rows[4:])
	distance := func(chosen int) float64 {
		var sums [2]float64
		for i, v := range rows {
			sums[chosen>>i&1] += v
		}
		return math.Abs(sums[1]/4 - sums[0]/3)
	}
	all, least := 0.0, 0.0
	for chosen := range 1 << 7 {
		ones := 0
		for i := range 7 {
			ones += chosen >> i & 1
		}
		if ones == 4 {
			all++
			if distance(chosen) >= distance(15)-1e-12 {
				least++
			}
		}
	}
	require.Equal(t, 35.0, all)
	p := least / all
	got := must.Have(hypothesis.TwoSample(t.Context(), phi, x, y, hypothesis.Options{Draws: draws}, rand.NewPCG(1, 2)))
	assert.InDelta(t, p, got.P, 4*math.Sqrt(p*(1-p)/draws), "all permutations: %v", p)
	assert.Equal(t, draws, got.Draws)
}

// The test is valid for sorted rows, because Add shuffles them.
func TestSortedRows(t *testing.T) {
	src := rand.NewPCG(5, 6)
	rng := rand.New(src)
	runs := repetitions(100)
	ps := make([]float64, runs)
	phi := gaussian[float64](8, 1, 1, src)
	for r := range ps {
		x, y := sample[float64](rng, 300, 1, gauss), sample[float64](rng, 300, 1, gauss)
		sortColumn(x)
		sortColumn(y)
		got := must.Have(hypothesis.TwoSample(t.Context(), phi, x, y, hypothesis.Options{Draws: 49, Cells: 64}, src))
		ps[r] = got.P
	}
	_, apart := kolmogorov(ps, 49)
	assert.LessOrEqual(t, apart, bound(runs))
}

// The test rejects far too often for dependent rows, because they are not exchangeable. The bound
// of the tests of uniform p-values shows this. The test is valid again with cells of consecutive
// rows, one call of Add for each cell, that are long compared with the dependence.
func TestDependentRowsBreakTheTest(t *testing.T) {
	src := rand.NewPCG(7, 8)
	rng := rand.New(src)
	phi := gaussian[float64](16, 1, 1, src)
	const runs, n, length = 100, 1600, 50
	series := func() dense.Matrix[float64] {
		x := sample[float64](rng, n, 1, gauss)
		for i := 1; i < n; i++ {
			x.Data[i] = 0.8*x.Data[i-1] + 0.6*x.Data[i]
		}
		return x
	}
	var single, blocks []float64
	for range runs {
		x, y := series(), series()
		got := must.Have(hypothesis.TwoSample(t.Context(), phi, x, y, hypothesis.Options{Draws: 49}, src))
		single = append(single, got.P)
		var cells [2]*hypothesis.Cells[float64]
		for i, s := range []dense.Matrix[float64]{x, y} {
			cells[i] = must.Have(hypothesis.NewCells(phi, length, n))
			for lo := 0; lo < n; lo += length {
				require.NoError(t, cells[i].Add(s.RowRange(lo, lo+length), src))
			}
		}
		got = must.Have(hypothesis.Compare(t.Context(), cells[0], cells[1], 49, src))
		blocks = append(blocks, got.P)
	}
	above, _ := kolmogorov(single, 49)
	t.Logf("single rows %.3f above", above)
	assert.Greater(t, above, bound(runs))
	above, _ = kolmogorov(blocks, 49)
	t.Logf("blocks %.3f above", above)
	assert.LessOrEqual(t, above, bound(runs))
}

// The result has the same bits on one processor.
func TestProcessors(t *testing.T) {
	both := func() [3]hypothesis.Result {
		src := rand.NewPCG(9, 10)
		rng := rand.New(src)
		x, y := sample[float32](rng, 700, 2, gauss), sample[float32](rng, 700, 2, cauchy)
		phi, psi := gaussian[float32](20, 2, 1, src), gaussian[float32](20, 2, 3, src)
		var all [3]hypothesis.Result
		var err error
		all[0], err = hypothesis.TwoSample(t.Context(), phi, x, y, hypothesis.Options{Draws: 99}, src)
		require.NoError(t, err)
		for i, cells := range []int{100, 1024} {
			all[1+i], err = hypothesis.Independence(t.Context(), phi, psi, x, y, hypothesis.Options{Draws: 99, Cells: cells}, src)
			require.NoError(t, err)
		}
		return all
	}
	want := both()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	assert.Equal(t, want, both())
}

// If all rows are equal, all permutations tie, also for rows far from 0.
func TestEqualRows(t *testing.T) {
	src := rand.NewPCG(1, 2)
	for _, v := range []float64{0, 0.1, 1e7 / 3.0} {
		x, y := dense.New[float64](30, 2), dense.New[float64](200, 2)
		for _, m := range []dense.Matrix[float64]{x, y} {
			for i := range m.Data {
				m.Data[i] = v
			}
		}
		phi := must.Have(rff.Draw[float64](rff.Identity{D: 2}, nil))
		for _, cells := range []int{64, 1024} {
			got := must.Have(hypothesis.TwoSample(t.Context(), phi, x, y, hypothesis.Options{Cells: cells}, src))
			assert.Equal(t, 1.0, got.P)
			assert.InDelta(t, 0, got.Statistic, 1e-15*v*v)
			got = must.Have(hypothesis.Independence(t.Context(), phi, phi, y, y, hypothesis.Options{Cells: cells, Draws: 99}, src))
			assert.Equal(t, 1.0, got.P)
		}
	}
}

func TestErrors(t *testing.T) {
	src := rand.NewPCG(1, 2)
	rng := rand.New(src)
	phi := must.Have(rff.Draw[float64](rff.Identity{D: 2}, nil))
	x := sample[float64](rng, 20, 2, gauss)
	two := func(phi rff.Map[float64], x, y dense.Matrix[float64], o hypothesis.Options, src rand.Source, want string) {
		t.Helper()
		_, err := hypothesis.TwoSample(t.Context(), phi, x, y, o, src)
		assert.EqualError(t, err, want)
	}
	bad := x.Clone()
	bad.Set(3, 1, math.NaN())
	huge := x.Clone()
	for i := range huge.Data {
		huge.Data[i] *= 1e200
	}
	none := hypothesis.Options{}
	two(nil, x, x, none, src, "hypothesis: phi is nil, want a feature map")
	two(phi, x, x, none, nil, "hypothesis: src is nil, want a source of randomness")
	two(phi, x.ColRange(0, 1), x, none, src, "hypothesis: x is 20×1, want 2 columns")
	two(phi, x, x.RowRange(0, 1), none, src, "hypothesis: y has 1 rows, want at least 2")
	two(phi, x, bad, none, src, "hypothesis: y[3][1] = NaN, want a finite number")
	two(phi, x, huge, none, src, "hypothesis: the estimate without bias is NaN, want a finite number: scale the rows so that squares of features do not overflow")
	_, err := hypothesis.TwoSample(t.Context(), must.Have(rff.Draw[float64](rff.Quadratic{D: 2}, nil)), x, huge, none, src)
	assert.ErrorContains(t, err, "of y is +Inf, want a finite number: scale the rows")
	two(phi, x, x, hypothesis.Options{Draws: -1}, src, fmt.Sprintf("hypothesis: Options.Draws = -1, want 1 to %d, or 0 for 999", limit.Repeats))
	two(phi, x, x, hypothesis.Options{Cells: 63}, src, fmt.Sprintf("hypothesis: Options.Cells = 63, want 64 to %d, or 0 for 1024", limit.Repeats))

	both := func(psi rff.Map[float64], x, y dense.Matrix[float64], want string) {
		t.Helper()
		_, err := hypothesis.Independence(t.Context(), phi, psi, x, y, none, src)
		assert.EqualError(t, err, want)
	}
	both(nil, x, x, "hypothesis: psi is nil, want a feature map")
	both(phi, x, x.RowRange(0, 19), "hypothesis: x has 20 rows and y 19, want the same number, at least 4")
	both(phi, x.RowRange(0, 3), x.RowRange(0, 3), "hypothesis: x has 3 rows and y 3, want the same number, at least 4")
	both(phi, x, bad, "hypothesis: y[3][1] = NaN, want a finite number")
	_, err = hypothesis.Independence(t.Context(), must.Have(rff.Draw[float64](rff.Quadratic{D: 2}, nil)), phi, huge, x, none, src)
	assert.EqualError(t, err, "hypothesis: feature 0 of row 0 of x is +Inf, want a finite number: scale the rows")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = hypothesis.TwoSample(ctx, phi, x, x, none, src)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = hypothesis.Independence(ctx, phi, phi, x, x, none, src)
	assert.ErrorIs(t, err, context.Canceled)
	assert.PanicsWithValue(t, "hypothesis: ctx is nil", func() {
		_, _ = hypothesis.TwoSample(context.Context(nil), phi, x, x, none, src)
	})
}

// P does not depend on the unit of the rows, for powers of two from the smallest to the largest
// numbers. The estimates are proportional to the square of the unit, or to its fourth power, in the
// range of float64.
func TestUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	phi := must.Have(rff.Draw[float64](rff.Identity{D: 2}, nil))
	x := sample[float64](rng, 80, 2, gauss)
	y := sample[float64](rng, 80, 2, gauss)
	for i, v := range x.Data {
		y.Data[i] = 0.4*v + y.Data[i] + 0.3
	}
	in := func(m dense.Matrix[float64], e int) dense.Matrix[float64] {
		m = m.Clone()
		for i, v := range m.Data {
			m.Data[i] = math.Ldexp(v, e)
		}
		return m
	}
	for _, cells := range []int{64, 1024} {
		o := hypothesis.Options{Draws: 199, Cells: cells}
		two := must.Have(hypothesis.TwoSample(t.Context(), phi, x, y, o, rand.NewPCG(1, 2)))
		both := must.Have(hypothesis.Independence(t.Context(), phi, phi, x, y, o, rand.NewPCG(1, 2)))
		require.Less(t, both.P, 0.1)
		for _, e := range []int{-1000, -500, -200, 200, 500, 1000} {
			got := must.Have(hypothesis.Independence(t.Context(), phi, phi, in(x, e), in(y, e), o, rand.NewPCG(1, 2)))
			want := hypothesis.Result{P: both.P, Draws: 199, Statistic: math.Ldexp(both.Statistic, 4*e), Unbiased: math.Ldexp(both.Unbiased, 4*e)}
			assert.Equal(t, want, got, "e = %d", e)
			got, err := hypothesis.TwoSample(t.Context(), phi, in(x, e), in(y, e), o, rand.NewPCG(1, 2))
			if e > 500 {
				assert.ErrorContains(t, err, "scale the rows")
				continue
			}
			require.NoError(t, err)
			assert.Equal(t, two.P, got.P, "e = %d", e)
			assert.InDelta(t, math.Ldexp(two.Statistic, 2*e), got.Statistic, math.Ldexp(1e-12, 2*e))
		}
	}
}

func TestCellsErrors(t *testing.T) {
	src := rand.NewPCG(1, 2)
	phi := must.Have(rff.Draw[float64](rff.Identity{D: 2}, nil))
	_, err := hypothesis.NewCells(phi, 0, 10)
	assert.ErrorContains(t, err, "hypothesis: size = 0 rows of a cell, want 1 to")
	_, err = hypothesis.NewCells(phi, 1, 0)
	assert.EqualError(t, err, "hypothesis: maxCells = 0, want at least 1")
	_, err = hypothesis.NewCells[float64](nil, 1, 1)
	assert.EqualError(t, err, "hypothesis: phi is nil, want a feature map")
	c := must.Have(hypothesis.NewCells(phi, 5, 10))
	x := sample[float64](rand.New(src), 4, 2, gauss)
	require.NoError(t, c.Add(x, src))
	assert.EqualError(t, c.Merge(must.Have(hypothesis.NewCells(phi, 4, 10))), "hypothesis: other has 4 rows in a cell, want 5")
	other := must.Have(hypothesis.NewCells(gaussian[float64](1, 2, 1, src), 5, 10))
	assert.ErrorContains(t, c.Merge(other), "the features differ")
	zero := new(hypothesis.Cells[float64])
	for _, err := range []error{zero.Add(x, src), zero.Merge(c), c.Merge(zero), c.Merge(nil)} {
		assert.EqualError(t, err, "hypothesis: the Cells are zero, want those of NewCells")
	}
	_, err = hypothesis.Compare(t.Context(), c, c, 9, src)
	assert.EqualError(t, err, "hypothesis: x has 4 rows in 0 whole cells, want at least 2 in 1")
	_, err = hypothesis.Compare(t.Context(), c, nil, 9, src)
	assert.EqualError(t, err, "hypothesis: the Cells are zero, want those of NewCells")
}
