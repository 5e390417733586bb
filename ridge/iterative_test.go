package ridge_test

import (
	"bytes"
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
)

// hadamard returns 2m features of a Gaussian kernel of points of d columns.
func hadamard[T dense.Float](t testing.TB, m, d int, lengthScale float64) rff.Map[T] {
	t.Helper()
	w := must.Have(orf.Draw[T](orf.Hadamard{}, m, d, rand.NewPCG(1, 2)))
	phi := must.Have(rff.Draw(rff.Gaussian{LengthScale: lengthScale}, w))
	return phi
}

// surface returns n points of the unit cube of d columns and two targets, about the given level.
func surface[T dense.Float](n, d int, noise, level float64, seed uint64) ridge.Block[T] {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := ridge.Block[T]{X: dense.New[T](n, d), Y: dense.New[T](n, 2), Weights: make([]T, n)}
	for i := range n {
		for j := range d {
			b.X.Set(i, j, T(rng.Float64()))
		}
		u, v := float64(b.X.At(i, 0)), float64(b.X.At(i, d-1))
		b.Y.Set(i, 0, T(level+math.Sin(6*u)*v+noise*rng.NormFloat64()))
		b.Y.Set(i, 1, T(level+3*math.Cos(4*u+v)+noise*rng.NormFloat64()))
		b.Weights[i] = T(1 + i%3)
	}
	return b
}

// distance returns the largest root of a mean square of the differences of columns, in units of the
// spread of those of y.
func distance[T dense.Float](a, b, y dense.Matrix[T]) float64 {
	largest := 0.0
	for j := range a.Cols {
		var sum, mean, squares float64
		for i := range a.Rows {
			e := float64(a.At(i, j)) - float64(b.At(i, j))
			sum += e * e
			mean += float64(y.At(i, j)) / float64(y.Rows)
		}
		for i := range y.Rows {
			e := float64(y.At(i, j)) - mean
			squares += e * e / float64(y.Rows)
		}
		largest = max(largest, math.Sqrt(sum/float64(a.Rows)/squares))
	}
	return largest
}

// solve fits with the direct solution, and by conjugate gradients.
func solve[T dense.Float](t *testing.T, phi rff.Map[T], rows ridge.Block[T], o ridge.Options, with ridge.Iterative, seed uint64) (direct, got *ridge.Model[T], err error) {
	t.Helper()
	direct = must.Have(sumOf(t, phi, rows.X, rows.Y, rows.Weights).Fit(t.Context(), o))
	with.Src = rand.NewPCG(seed, 4)
	o.Iterative = &with
	got, err = ridge.Fit(t.Context(), phi, rows, o)
	return direct, got, err
}

var given = ridge.Options{Noise: 0.01, Prior: 1}

// Predictions are those of the direct solution to the tolerance, for both types, whatever the rows
// are, and the bound bounds the error at the rows.
func TestIterativeIsTheDirectSolution(t *testing.T) {
	densetest.Both(t, testDirect[float32], testDirect[float64])
}

func testDirect[T dense.Float](t *testing.T) {
	const n, d = 400, 4
	phi := hadamard[T](t, 40, d, 0.7)
	plain := surface[T](n, d, 0.1, 0, 1)
	unweighted := plain
	unweighted.Weights = nil
	for name, c := range map[string]struct {
		phi  rff.Map[T]
		rows ridge.Block[T]
		o    ridge.Options
		with ridge.Iterative
	}{
		"weights":          {phi, plain, given, ridge.Iterative{}},
		"no weights":       {phi, unweighted, given, ridge.Iterative{}},
		"no intercept":     {phi, plain, ridge.Options{Noise: 0.01, Prior: 1, NoIntercept: true}, ridge.Iterative{}},
		"high targets":     {phi, surface[T](n, d, 0.1, 1000, 1), given, ridge.Iterative{}},
		"high features":    {raised[T]{phi, 10}, plain, given, ridge.Iterative{}},
		"more features":    {phi, plain.RowRange(0, 90), given, ridge.Iterative{}},
		"fewer than rank":  {phi, plain.RowRange(0, 20), given, ridge.Iterative{Rank: 64}},
		"no sketch":        {phi, plain, ridge.Options{Noise: 1, Prior: 1}, ridge.Iterative{Rank: -1}},
		"full rank":        {phi, plain, given, ridge.Iterative{Rank: 1000}},
		"little noise":     {phi, plain, ridge.Options{Noise: 1e-6, Prior: 1}, ridge.Iterative{Rank: 100}},
		"tight":            {phi, plain, given, ridge.Iterative{Tolerance: 1e-8}},
		"few samples":      {phi, plain, given, ridge.Iterative{Samples: 3}},
		"ratio":            {phi, plain, ridge.Options{Ratio: 0.1}, ridge.Iterative{}},
		"evidence":         {phi, plain, ridge.Options{}, ridge.Iterative{}},
		"one row":          {phi, plain.RowRange(0, 1), given, ridge.Iterative{}},
		"constant targets": {phi, ridge.Block[T]{X: plain.X, Y: densetest.Filled(n, 2, T(3))}, given, ridge.Iterative{}},
	} {
		t.Run(name, func(t *testing.T) {
			direct, m, err := solve(t, c.phi, c.rows, c.o, c.with, 3)
			require.NoError(t, err)
			tolerance := c.with.Tolerance
			if tolerance == 0 {
				tolerance = 1e-4
			}
			z := surface[T](150, d, 0, 0, 2)
			level := math.Abs(float64(c.rows.Y.At(0, 0)))
			none := dense.Matrix[T]{}
			assert.Less(t, distance(m.Mean(none, z.X), direct.Mean(none, z.X), z.Y), tolerance+8*densetest.Roundoff[T]()*(1+level), "at other points")
			assert.InEpsilonSlice(t, direct.Noise(), m.Noise(), 1e-4)
			assert.InEpsilonSlice(t, direct.Prior(), m.Prior(), 1e-4)
			a := m.Accuracy()
			assert.Len(t, a.Bound, 2)
			assert.Equal(t, max(c.with.Samples, 15*(1-min(c.with.Samples, 1))), a.Samples)
		})
	}
}

// The evidence is within four of its standard errors of that of the direct solution, and standard
// errors are those of the errors. With 40 samples each |z| has a false-alarm probability of 0.0003,
// and the mean of 20 squares is above 3.2 with less than 10⁻⁴. Evidence that leaves out the
// preconditioner is caught.
func TestEvidenceHasItsStandardError(t *testing.T) {
	densetest.Both(t, testEvidence[float32], testEvidence[float64])
}

func testEvidence[T dense.Float](t *testing.T) {
	const seeds, samples = 20, 40
	phi := hadamard[T](t, 40, 3, 0.7)
	all := surface[T](160, 3, 0.1, 5, 1)
	for _, c := range []struct {
		n int
		o ridge.Options
	}{{160, given}, {160, ridge.Options{Ratio: 0.05, NoIntercept: true}}, {60, ridge.Options{Ratio: 0.02}}} {
		rows, weight := all.RowRange(0, c.n), 0.0
		for _, w := range rows.Weights {
			weight += float64(w)
		}
		sum, squares, fault := 0.0, 0.0, 0.0
		for seed := range uint64(seeds) {
			direct, m, err := solve(t, phi, rows, c.o, ridge.Iterative{Samples: samples, Rank: 8}, seed)
			require.NoError(t, err)
			se := m.Accuracy().LogEvidence
			z := (m.LogEvidence() - direct.LogEvidence()) / se
			assert.Less(t, math.Abs(z), 4.0, "seed %d: %v ± %v, want %v", seed, m.LogEvidence(), se, direct.LogEvidence())
			sum += z / math.Sqrt(seeds)
			squares += z * z / seeds
			fault += (z - math.Log(weight)/se) / math.Sqrt(seeds)
		}
		assert.Less(t, math.Abs(sum), 4.0, "no bias")
		assert.Greater(t, math.Abs(fault), 4.0, "an evidence without log Σω shows")
		assert.InDelta(t, 1.6, squares, 1.6, "standard errors are those of the errors")
	}
}

// Variances of samples have the relative standard error √(2/S), and no bias: over all rows and
// seeds the mean ratio to the exact variance is 1. Its standard error is √(2/(S·seeds)) where all
// rows err alike, and the bound is four of them. Variances that are a fifth too small are caught.
// One row, drawn functions, errors of leave-one-out and degrees of freedom come from the same
// samples.
func TestPosteriorHasItsStandardError(t *testing.T) {
	densetest.Both(t, testPosterior[float32], testPosterior[float64])
}

func testPosterior[T dense.Float](t *testing.T) {
	const seeds, samples = 10, 100
	phi := hadamard[T](t, 40, 3, 0.7)
	rows, z := surface[T](200, 3, 0.1, 5, 1), surface[T](60, 3, 0, 0, 2)
	o := ridge.Options{Noise: 0.04, Prior: 1}
	none := dense.Matrix[T]{}
	total, squares, degrees := 0.0, 0.0, 0.0
	for seed := range uint64(seeds) {
		direct, m, err := solve(t, phi, rows, o, ridge.Iterative{Samples: samples}, seed)
		require.NoError(t, err)
		_, exact := direct.Posterior(z.X)
		_, sd := m.Posterior(z.X)
		for i, v := range sd.Data {
			e := float64(v) / float64(exact.Data[i])
			total += e * e / float64(seeds*len(sd.Data))
			squares += (e - 1) * (e - 1) / float64(seeds*len(sd.Data))
		}
		_, target := direct.Predict(z.X)
		_, sd = m.Predict(z.X)
		for i, v := range sd.Data {
			assert.InDelta(t, 1, float64(v)/float64(target.Data[i]), 0.2)
		}
		_, one := m.Predict(z.X.RowRange(7, 8))
		assert.InEpsilon(t, float64(sd.At(7, 1)), float64(one.At(0, 1)), 1e-6)
		degrees += (m.DegreesOfFreedom() - direct.DegreesOfFreedom()) / seeds

		f := must.Have(m.Sample(400, 1, rand.NewPCG(1, 2)))
		values, spread := f.Eval(none, z.X), 0.0
		_, own := m.Posterior(z.X)
		mean := m.Mean(none, z.X)
		for i := range z.X.Rows {
			for _, v := range values.Row(i) {
				e := float64(v-mean.At(i, 1)) / float64(own.At(i, 1))
				spread += e * e / float64(len(values.Data))
			}
		}
		// Functions vary as a χ² of at least 400 degrees of freedom, if all points vary alike.
		assert.InDelta(t, 1, spread, 4*math.Sqrt(2.0/400))

		errs := must.Have(m.LeaveOneOut(none, rows.X, rows.Y, rows.Weights))
		want := must.Have(direct.LeaveOneOut(none, rows.X, rows.Y, rows.Weights))
		// h is at most 0.5 here, and its relative error five standard errors.
		for i, e := range errs.Data {
			assert.InDelta(t, float64(want.Data[i]), float64(e), 1e-3+math.Abs(float64(want.Data[i]))*5*math.Sqrt(2.0/samples))
		}
	}
	bound := 4 * math.Sqrt(2.0/(samples*seeds))
	assert.InDelta(t, 1, total, bound)
	assert.Greater(t, math.Abs(0.8*total-1), bound, "a fault of a fifth shows")
	assert.InDelta(t, 1/math.Sqrt(2*samples), math.Sqrt(squares), 0.5/math.Sqrt(2*samples))
	// λ·‖x‖² has a variance of at most 2D.
	assert.InDelta(t, 0, degrees, 4*math.Sqrt(2*80.0/(samples*seeds)))
}

// λ that 256 of 1000 features choose loses some units of the evidence of all features, where a λ
// ten times as large or as small loses more.
func TestRatioOfManyFeatures(t *testing.T) {
	densetest.Both(t, testRatioOfManyFeatures[float32], testRatioOfManyFeatures[float64])
}

func testRatioOfManyFeatures[T dense.Float](t *testing.T) {
	rows, phi := surface[T](300, 3, 0.3, 5, 1), hadamard[T](t, 500, 3, 0.7)
	ratio := must.Have(ridge.ChooseRatio(t.Context(), phi, ridge.Rows[T](rows), ridge.Options{}, 256))
	sums := sumOf(t, phi, rows.X, rows.Y, rows.Weights)
	evidence := func(ratio float64) float64 {
		m := must.Have(sums.Fit(t.Context(), ridge.Options{Ratio: ratio}))
		return m.LogEvidence()
	}
	direct := must.Have(sums.Fit(t.Context(), ridge.Options{}))
	assert.Less(t, direct.LogEvidence()-evidence(ratio), 2.0)
	assert.Greater(t, direct.LogEvidence()-evidence(10*ratio), 10.0)
	assert.Greater(t, direct.LogEvidence()-evidence(ratio/10), 5.0)
}

// Nothing depends on GOMAXPROCS, and a file has all of a model.
func TestIterativeProcessors(t *testing.T) {
	densetest.Both(t, testIterativeProcessors[float32], testIterativeProcessors[float64])
}

func testIterativeProcessors[T dense.Float](t *testing.T) {
	phi, rows := hadamard[T](t, 40, 5, 1), surface[T](520, 5, 0.1, 5, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want []byte
	for _, n := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(n)
		_, m, err := solve(t, phi, rows, ridge.Options{}, ridge.Iterative{Samples: 2, Tolerance: 1e-3}, 1)
		require.NoError(t, err)
		file := fileOf(t, m)
		if want == nil {
			want = file
		}
		assert.True(t, bytes.Equal(want, file), "%d processors", n)
		again := reread(t, m, ridge.ReadModel[T])
		mean, sd := m.Predict(rows.X)
		other, same := again.Predict(rows.X)
		assert.True(t, densetest.Identical(mean, other))
		assert.True(t, densetest.Identical(sd, same))
		assert.Equal(t, m.Accuracy(), again.Accuracy())
		assert.Equal(t, m.LogEvidence(), again.LogEvidence())
	}
}

// twice are features of which each stands there twice, nearly: up to rounding of float32.
type twice[T dense.Float] struct{ rff.Map[T] }

func (m twice[T]) Dims() (in, out int) {
	in, out = m.Map.Dims()
	return in, 2 * out
}

func (m twice[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	_, width := m.Dims()
	dst = dense.Ensure(dst, x.Rows, width)
	half := m.Map.Transform(dense.Matrix[T]{}, x)
	for i := range x.Rows {
		for f, v := range half.Row(i) {
			dst.Set(i, 2*f, v)
			dst.Set(i, 2*f+1, T(float32(v)*(1+0x1p-20)))
		}
	}
	return dst
}

// Features that nearly depend on each other, and a small λ, are solved, or the error says how far
// it came.
func TestIllConditioned(t *testing.T) {
	densetest.Both(t, testIllConditioned[float32], testIllConditioned[float64])
}

func testIllConditioned[T dense.Float](t *testing.T) {
	phi, rows := rff.Map[T](twice[T]{hadamard[T](t, 24, 3, 0.7)}), surface[T](240, 3, 0.1, 5, 1)
	for _, ratio := range []float64{1e-3, 1e-6, 1e-9} {
		direct, m, err := solve(t, phi, rows, ridge.Options{Ratio: ratio}, ridge.Iterative{Rank: 16}, 1)
		require.NoError(t, err)
		none := dense.Matrix[T]{}
		assert.Less(t, distance(m.Mean(none, rows.X), direct.Mean(none, rows.X), rows.Y), 1e-4)
	}
	_, err := ridge.Fit(t.Context(), phi, rows, ridge.Options{Ratio: 1e-20, Iterative: &ridge.Iterative{Src: rand.NewPCG(1, 2)}})
	assert.ErrorContains(t, err, "Noise/Prior = 1e-20, want more than")
}

// Features whose eigenvalues hardly decay take more steps than there are, if there is hardly any
// noise. The error says how far the model is from the solution, at most.
func TestNotConverged(t *testing.T) {
	densetest.Both(t, testNotConverged[float32], testNotConverged[float64])
}

func testNotConverged[T dense.Float](t *testing.T) {
	phi, rows := hadamard[T](t, 150, 4, 0.1), surface[T](400, 4, 0.1, 5, 1)
	rows.Weights = nil
	for _, ratio := range []float64{1e-6, 1e-10} {
		iterations := 0
		direct, m, err := solve(t, phi, rows, ridge.Options{Ratio: ratio}, ridge.Iterative{Rank: 16, MaxIterations: 60, Progress: func(n int, bound float64) {
			iterations++
			assert.Equal(t, iterations, n)
			assert.Positive(t, bound)
		}}, 1)
		var late *ridge.NotConverged
		require.ErrorAs(t, err, &late)
		assert.Equal(t, []any{iterations, ratio, false}, []any{late.Iterations, late.Ratio, late.Stalled})
		assert.ErrorContains(t, err, "ridge: after 60 iterations with Noise/Prior = 1e-")
		none := dense.Matrix[T]{}
		e := distance(m.Mean(none, rows.X), direct.Mean(none, rows.X), rows.Y)
		assert.Greater(t, e, 1e-4)
		assert.Less(t, e, late.Bound)
	}
}

// A tolerance that rounding of float64 hides is an error, and more steps do not pretend to help.
func TestStalled(t *testing.T) { densetest.Both(t, testStalled[float32], testStalled[float64]) }

func testStalled[T dense.Float](t *testing.T) {
	phi, rows := hadamard[T](t, 40, 3, 0.7), surface[T](300, 3, 0.1, 5, 1)
	_, _, err := solve(t, phi, rows, given, ridge.Iterative{Tolerance: 1e-17}, 1)
	var late *ridge.NotConverged
	require.ErrorAs(t, err, &late)
	assert.True(t, late.Stalled)
	assert.Less(t, late.Bound, 1e-9)
	assert.ErrorContains(t, late, "rounding of float64 hides the rest")
}

// Rows without a weight count for nothing, even if their features overflow.
func TestIterativeRowsWithoutWeight(t *testing.T) {
	rows := surface[float64](100, 3, 0.1, 5, 1)
	phi := must.Have(rff.Draw[float64](rff.Quadratic{D: 3}, nil))
	fit := func(b ridge.Block[float64]) dense.Matrix[float64] {
		_, m, err := solve(t, phi, b, given, ridge.Iterative{Tolerance: 1e-9}, 1)
		require.NoError(t, err)
		return m.Mean(dense.Matrix[float64]{}, rows.X)
	}
	want := fit(rows.RowRange(0, 99))
	rows.Weights[99] = 0
	rows.X.Set(99, 1, 1e200)
	got := fit(rows)
	assert.InDeltaSlice(t, want.Data[:198], got.Data[:198], 1e-6)
}

func TestIterativeErrors(t *testing.T) {
	phi, rows := hadamard[float64](t, 4, 3, 0.5), surface[float64](30, 3, 0.1, 5, 1)
	changed := func(f func(b *ridge.Block[float64])) ridge.Block[float64] {
		b := ridge.Block[float64]{X: rows.X.Clone(), Y: rows.Y.Clone(), Weights: append([]float64(nil), rows.Weights...)}
		f(&b)
		return b
	}
	src := rand.NewPCG(1, 2)
	with, wide := &ridge.Iterative{Src: src}, func(b *ridge.Block[float64]) { b.X.Set(7, 1, 1e200) }
	quadratic := must.Have(rff.Draw[float64](rff.Quadratic{D: 3}, nil))
	for want, c := range map[string]struct {
		phi  rff.Map[float64]
		rows ridge.Rows[float64]
		o    ridge.Options
	}{
		"Iterative.Src is nil":                {phi, rows, ridge.Options{Iterative: &ridge.Iterative{}}},
		"Iterative.Rank = -2, want at":        {phi, rows, ridge.Options{Iterative: &ridge.Iterative{Rank: -2, Src: src}}},
		"Iterative.Samples = 1, want 0 or":    {phi, rows, ridge.Options{Iterative: &ridge.Iterative{Samples: 1, Src: src}}},
		"Iterative.Tolerance = NaN":           {phi, rows, ridge.Options{Iterative: &ridge.Iterative{Tolerance: math.NaN(), Src: src}}},
		"Iterative.MaxIterations = -1":        {phi, rows, ridge.Options{Iterative: &ridge.Iterative{MaxIterations: -1, Src: src}}},
		"no rows, want at least 1":            {phi, ridge.Block[float64]{X: dense.New[float64](0, 3), Y: dense.New[float64](0, 1)}, ridge.Options{Iterative: with}},
		"the sums have no targets":            {phi, ridge.Block[float64]{X: rows.X}, ridge.Options{Iterative: with}},
		"x is 30×3, want 1 columns":           {hadamard[float64](t, 4, 1, 1), rows, ridge.Options{Iterative: with}},
		"x[7][1] = NaN":                       {phi, changed(func(b *ridge.Block[float64]) { b.X.Set(7, 1, math.NaN()) }), ridge.Options{Iterative: with}},
		"want a finite number":                {quadratic, changed(wide), ridge.Options{Ratio: 1, Iterative: with}},
		"the sum of products of feature":      {quadratic, changed(wide), ridge.Options{Iterative: with}},
		"the features do not vary":            {phi, ridge.Block[float64]{X: densetest.Filled(30, 3, 1.0), Y: rows.Y}, ridge.Options{Iterative: with}},
		"1 effective rows tell nothing of":    {phi, rows.RowRange(0, 1), ridge.Options{Iterative: with}},
		"1 effective rows tell nothing of th": {phi, rows.RowRange(0, 1), ridge.Options{Ratio: 1, Iterative: with}},
		"output 1 does not vary": {phi, changed(func(b *ridge.Block[float64]) {
			for i := range b.Y.Rows {
				b.Y.Set(i, 1, 3)
			}
		}), ridge.Options{Ratio: 1, Iterative: with}},
	} {
		_, err := ridge.Fit(t.Context(), c.phi, c.rows, c.o)
		assert.ErrorContains(t, err, want)
	}
	_, err := sumOf(t, phi, rows.X, rows.Y, nil).Fit(t.Context(), ridge.Options{Iterative: with})
	assert.ErrorContains(t, err, "Iterative with sums")
	shorter, passes := rows.RowRange(0, 29), 0
	_, err = ridge.Fit(t.Context(), phi, ridge.Rows[float64](changing{rows, shorter, &passes}), ridge.Options{Ratio: 1, Iterative: with})
	assert.EqualError(t, err, "ridge: rows has 29 rows with a weight, and had 30 before")

	found := must.Have(ridge.Choose(t.Context(), []rff.Map[float64]{phi}, rows, ridge.Options{Iterative: with}))
	assert.Equal(t, 15, found.Model.Accuracy().Samples)
}

// changing are rows that are others from the second reading on.
type changing struct {
	first, later ridge.Block[float64]
	passes       *int
}

func (c changing) Blocks() iter.Seq2[ridge.Block[float64], error] {
	if *c.passes++; *c.passes > 1 {
		return c.later.Blocks()
	}
	return c.first.Blocks()
}
