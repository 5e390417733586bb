package validate_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
)

const (
	// lawDraws is the number of independent estimates with the accuracy of a comparison. 4000
	// estimates show an error of the mean of 4/√4000, 6 % of a standard deviation, and an error of
	// the mean squared error of 4√(2/4000), 9 %, or more for heavy tails. Each comparison logs its
	// standard error. Means of fewer draws than fewestDraws are not nearly normal.
	lawDraws    = 4000
	fewestDraws = 125
	// lawLimit bounds |z|. A correct estimate exceeds lawLimit once in 16,000 times, and once in
	// 9,000 with 125 draws. With other seeds one of the 2000 comparisons would fail with a
	// probability of 12 %, or more for heavy tails.
	lawLimit = 4
)

// law is the law of the estimates φ(x)ᵀφ(y) of maps with m frequencies.
type law struct {
	mean func(x, y []float64) float64        // nil: the kernel
	mse  func(x, y []float64, m int) float64 // nil: no law
}

// points has pairs of rows of x and y. Pair i belongs to group i modulo groups. All pairs of a
// group have the same law.
type points[T dense.Float] struct {
	x, y   dense.Matrix[T]
	groups int
}

// copies returns the number of pairs of a group.
func (p points[T]) copies() int { return p.x.Rows / p.groups }

// deviation is the distance of measurements from a law: the largest |z| over groups of the mean and
// of the mean squared error. squares is the |z| of the squares of the means at all pairs, which
// shows errors whose sign depends on the direction.
type deviation struct {
	mean, mse, squares float64
	ratios             []float64 // measured over exact mean squared error, for each group
	errors             []float64 // their standard errors
}

// deviate draws maps of m frequencies and compares mean and mean squared error of their
// estimates at the pairs with a law.
//
// The pairs of a group have the same frequencies. So each draw gives one number, the mean over the
// group of (estimate − mean)/√MSE or of (estimate − kernel)²/MSE. The standard error of this number
// over draws is right for dependent pairs. Pairs in orthogonal planes are nearly independent, so
// that half of the draws at twice the pairs have the same standard error.
func deviate[T dense.Float](t *testing.T, draw validate.Draw[T], l law, m int, p points[T], draws int, seed uint64) deviation {
	t.Helper()
	n, exact := p.x.Rows, func(p dense.Matrix[T]) dense.Matrix[float64] { return dense.Copy(dense.Matrix[float64]{}, p) }
	px, py := exact(p.x), exact(p.y)
	first := must.Have(draw(exprand.NewSource(seed)))
	truth, means, mses := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		truth[i] = first.Kernel().Eval(px.Row(i), py.Row(i))
		means[i], mses[i] = truth[i], 1
		if l.mean != nil {
			means[i] = l.mean(px.Row(i), py.Row(i))
		}
		if l.mse != nil {
			mses[i] = l.mse(px.Row(i), py.Row(i), m)
		}
	}
	estimates, sizes := dense.New[float64](draws, n), dense.New[float64](draws, n)
	faults := make([]error, draws)
	parallel.Rows(draws, 50, func(from, to int) {
		var fx, fy dense.Matrix[T] // for all of these draws
		for k := from; k < to; k++ {
			var m rff.Map[T]
			if m, faults[k] = draw(rand.NewPCG(uint64(k), seed)); faults[k] != nil {
				continue
			}
			fx, fy = m.Transform(fx, p.x), rff.Keys(m).Transform(fy, p.y)
			for i := range n {
				x, y, sum, size := fx.Row(i), fy.Row(i), 0.0, 0.0
				for l, v := range x {
					term := float64(v) * float64(y[l])
					sum += term
					size += math.Abs(term)
				}
				estimates.Set(k, i, sum)
				sizes.Set(k, i, size)
			}
		}
	})
	require.NoError(t, errors.Join(faults...))

	var d deviation
	numbers := make([]float64, draws)
	z := func(number func(k int) float64, rounding float64) (z, mean, stdErr float64) {
		for k := range numbers {
			numbers[k] = number(k)
		}
		mean, variance := stat.MeanVariance(numbers, nil)
		stdErr = math.Sqrt(variance / float64(draws))
		return math.Abs(mean) / math.Hypot(stdErr, rounding), mean, stdErr
	}
	// rounding bounds the rounding error of a mean, as validate.PairErrors.Rounding does.
	rounding := func(i int) float64 {
		var size float64
		for k := range draws {
			size += sizes.At(k, i) / float64(draws)
		}
		return 4 * epsilonOf[T]() * size / math.Sqrt(mses[i])
	}
	d.squares = squares(estimates, means, mses, l.mse != nil, func(i int) float64 { return rounding(i) * math.Sqrt(mses[i]) })
	for g := range p.groups {
		off := 0.0
		for i := g; i < n; i += p.groups {
			off += rounding(i) / float64(p.copies())
		}
		at, _, _ := z(func(k int) float64 {
			var sum float64
			for i := g; i < n; i += p.groups {
				sum += (estimates.At(k, i) - means[i]) / math.Sqrt(mses[i])
			}
			return sum / float64(p.copies())
		}, off)
		d.mean = math.Max(d.mean, at)
		if l.mse == nil {
			continue
		}
		at, ratio, stdErr := z(func(k int) float64 {
			var sum float64
			for i := g; i < n; i += p.groups {
				e := estimates.At(k, i) - truth[i]
				sum += e*e/mses[i] - 1
			}
			return sum / float64(p.copies())
		}, 0)
		d.mse = math.Max(d.mse, at)
		d.ratios, d.errors = append(d.ratios, 1+ratio), append(d.errors, stdErr)
	}
	return d
}

// squares returns z for the sum X of the squares of n means over draws, in units of their standard
// errors, by the law if it is known. The expectation of X is n, and its variance is 2·Σ r_ij² for
// the correlations r of estimates at two pairs. nX/Σ r_ij² is nearly χ² with ν = n²/Σ r_ij² degrees
// of freedom, and the third root of χ² is nearly normal [Wilson & Hilferty 1931].
func squares(estimates dense.Matrix[float64], means, mses []float64, known bool, rounding func(i int) float64) float64 {
	draws, n := estimates.Rows, estimates.Cols
	centred := dense.New[float64](n, draws)
	var sum, correlations float64
	for i := range n {
		row := centred.Row(i)
		for k := range row {
			row[k] = estimates.At(k, i)
		}
		mean, variance := stat.MeanVariance(row, nil)
		floats.AddConst(-mean, row)
		size := math.Sqrt(mses[i])
		if !known {
			size = math.Sqrt(variance)
		}
		off := (mean - means[i]) / math.Hypot(size/math.Sqrt(float64(draws)), rounding(i))
		sum += off * off
		if norm := floats.Norm(row, 2); norm > 0 {
			floats.Scale(1/norm, row)
		}
		for j := range i + 1 {
			r := floats.Dot(row, centred.Row(j))
			correlations += r * r
			if j < i {
				correlations += r * r
			}
		}
	}
	ninth := 2 * correlations / float64(9*n*n) // 2/(9ν)
	return (math.Cbrt(sum/float64(n)) - (1 - ninth)) / math.Sqrt(ninth)
}

const (
	// agreementDraws is the number of maps of float32 that are compared with maps of float64.
	agreementDraws = 24
	// agreementLimit bounds the difference of estimates over ε·‖φ(x)‖·‖φ(y)‖. The difference is
	// about 2 in most cases, and 350 for frequencies with heavy tails. The limit is 10⁻⁴ of
	// ‖φ(x)‖·‖φ(y)‖, while the laws show 5 % of a standard deviation.
	agreementLimit = 1000
)

// agree draws maps of float32 and of float64 from the same sources. Their estimates agree up to
// rounding, so that the estimates of float32 follow the law of float64. One estimate in a thousand
// may differ more, because its features are on different sides of a jump.
func agree(t *testing.T, narrow validate.Draw[float32], wide validate.Draw[float64], p points[float32], seed uint64, at string) {
	t.Helper()
	exact := func(p dense.Matrix[float32]) dense.Matrix[float64] { return dense.Copy(dense.Matrix[float64]{}, p) }
	px, py := exact(p.x), exact(p.y)
	differences, sizes := dense.New[float64](agreementDraws, p.x.Rows), make([]float64, p.x.Rows)
	for k := range agreementDraws {
		f := must.Have(narrow(rand.NewPCG(uint64(k), seed)))
		g := must.Have(wide(rand.NewPCG(uint64(k), seed)))
		fx, fy := exact(f.Transform(dense.Matrix[float32]{}, p.x)), exact(rff.Keys(f).Transform(dense.Matrix[float32]{}, p.y))
		gx, gy := g.Transform(dense.Matrix[float64]{}, px), rff.Keys(g).Transform(dense.Matrix[float64]{}, py)
		require.Equal(t, gx.Cols, fx.Cols)
		for i := range p.x.Rows {
			differences.Set(k, i, math.Abs(floats.Dot(fx.Row(i), fy.Row(i))-floats.Dot(gx.Row(i), gy.Row(i))))
			sizes[i] += floats.Norm(gx.Row(i), 2) * floats.Norm(gy.Row(i), 2) / agreementDraws
		}
	}
	for i, size := range sizes {
		for k := range agreementDraws {
			if off := differences.At(k, i); off != 0 {
				differences.Set(k, i, off/(epsilonOf[float32]()*size))
			}
		}
	}
	require.False(t, floats.HasNaN(differences.Data))
	slices.Sort(differences.Data)
	most := differences.Data[len(differences.Data)-1-len(differences.Data)/1000]
	t.Logf("%s: float32 differs by %.2f", at, most)
	assert.Less(t, most, float64(agreementLimit), "float32 and float64, %s", at)
}

// check logs the deviation and fails if it is too large.
func (d deviation) check(t *testing.T, at string) {
	t.Helper()
	t.Logf("%s: |z| of mean %.2f, of MSE %.2f, z of squares %.2f; measured over exact MSE %.3f ± %.3f", at, d.mean, d.mse, d.squares, d.ratios, d.errors)
	assert.Less(t, d.mean, float64(lawLimit), "mean, %s", at)
	assert.Less(t, d.mse, float64(lawLimit), "mean squared error, %s", at)
	assert.Less(t, d.squares, float64(lawLimit), "squares of means, %s", at)
}

// epsilonOf returns the ε of T.
func epsilonOf[T dense.Float]() float64 { return 2 * densetest.Roundoff[T]() }

// theoryKnows checks that Theory has the law, or none, for a map at a pair of each group.
func theoryKnows[T dense.Float](t *testing.T, draw validate.Draw[T], l law, m int, points points[T]) {
	t.Helper()
	drawn := must.Have(draw(exprand.NewSource(1)))
	px, py := dense.Copy(dense.Matrix[float64]{}, points.x), dense.Copy(dense.Matrix[float64]{}, points.y)
	for i := range points.groups {
		p := validate.Theory(drawn, nil, px.Row(i), py.Row(i))
		if l.mse == nil {
			require.True(t, math.IsNaN(p.MSE), "%v", p)
			require.Empty(t, p.Law)
			continue
		}
		require.NotEmpty(t, p.Law)
		// Maps of float32 are fitted to rounded points.
		tolerance := 1e-9
		if T(1)+0x1p-30 == 1 {
			tolerance = 1e-5
		}
		require.InEpsilon(t, l.mse(px.Row(i), py.Row(i), m), p.MSE, tolerance, "%v", p)
		mean := drawn.Kernel().Eval(px.Row(i), py.Row(i))
		if l.mean != nil {
			mean = l.mean(px.Row(i), py.Row(i))
		}
		require.InDelta(t, mean, p.Mean, tolerance*(1+math.Abs(mean)), "%v", p)
	}
}
