package ard_test

import (
	"bytes"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/ard"
)

// columns are those that matter to four.
func columns(d int) [4]int { return [4]int{0, d / 3, d / 2, d - 1} }

// four returns n points of the unit cube of d columns and a function of four of them, of different
// scales: two are seen together alone. The noise is that of the targets.
func four[T dense.Float](n, d int, seed uint64, noise float64) (x, y dense.Matrix[T]) {
	rng, c := rand.New(rand.NewPCG(seed, 1)), columns(d)
	x, y = dense.New[T](n, d), dense.New[T](n, 1)
	for i := range n {
		u := make([]float64, d)
		for j := range u {
			u[j] = rng.Float64()
			x.Set(i, j, T(u[j]))
		}
		y.Set(i, 0, T(math.Sin(12*u[c[0]])+math.Sin(5*u[c[1]]*u[c[2]])+1.5*u[c[3]]+noise*rng.NormFloat64()))
	}
	return x, y
}

// gaussian returns the features of a Gaussian kernel of length-scale 1.
func gaussian[T dense.Float](t testing.TB, m, d int) rff.Map[T] {
	w := must.Have(orf.Draw[T](orf.GramSchmidt{}, m, d, rand.NewPCG(1, 2)))
	psi := must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, w))
	return psi
}

// rmse returns the root mean square of the errors of the means at other points.
func rmse[T dense.Float](m *ridge.Model[T], x, y dense.Matrix[T]) float64 {
	total := 0.0
	for i, v := range m.Mean(dense.Matrix[T]{}, x).Data {
		e := float64(v) - float64(y.Data[i])
		total += e * e
	}
	return math.Sqrt(total / float64(y.Rows))
}

func fit[T dense.Float](t testing.TB, psi rff.Map[T], x, y dense.Matrix[T], o ard.Options) *ard.Result[T] {
	t.Helper()
	r := must.Have(ard.Fit(t.Context(), psi, ridge.Block[T]{X: x, Y: y}, o, rand.NewPCG(1, 2)))
	return r
}

// oneScale returns the least error of models with one scale.
func oneScale[T dense.Float](t testing.TB, m int, x, y, xt, yt dense.Matrix[T]) float64 {
	w := must.Have(orf.Draw[T](orf.GramSchmidt{}, m, x.Cols, rand.NewPCG(1, 2)))
	least := math.Inf(1)
	for _, l := range []float64{0.25, 0.5, 1, 2, 4} {
		phi := must.Have(rff.Draw(rff.Gaussian{LengthScale: l}, w))
		model := must.Have(ridge.Fit(t.Context(), phi, ridge.Block[T]{X: x, Y: y}, ridge.Options{}))
		least = min(least, rmse(model, xt, yt))
	}
	return least
}

// The four of 20 columns are found, and errors come down to 1.1 times the noise, where one scale
// has more than three times the noise.
func testFour[T dense.Float](t *testing.T) {
	const d, noise = 20, 0.2
	x, y := four[T](1500, d, 1, noise)
	xt, yt := four[T](2000, d, 2, noise)
	var steps []ard.Step
	r := fit(t, gaussian[T](t, 100, d), x, y, ard.Options{Sample: 800, Progress: func(s ard.Step) { steps = append(steps, s) }})
	assert.Less(t, rmse(r.Model, xt, yt), 1.1*noise)
	assert.Greater(t, oneScale(t, 100, x, y, xt, yt), 3*noise)
	assert.InEpsilon(t, noise, math.Sqrt(r.Model.Noise()[0]), 0.1)

	least, most := math.Inf(1), 0.0
	found := columns(d)
	for j, v := range r.Relevance {
		if j == found[0] || j == found[1] || j == found[2] || j == found[3] {
			least = min(least, v)
			continue
		}
		most = max(most, v)
	}
	assert.Greater(t, least, 5*most, "%v", r.Relevance)
	for j, l := range r.Scales {
		assert.InEpsilon(t, math.Sqrt(1.0/12), r.Relevance[j]*l, 0.05)
	}

	last := ard.Step{LogEvidence: math.Inf(-1)}
	for _, s := range steps {
		if s.Iteration > 1 {
			require.Equal(t, [2]int{last.Rows, last.Start}, [2]int{s.Rows, s.Start})
			require.Equal(t, last.Iteration+1, s.Iteration)
			require.GreaterOrEqual(t, s.LogEvidence, last.LogEvidence)
		}
		last = s
	}
	assert.Equal(t, 800, steps[0].Rows)
	assert.Equal(t, 1500, last.Rows)
	assert.Equal(t, 1, last.Start, "the start that sees the sine of two periods")
	assert.GreaterOrEqual(t, r.Model.LogEvidence(), last.LogEvidence-1e-3)

	var file bytes.Buffer
	require.NoError(t, r.Model.Write(&file))
	again := must.Have(ridge.ReadModel[T](&file))
	mean, sd := r.Model.Predict(xt)
	mean2, sd2 := again.Predict(xt)
	assert.Equal(t, mean.Data, mean2.Data)
	assert.Equal(t, sd.Data, sd2.Data)
}

func TestFourOfTwentyColumns(t *testing.T) {
	densetest.Both(t, testFour[float32], testFour[float64])
}

// The result depends neither on processors nor on where the rows come from.
func testSame[T dense.Float](t *testing.T) {
	x, y := four[T](600, 6, 1, 0.1)
	psi := gaussian[T](t, 20, 6)
	want := fit(t, psi, x, y, ard.Options{Sample: 300})
	for _, processors := range []int{1, 5} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			got := fit(t, psi, x, y, ard.Options{Sample: 300})
			assert.Equal(t, want.Scales, got.Scales)
			assert.Equal(t, want.Model.LogEvidence(), got.Model.LogEvidence())
		}()
	}
}

func TestFitDoesNotDependOnProcessors(t *testing.T) {
	densetest.Both(t, testSame[float32], testSame[float64])
}

// Constant columns are left out, and columns that are there twice do as well as once.
func TestConstantAndEqualColumns(t *testing.T) {
	x, y := four[float64](500, 5, 1, 0.1)
	wide := dense.New[float64](x.Rows, 8)
	for i := range x.Rows {
		r := wide.Row(i)
		copy(r, x.Row(i))
		r[5], r[6], r[7] = x.At(i, 0), 0.1, 1e9
	}
	r := fit(t, gaussian[float64](t, 60, 8), wide, y, ard.Options{})
	assert.Zero(t, r.Relevance[6])
	assert.Zero(t, r.Relevance[7])
	assert.True(t, math.IsInf(r.Scales[6], 1))
	assert.InEpsilon(t, 0.1, math.Sqrt(r.Model.Noise()[0]), 0.25)
	assert.Greater(t, math.Hypot(r.Relevance[0], r.Relevance[5]), 0.5, "their relevance together")

	// Points to come may have other values there: nothing is known of them.
	z := wide.RowRange(0, 1).Clone()
	before := r.Model.Mean(dense.Matrix[float64]{}, z).At(0, 0)
	z.Row(0)[6] = 3
	assert.Equal(t, before, r.Model.Mean(dense.Matrix[float64]{}, z).At(0, 0))
}

// Outputs share scales; each has a noise of its own. Given variances stay as they are.
func TestOutputsAndGivenVariances(t *testing.T) {
	x, y := four[float64](500, 5, 1, 0.1)
	rng := rand.New(rand.NewPCG(7, 8))
	both := dense.New[float64](x.Rows, 2)
	for i := range x.Rows {
		both.Set(i, 0, y.At(i, 0))
		both.Set(i, 1, 100*math.Cos(3*x.At(i, 3))+10*rng.NormFloat64())
	}
	psi := gaussian[float64](t, 60, 5)
	r := fit(t, psi, x, both, ard.Options{})
	assert.InEpsilon(t, 0.1, math.Sqrt(r.Model.Noise()[0]), 0.6, "scales are those of both")
	assert.InEpsilon(t, 10, math.Sqrt(r.Model.Noise()[1]), 0.2)
	assert.Greater(t, r.Relevance[3], 0.05, "matters to the second output alone")

	most := fit(t, psi, x, y, ard.Options{})
	noise, prior := most.Model.Noise()[0], most.Model.Prior()[0]
	for _, o := range []ridge.Options{
		{Noise: noise}, {Prior: prior}, {Noise: noise, Prior: prior}, {Ratio: noise / prior}, {NoIntercept: true},
	} {
		r := fit(t, psi, x, y, ard.Options{Options: o})
		if o.Noise > 0 {
			assert.Equal(t, noise, r.Model.Noise()[0])
		}
		if o.Prior > 0 {
			assert.InEpsilon(t, prior, r.Model.Prior()[0], 1e-9)
		}
		if !o.NoIntercept {
			assert.InDelta(t, most.Model.LogEvidence(), r.Model.LogEvidence(), 4, "%+v", o)
		}
		assert.InEpsilon(t, 0.1, math.Sqrt(r.Model.Noise()[0]), 0.25, "%+v", o)
	}
}

// Rows of weight 0 count for nothing, and a row of weight 2 as much as two.
func TestWeights(t *testing.T) {
	x, y := four[float64](400, 5, 1, 0.1)
	psi := gaussian[float64](t, 30, 5)
	want := fit(t, psi, x.RowRange(0, 300), y.RowRange(0, 300), ard.Options{})
	weights := make([]float64, 400)
	for i := range 300 {
		weights[i] = 1
	}
	x.Set(350, 1, 1e6)
	got := must.Have(ard.Fit(t.Context(), psi, ridge.Block[float64]{X: x, Y: y, Weights: weights}, ard.Options{}, rand.NewPCG(1, 2)))
	assert.InEpsilon(t, want.Model.LogEvidence(), got.Model.LogEvidence(), 1e-3)
	assert.InEpsilon(t, want.Relevance[0], got.Relevance[0], 1e-2)
}

type blocks func(yield func(ridge.Block[float64], error) bool)

func (b blocks) Blocks() iter.Seq2[ridge.Block[float64], error] {
	return iter.Seq2[ridge.Block[float64], error](b)
}

func TestFitErrors(t *testing.T) {
	x, y := four[float64](100, 5, 1, 0.1)
	psi, src := gaussian[float64](t, 10, 5), rand.NewPCG(1, 2)
	rows := ridge.Block[float64]{X: x, Y: y}
	run := func(psi rff.Map[float64], rows ridge.Rows[float64], o ard.Options) error {
		r, err := ard.Fit(t.Context(), psi, rows, o, src)
		assert.Nil(t, r)
		return err
	}
	assert.EqualError(t, run(nil, rows, ard.Options{}), "ard: psi is nil, want a feature map")
	assert.EqualError(t, run(psi, nil, ard.Options{}), "ard: rows is nil, want data")
	_, err := ard.Fit(t.Context(), psi, rows, ard.Options{}, nil)
	assert.EqualError(t, err, "ard: src is nil, want a source of randomness")
	assert.EqualError(t, run(psi, rows, ard.Options{MaxIterations: -1}), "ard: MaxIterations = -1, want at least 0")
	assert.EqualError(t, run(psi, rows, ard.Options{Sample: -1}), "ard: Sample = -1, want at least 0")
	assert.ErrorContains(t, run(psi, rows, ard.Options{Options: ridge.Options{Noise: -1}}), "ridge: Noise = -1")
	assert.EqualError(t, run(gaussian[float64](t, 10, 4), rows, ard.Options{}), "ridge: x is 100×5, want 4 columns")
	assert.ErrorContains(t, run(psi, ridge.Block[float64]{X: x.RowRange(0, 1), Y: y.RowRange(0, 1)}, ard.Options{}), "ard: all 5 columns of the 1 rows are constant")
	assert.ErrorContains(t, run(psi, ridge.Block[float64]{X: x.RowRange(0, 0), Y: y.RowRange(0, 0)}, ard.Options{}), "ard: no rows")
	assert.ErrorContains(t, run(psi, ridge.Block[float64]{X: x, Y: densetest.Filled(100, 1, 3.0)}, ard.Options{}), "output 0 does not vary")
	two := ridge.Block[float64]{X: x.RowRange(0, 2), Y: y.RowRange(0, 2)}
	assert.NoError(t, func() error { _, err := ard.Fit(t.Context(), psi, two, ard.Options{}, src); return err }(), "two rows")

	bad := x.Clone()
	bad.Set(71, 2, math.NaN())
	assert.ErrorContains(t, run(psi, ridge.Block[float64]{X: bad, Y: y}, ard.Options{}), "ridge: x[71][2] = NaN")
	bad = y.Clone()
	bad.Set(5, 0, math.Inf(1))
	assert.ErrorContains(t, run(psi, ridge.Block[float64]{X: x, Y: bad}, ard.Options{}), "ridge: y[5][0] = +Inf")

	// Errors of rows end the search, whatever pass they come in.
	gone := errors.New("the disk is gone")
	for _, at := range []int{0, 1, 2, 9, 10} {
		passes := -1
		err := run(psi, blocks(func(yield func(ridge.Block[float64], error) bool) {
			if passes++; passes < at {
				yield(rows, nil)
				return
			}
			yield(ridge.Block[float64]{}, gone)
		}), ard.Options{Sample: 50})
		assert.ErrorIs(t, err, gone, "pass %d", at)
		assert.Equal(t, at, passes, "nothing is read after that")
	}
}
