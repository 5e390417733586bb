package kernelridge_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/kernelridge"
)

// waves returns n rows of 3 columns about a point, two targets, and weights of 1 to 3.
func waves[T dense.Float](n int, at float64, seed uint64) ridge.Block[T] {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := ridge.Block[T]{X: dense.New[T](n, 3), Y: dense.New[T](n, 2), Weights: make([]T, n)}
	for i := range n {
		u, v, w := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		copy(b.X.Row(i), []T{T(at + u), T(at + v), T(at + w)})
		copy(b.Y.Row(i), []T{T(5 + math.Sin(2*u)*v + 0.1*rng.NormFloat64()), T(math.Cos(u+w) + 0.1*rng.NormFloat64())})
		b.Weights[i] = T(1 + i%3)
	}
	return b
}

// direct returns the weights and constants by a Cholesky factorisation of K + λ/ω in float64.
func direct[T dense.Float](t *testing.T, k kernels.Kernel, b ridge.Block[T], ratio float64, intercept bool) (a dense.Matrix[float64], constant []float64) {
	t.Helper()
	n, outputs := b.X.Rows, b.Y.Cols
	gram := kernels.Gram(dense.Matrix[float64]{}, k, dense.Copy(dense.Matrix[float64]{}, b.X), dense.Matrix[float64]{})
	w := dense.New[float64](n, outputs+1)
	for i := range n {
		gram.Row(i)[i] += ratio / b.Weight(i)
		for j, v := range b.Y.Row(i) {
			w.Set(i, j, float64(v))
		}
		w.Set(i, outputs, 1)
	}
	factor := must.Have(cholesky.New(context.Background(), gram))
	factor.Solve(w)
	a, constant = dense.New[float64](n, outputs), make([]float64, outputs)
	for j := range outputs {
		sum, ones := 0.0, 0.0
		for i := range n {
			sum, ones = sum+w.At(i, j), ones+w.At(i, outputs)
		}
		if intercept {
			constant[j] = sum / ones
		}
		for i := range n {
			a.Set(i, j, w.At(i, j)-constant[j]*w.At(i, outputs))
		}
	}
	return a, constant
}

// means returns b + K(x, rows)·a in float64.
func means[T dense.Float](k kernels.Kernel, x, rows dense.Matrix[T], a dense.Matrix[float64], constant []float64) dense.Matrix[float64] {
	wide := dense.Matrix[float64]{}
	gram := kernels.Gram(wide, k, dense.Copy(wide, x), dense.Copy(wide, rows))
	y := dense.New[float64](x.Rows, a.Cols)
	for i := range y.Rows {
		copy(y.Row(i), constant)
	}
	matmul.Mul(1, gram, a, 1, y)
	return y
}

func largest(a, b dense.Matrix[float64]) (d float64) {
	for i := range a.Rows {
		for j := range a.Cols {
			d = math.Max(d, math.Abs(a.At(i, j)-b.At(i, j)))
		}
	}
	return d
}

// Predictions are those of the direct solution, for kernels with and without vector functions,
// whatever the rows are. The error of a mean at new points is a few times the tolerance.
func TestFitIsTheDirectSolution(t *testing.T) {
	densetest.Both(t, testDirect[float32], testDirect[float64])
}

func testDirect[T dense.Float](t *testing.T) {
	gaussian := kernels.Gaussian{LengthScale: 0.7}
	plain := waves[T](300, 0, 1)
	unweighted, twice, far, zero := plain, plain, plain, plain
	unweighted.Weights = nil // with rows in the order of their targets
	order := rand.New(rand.NewPCG(1, 2)).Perm(300)
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(plain.Y.At(a, 0), plain.Y.At(b, 0)) })
	unweighted.X, unweighted.Y = layout.Rows(plain.X, order), layout.Rows(plain.Y, order)
	twice.X = plain.X.Clone()
	for i := range 300 {
		copy(twice.X.Row(i), twice.X.Row(i%200))
		twice.X.Set(i, 2, 7) // a constant column
	}
	far.X = plain.X.Clone()
	far.X.Set(7, 1, 1e6)
	zero.Weights = append([]T(nil), plain.Weights...)
	zero.Weights[3], zero.Weights[250] = 0, 0
	for name, c := range map[string]struct {
		k kernels.Kernel
		b ridge.Block[T]
		o kernelridge.Options
	}{
		"gaussian":             {gaussian, plain, kernelridge.Options{Ratio: 0.01}},
		"matern 1/2":           {kernels.Matern{Nu: 0.5, LengthScale: 2}, plain, kernelridge.Options{Ratio: 0.01}},
		"matern 3/2":           {kernels.Matern{LengthScale: 2}, plain, kernelridge.Options{Ratio: 0.01}},
		"matern 5/2":           {kernels.Matern{Nu: 2.5, LengthScale: 2}, plain, kernelridge.Options{Ratio: 0.01}},
		"laplacian":            {kernels.Laplacian{LengthScale: 2}, plain, kernelridge.Options{Ratio: 0.01}},
		"pullback":             {kernels.Pullback{K: gaussian, A: dense.Of(2, 3, []float64{1, 0, 0.5, 0, 1, 0})}, plain, kernelridge.Options{Ratio: 0.01}},
		"unweighted":           {gaussian, unweighted, kernelridge.Options{Ratio: 0.01}},
		"no intercept":         {gaussian, plain, kernelridge.Options{Ratio: 0.01, NoIntercept: true}},
		"kept":                 {gaussian, plain, kernelridge.Options{Ratio: 0.01, Memory: 1 << 30}},
		"little noise":         {gaussian, plain, kernelridge.Options{Ratio: 1e-6, Rank: 295, Tolerance: 1e-8}},
		"little noise, matern": {kernels.Matern{Nu: 2.5, LengthScale: 2}, plain, kernelridge.Options{Ratio: 1e-6, Rank: 295, Tolerance: 1e-8}},
		"rank of all":          {gaussian, plain, kernelridge.Options{Ratio: 1e-6, Rank: 300, Tolerance: 1e-8}},
		"twice":                {gaussian, twice, kernelridge.Options{Ratio: 0.01}},
		"far row":              {gaussian, far, kernelridge.Options{Ratio: 0.01}},
		"large means":          {gaussian, waves[T](300, 1000, 1), kernelridge.Options{Ratio: 0.01}},
		"weights of 0":         {gaussian, zero, kernelridge.Options{Ratio: 0.01, Probes: 2}},
		"one row":              {gaussian, plain.RowRange(0, 1), kernelridge.Options{Ratio: 0.01}},
		"65 rows":              {gaussian, plain.RowRange(0, 65), kernelridge.Options{Ratio: 0.01}},
		"narrow":               {kernels.Gaussian{LengthScale: 1e-3}, plain, kernelridge.Options{Ratio: 0.01}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.o.Rank == 0 {
				c.o.Rank, c.o.Tolerance = 50, 1e-4
			}
			c.o.Src = rand.NewPCG(3, 4)
			m := must.Have(kernelridge.Fit(t.Context(), c.k, c.b, c.o))
			b := c.b
			if name == "weights of 0" {
				b = without(without(b, 250), 3)
				assert.Equal(t, 300, m.LeftOut.Rows)
			}
			a, constant := direct(t, c.k, b, c.o.Ratio, !c.o.NoIntercept)
			x := waves[T](100, float64(c.b.X.At(0, 0))-float64(plain.X.At(0, 0)), 2).X
			want := means(c.k, x, b.X, a, constant)
			// 10⁻⁴ of a root mean square of 4, and up to 6 times as much between rows
			tolerance := 3e-3
			if c.o.Tolerance < 1e-4 {
				tolerance = 1e-5
			}
			assert.Less(t, largest(dense.Copy(dense.Matrix[float64]{}, m.Model.Mean(dense.Matrix[T]{}, x)), want), tolerance)
		})
	}
}

// Results do not depend on the number of processors, and hardly on whether K is kept.
func TestFitOnAnyProcessors(t *testing.T) {
	b := waves[float64](700, 0, 1)
	fit := func(memory int64) dense.Matrix[float64] {
		m := must.Have(kernelridge.Fit(t.Context(), kernels.Matern{Nu: 2.5}, b, kernelridge.Options{Ratio: 0.1, Rank: 60, Memory: memory, Src: rand.NewPCG(1, 2)}))
		_, a := m.Model.Rows()
		return a
	}
	many := fit(0)
	assert.Less(t, largest(fit(1<<30), many), 0.05)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	assert.Equal(t, fit(0), many)
}

// without returns b without row i.
func without[T dense.Float](b ridge.Block[T], i int) ridge.Block[T] {
	var rest []int
	for j := range b.X.Rows {
		if j != i {
			rest = append(rest, j)
		}
	}
	weights := layout.Rows(dense.Of(len(b.Weights), 1, b.Weights), rest).Data
	return ridge.Block[T]{X: layout.Rows(b.X, rest), Y: layout.Rows(b.Y, rest), Weights: weights}
}

// leftOut returns the errors at row i of the fit without the row.
func leftOut(t *testing.T, k kernels.Kernel, b ridge.Block[float64], ratio float64, i int) (errors []float64) {
	rest := without(b, i)
	a, constant := direct(t, k, rest, ratio, true)
	for j, f := range means(k, b.X.RowRange(i, i+1), rest.X, a, constant).Data {
		errors = append(errors, b.Y.At(i, j)-f)
	}
	return errors
}

// Errors at rows left out are those of fits without the row, also for few rows, where the constant
// takes much of the errors. With the factor of all rows the preconditioner is exact, and so are
// they; 64 probes leave a few percent. One row has nothing to be predicted from.
func TestLeftOut(t *testing.T) {
	k := kernels.Gaussian{LengthScale: 1}
	for _, c := range []struct {
		rows, rank, probes int
		tolerance          float64
	}{{120, 120, 1, 1e-4}, {120, 20, 64, 0.25}, {3, 0, 1, 1e-4}, {2, 0, 1, 1e-4}, {1, 0, 1, 0}} {
		b := waves[float64](c.rows, 0, 1)
		m := must.Have(kernelridge.Fit(t.Context(), k, b, kernelridge.Options{Ratio: 0.05, Rank: c.rank, Probes: c.probes, Tolerance: 1e-8, Src: rand.NewPCG(1, 2)}))
		if c.rows == 1 {
			assert.Equal(t, []float64{math.Inf(1), math.Inf(1)}, m.LeftOut.Row(0))
			continue
		}
		for _, i := range []int{0, 1, c.rows / 2, c.rows - 1} {
			assert.InEpsilonSlice(t, leftOut(t, k, b, 0.05, i), m.LeftOut.Row(i), c.tolerance, "%+v, row %d", c, i)
		}
	}
}

// For a small λ, errors of few probes exceed elements of the diagonal of (K + λI)⁻¹. Errors at rows
// left out still have the size of those of exact solutions, or are an error beside a model.
func TestLeftOutOfFewProbes(t *testing.T) {
	b := waves[float64](300, 0, 1)
	b.Weights = nil
	fit := func(k kernels.Kernel, rank, probes int) (*kernelridge.Result[float64], error) {
		return kernelridge.Fit(t.Context(), k, b, kernelridge.Options{Ratio: 1e-6, Rank: rank, Probes: probes, Src: rand.NewPCG(1, 2)})
	}
	k := kernels.Gaussian{LengthScale: 2}
	exact, _ := direct(t, k, b, 1e-6, true)
	r := must.Have(fit(k, 150, 16))
	for j := range 2 {
		want, _ := leaver(t, k, b.X, 1e-6)(exact, j)
		left := mat.Norm(mat.NewDense(300, 2, r.LeftOut.Data).ColView(j), 2)
		assert.InDelta(t, 1, left/math.Sqrt(want), 0.5, "target %d", j)
	}
	// An outlier may have most of the squared errors, and a single element of the diagonal.
	b.Y.Set(20, 0, 1000)
	exact, _ = direct(t, k, b, 1e-6, true)
	for rank, most := range map[int]float64{50: 1, 300: 1e-3} {
		r := must.Have(fit(k, rank, 16))
		for j, relative := range r.LeftOutError {
			want, _ := leaver(t, k, b.X, 1e-6)(exact, j)
			left := mat.Norm(mat.NewDense(300, 2, r.LeftOut.Data).ColView(j), 2)
			assert.InDelta(t, 1, left/math.Sqrt(want), 1.25*relative, "rank %d, target %d", rank, j)
			assert.Less(t, relative, most)
		}
	}
	r, err := fit(kernels.Gaussian{}, 150, 4)
	assert.ErrorContains(t, err, "kernelridge: errors of Options.Probes = 4 with Options.Rank = 150 hide the leave-one-out errors of ")
	assert.NotNil(t, r.Model)
	assert.Empty(t, r.LeftOut)
}

// A band of 80 % holds 80 ± 4 · √(0.16/800) of new targets.
func TestBand(t *testing.T) {
	all := waves[float64](1600, 0, 1)
	all.Weights = nil
	rows, fresh := all.RowRange(0, 800), all.RowRange(800, 1600)
	m := must.Have(kernelridge.Fit(t.Context(), kernels.Gaussian{LengthScale: 1}, rows, kernelridge.Options{Ratio: 0.02, Rank: 100, Probes: 8, Src: rand.NewPCG(1, 2)}))
	mean, half := m.Model.Band(fresh.X, 0.8)
	for j := range 2 {
		held := 0
		for i := range mean.Rows {
			if math.Abs(mean.At(i, j)-fresh.Y.At(i, j)) <= half.At(i, j) {
				held++
			}
		}
		assert.InDelta(t, 640, held, 4*math.Sqrt(2*0.16*800))
	}
	_, half = m.Model.Band(fresh.X, 0.9999)
	assert.Equal(t, []float64{math.Inf(1), math.Inf(1)}, half.Row(7))
}

// A target that is the same in all rows, alone or beside another one, is learnt exactly, and zeros
// without an intercept too.
func TestConstantTargets(t *testing.T) {
	for _, o := range []kernelridge.Options{{}, {Tolerance: 1e-6}, {NoIntercept: true}, {NoIntercept: true, Probes: 2}} {
		b, want := waves[float64](100, 0, 1), map[bool]float64{false: 7}[o.NoIntercept]
		for i := range 100 {
			b.Y.Set(i, 1, want)
		}
		alone := b
		alone.Y = b.Y.ColRange(1, 2)
		for _, rows := range []ridge.Block[float64]{b, alone} {
			o.Ratio, o.Src = 0.1, rand.NewPCG(1, 2)
			r := must.Have(kernelridge.Fit(t.Context(), kernels.Gaussian{}, rows, o))
			mean := r.Model.Mean(dense.Matrix[float64]{}, waves[float64](20, 0, 2).X)
			assert.InDeltaSlice(t, slices.Repeat([]float64{want}, 20), mean.ColRange(rows.Y.Cols-1, rows.Y.Cols).Clone().Data, 1e-9)
		}
	}
}

// A model of as many landmarks as the kernel has large eigenvalues has the means of the exact one,
// and its noise, deviations and bands, also for a λ whose 2⁻²⁰ is below rounding.
func TestCompress(t *testing.T) {
	densetest.Both(t, testCompress[float32], testCompress[float64])
}

func testCompress[T dense.Float](t *testing.T) {
	b, none, x := waves[T](400, 0, 1), dense.Matrix[T]{}, waves[T](50, 0, 3).X
	for _, ratio := range []float64{0.1, 1e-4} {
		m := must.Have(kernelridge.Fit(t.Context(), kernels.Gaussian{LengthScale: 2}, b, kernelridge.Options{Ratio: ratio, Rank: 390, Probes: 4, Src: rand.NewPCG(1, 2)})).Model
		small := must.Have(kernelridge.Compress(t.Context(), m, map[float64]int{0.1: 150, 1e-4: 400}[ratio], rand.NewPCG(1, 2)))
		got, half := small.Band(x, 0.9)
		want, wantHalf := m.Band(x, 0.9)
		assert.Less(t, largest(dense.Copy(dense.Matrix[float64]{}, got), dense.Copy(dense.Matrix[float64]{}, want)), 2e-3)
		assert.Equal(t, wantHalf, half)
		assert.Equal(t, m.Noise(), small.Noise())
		single := must.Have(kernelridge.Compress(t.Context(), small, 1, rand.NewPCG(1, 2)))
		rows, _ := single.Rows()
		assert.Equal(t, 1, rows.Rows)
		assert.LessOrEqual(t, slices.Max(single.Mean(none, x).Data), slices.Max(b.Y.Data), "also no NaN")
		_, err := kernelridge.Compress(t.Context(), m, 401, rand.NewPCG(1, 2))
		assert.EqualError(t, err, "kernelridge: r = 401, want 1 to 400")
	}
	_, err := kernelridge.Compress(t.Context(), &ridge.Model[T]{}, 1, rand.NewPCG(1, 2))
	assert.EqualError(t, err, "kernelridge: m has no rows, want a model of Fit")
	clear(b.X.Data)
	zero := must.Have(kernelridge.Fit(t.Context(), kernels.DotProduct{}, b, kernelridge.Options{Ratio: 1, Src: rand.NewPCG(1, 2)})).Model
	_, err = kernelridge.Compress(t.Context(), zero, 1, rand.NewPCG(1, 2))
	assert.EqualError(t, err, "kernelridge: the kernel is 0 at all rows of m")
}

// An end of the context, or too few steps, gives the model so far.
func TestStopEarly(t *testing.T) {
	b := waves[float64](300, 0, 1)
	ctx, cancel := context.WithCancel(t.Context())
	o := kernelridge.Options{Ratio: 1e-4, Rank: 5, Tolerance: 1e-9, Src: rand.NewPCG(1, 2)}
	var last kernelridge.Progress
	o.Progress = func(p kernelridge.Progress) {
		if last = p; p.Iterations == 5 {
			cancel()
		}
	}
	m, err := kernelridge.Fit(ctx, kernels.Gaussian{}, b, o)
	var stop *ridge.NotConverged
	require.ErrorAs(t, err, &stop)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 5, stop.Iterations)
	assert.Equal(t, last.Residual, stop.Bound)
	assert.NotNil(t, m)
	o.MaxIterations, o.Progress = 3, nil
	m, err = kernelridge.Fit(t.Context(), kernels.Gaussian{}, b, o)
	require.ErrorAs(t, err, &stop)
	assert.NotNil(t, m)
	assert.Contains(t, err.Error(), "after 3 iterations")
}

func TestFitErrors(t *testing.T) {
	good, src := waves[float64](20, 0, 1), rand.NewPCG(1, 2)
	bad, weightless := good, good
	bad.X = good.X.Clone()
	bad.X.Set(4, 2, math.NaN())
	weightless.Weights = make([]float64, 20)
	for want, call := range map[string]struct {
		k kernels.Kernel
		b ridge.Block[float64]
		o kernelridge.Options
	}{
		"kernelridge: kernels: k is nil":                               {nil, good, kernelridge.Options{Ratio: 1, Src: src}},
		"kernelridge: Options.Ratio = 0, want a positive number":       {kernels.Gaussian{}, good, kernelridge.Options{Src: src}},
		"kernelridge: Options.Ratio = NaN, want a positive number":     {kernels.Gaussian{}, good, kernelridge.Options{Ratio: math.NaN(), Src: src}},
		"kernelridge: Options.Src is nil, want a source of randomness": {kernels.Gaussian{}, good, kernelridge.Options{Ratio: 1}},
		"kernelridge: Options.Probes = -1, want 0 to 65536":            {kernels.Gaussian{}, good, kernelridge.Options{Ratio: 1, Probes: -1, Src: src}},
		"kernelridge: Options.Probes = 65537, want 0 to 65536":         {kernels.Gaussian{}, good, kernelridge.Options{Ratio: 1, Probes: 65537, Src: src}},
		"ridge: x[4][2] = NaN, want a finite number":                   {kernels.Gaussian{}, bad, kernelridge.Options{Ratio: 1, Src: src}},
		"kernelridge: no rows of positive weight":                      {kernels.Gaussian{}, weightless, kernelridge.Options{Ratio: 1, Src: src}},
		"kernelridge: Y has no columns, want a target":                 {kernels.Gaussian{}, ridge.Block[float64]{X: good.X}, kernelridge.Options{Ratio: 1, Src: src}},
	} {
		_, err := kernelridge.Fit(t.Context(), call.k, call.b, call.o)
		assert.EqualError(t, err, want)
	}
	_, err := kernelridge.Fit(t.Context(), kernels.Gaussian{}, good, kernelridge.Options{Ratio: 1e-300, Src: src})
	assert.ErrorContains(t, err, "kernelridge: Options.Ratio = 1e-300")
}

// Rows of 100 length-scales and more landmarks than the model of deviations has: the Gram matrix of
// landmarks is positive semi-definite to less than the rounding of products of such rows.
func TestLandmarksOfManyLengthScales(t *testing.T) {
	const n = 1100
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := dense.New[float64](n, 1), dense.New[float64](n, 1)
	for i := range n {
		x.Set(i, 0, 100*rng.Float64()-50)
		y.Set(i, 0, math.Sin(x.At(i, 0)))
	}
	r, err := kernelridge.Fit(t.Context(), kernels.Gaussian{}, ridge.Block[float64]{X: x, Y: y}, kernelridge.Options{Ratio: 1e-4, Rank: n, Src: rand.NewPCG(1, 2)})
	require.NoError(t, err)
	for i, v := range r.Model.Mean(dense.Matrix[float64]{}, x).Data {
		assert.InDelta(t, y.Data[i], v, 0.01)
	}
}

// Steps end where rounding of float32 products hides the residual, so that the residual of a
// product in float64 is not far above the one before. Steps beyond make it 600 times as large.
func TestRoundsEndAtRounding(t *testing.T) {
	const n = 2000
	rng := rand.New(rand.NewPCG(1, 2))
	b := ridge.Block[float32]{X: dense.New[float32](n, 1), Y: dense.New[float32](n, 1)}
	for i := range n {
		b.X.Set(i, 0, float32(math.Sqrt(3)*(2*rng.Float64()-1)))
		b.Y.Set(i, 0, float32(math.Sin(3*float64(b.X.At(i, 0)))+0.5*rng.NormFloat64()))
	}
	last, worst := math.Inf(1), 0.0
	_, err := kernelridge.Fit(t.Context(), kernels.Matern{Nu: 2.5, LengthScale: 0.3}, b, kernelridge.Options{
		Ratio: 1e-3, Rank: 100, Tolerance: 1e-4, Src: rand.NewPCG(1, 2),
		Progress: func(p kernelridge.Progress) {
			worst = max(worst, p.Residual/last)
			last = p.Residual
		},
	})
	require.NoError(t, err)
	assert.Less(t, worst, 30.0)
}

// TestProduct: products of the caller are used, for rows of positive weight in their order, and bad
// ones are errors.
func TestProduct(t *testing.T) {
	rows := waves[float64](60, 0, 1)
	for i := range rows.Weights {
		rows.Weights[i]--
	}
	o := kernelridge.Options{Ratio: 0.1, Rank: 10, Tolerance: 1e-8, Src: rand.NewPCG(1, 1)}
	want, err := kernelridge.Fit(t.Context(), kernels.Gaussian{}, rows, o)
	require.NoError(t, err)
	result, failure := func(y dense.Matrix[float64]) dense.Matrix[float64] { return y }, error(nil)
	o.Product = func(_ context.Context, m *ridge.Model[float64]) (dense.Matrix[float64], error) {
		x, _ := m.Rows()
		return result(m.Mean(dense.Matrix[float64]{}, x)), failure
	}
	got, err := kernelridge.Fit(t.Context(), kernels.Gaussian{}, rows, o)
	require.NoError(t, err)
	assert.InDeltaSlice(t, want.Model.Mean(dense.Matrix[float64]{}, rows.X).Data, got.Model.Mean(dense.Matrix[float64]{}, rows.X).Data, 1e-6)
	for says, bad := range map[string]func(y dense.Matrix[float64]) dense.Matrix[float64]{
		"result of 39×3, want 40×3": func(y dense.Matrix[float64]) dense.Matrix[float64] { return y.RowRange(1, y.Rows) },
		"dense: ":                   func(y dense.Matrix[float64]) dense.Matrix[float64] { y.Data = nil; return y },
		"NaN":                       func(y dense.Matrix[float64]) dense.Matrix[float64] { y.Set(3, 0, math.NaN()); return y },
	} {
		result = bad
		_, err = kernelridge.Fit(t.Context(), kernels.Gaussian{}, rows, o)
		assert.ErrorContains(t, err, says)
	}
	failure = errors.New("no machines")
	_, err = kernelridge.Fit(t.Context(), kernels.Gaussian{}, rows, o)
	assert.ErrorIs(t, err, failure)
}

// A constant that is added to targets is added to predictions, whatever Tolerance is and also
// without convergence, and nothing else changes: not the errors at rows left out, nor the noise. A
// constant alone is learnt exactly.
func TestFarTargets(t *testing.T) {
	for _, o := range []kernelridge.Options{
		{Ratio: 0.1, Tolerance: 1e-3, Rank: 20, Probes: 4},
		{Ratio: 1e-4, Tolerance: 1e-9, MaxIterations: 2, Rank: 5, Probes: 4},
	} {
		rows, far, constant := waves[float64](300, 0, 1), waves[float64](300, 0, 1), waves[float64](300, 0, 1)
		for i, v := range far.Y.Data {
			far.Y.Data[i], constant.Y.Data[i] = v+1e6, 1e6/3
		}
		fit := func(b ridge.Block[float64]) (*kernelridge.Result[float64], []float64) {
			o.Src = rand.NewPCG(1, 2)
			r, err := kernelridge.Fit(t.Context(), kernels.Gaussian{LengthScale: 1}, b, o)
			var slow *ridge.NotConverged
			require.Equal(t, o.MaxIterations > 0, errors.As(err, &slow), err)
			return r, r.Model.Mean(dense.Matrix[float64]{}, rows.X).Data
		}
		near, want := fit(rows)
		other, means := fit(far)
		_, same := fit(constant)
		for i := range want {
			assert.InDelta(t, want[i], means[i]-1e6, 1e-3)
			assert.InDelta(t, 1e6/3, same[i], 1e-9)
		}
		assert.InDeltaSlice(t, near.LeftOut.Data, other.LeftOut.Data, 1e-3)
		assert.InDeltaSlice(t, near.Model.Noise(), other.Model.Noise(), 1e-3)
	}
}
