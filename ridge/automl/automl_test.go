package automl_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// table returns n rows of d normal columns with the targets f and noise.
func table[T dense.Float](n, d int, seed uint64, noise float64, f func(x []float64) float64) ridge.Block[T] {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := ridge.Block[T]{X: dense.New[T](n, d), Y: dense.New[T](n, 1)}
	x := make([]float64, d)
	for i := range n {
		for j := range x {
			x[j] = rng.NormFloat64()
			b.X.Set(i, j, T(x[j]))
		}
		b.Y.Set(i, 0, T(f(x)+noise*rng.NormFloat64()))
	}
	return b
}

func rmse[T dense.Float](m *automl.Model[T], b ridge.Block[T]) float64 {
	mean, sum := m.Mean(dense.Matrix[T]{}, b.X), 0.0
	for i := range b.Y.Rows {
		e := float64(mean.At(i, 0) - b.Y.At(i, 0))
		sum += e * e / float64(b.Y.Rows)
	}
	return math.Sqrt(sum)
}

func families(r automl.Report) map[string]float64 {
	scores := map[string]float64{}
	for _, t := range r.Trials {
		scores[t.Family] = t.Score
	}
	return scores
}

// Two of four columns matter, in units of 10⁶ and 10⁻³ away from 0, so that a length-scale for each
// column is best. The file of the model predicts the same. The errors at other rows are what the
// report says, within four standard errors of its 90 rows, and so is the share in bands.
func testNumbers[T dense.Float](t *testing.T) {
	const noise = 0.2
	units := []float64{1e6, 1e-3, 1, 100}
	make := func(n int, seed uint64) ridge.Block[T] {
		b := table[T](n, 4, seed, noise, func(x []float64) float64 { return 50 + 3*math.Sin(x[0]) + x[0]*x[1] })
		for i := range n {
			for j, u := range units {
				b.X.Row(i)[j] = T(u * (float64(b.X.At(i, j)) + 2))
			}
		}
		return b
	}
	rows, other := make(90, 1), make(1500, 2)
	done, total := 0, 0
	r, err := automl.Fit(t.Context(), rows, automl.Options{Progress: func(ended, all int, _ string) {
		assert.Equal(t, done+1, ended)
		done, total = ended, all
	}}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	assert.Equal(t, total, done)
	assert.Nil(t, r.Model.Labels())
	assert.Equal(t, []any{90, 90, "a length-scale a column", "in proportion to deviations"}, []any{r.Rows, r.HeldOut, r.Trials[r.Best].Family, r.Bands}, r.String())
	_, sd := stat.PopMeanStdDev(dense.Copy(dense.Matrix[float64]{}, rows.Y).Data, nil)
	assert.InDelta(t, sd, r.Deviation, 1e-12*sd)
	scores := families(r.Report)
	assert.Less(t, 2*scores["a length-scale a column"], scores["linear"])
	err2 := rmse(r.Model, other)
	assert.Less(t, err2, 1.2*r.Trials[r.Best].Score)
	assert.Less(t, err2, 2*noise)
	assert.InDelta(t, 0.9, inside(r.Model, other), 4*math.Sqrt(0.09/90))
	assert.InDelta(t, 0.9, r.Coverage, 4*math.Sqrt(0.09*(1.0/60+1.0/90)))

	var file bytes.Buffer
	require.NoError(t, r.Model.Write(&file))
	again, err := automl.ReadModel[T](&file)
	require.NoError(t, err)
	assert.Equal(t, r.Model.Quantiles(other.X, 0.1, 0.5), again.Quantiles(other.X, 0.1, 0.5))
}

func TestNumbers(t *testing.T) { densetest.Both(t, testNumbers[float32], testNumbers[float64]) }

// A wave in one direction needs a metric, steps need boxes, and with more columns than rows, of
// which three matter, the horseshoe is best. The error of the family is two thirds of that of a
// plain kernel, or less. At other rows it is at most the error at the n held-out rows and four of
// its standard errors, 1/√(2n) of it.
func TestFamilies(t *testing.T) {
	for _, c := range []struct {
		want string
		n, d int
		f    func(x []float64) float64
	}{
		{"full metric", 120, 5, func(x []float64) float64 { return 4 * math.Sin(2*floats.Sum(x)/math.Sqrt(5)) }},
		{"boxes", 120, 4, func(x []float64) float64 {
			f := 0.0
			if x[0] > 0.3 {
				f += 3
			}
			if x[1] > 0 && x[2] < 0.5 {
				f -= 4
			}
			return f
		}},
		{"sparse linear", 40, 301, func(x []float64) float64 { return 3*x[0] - 3*x[20] + 3*x[300] }},
	} {
		rows := table[float64](c.n, c.d, 3, 0.3, c.f)
		r, err := automl.Fit(t.Context(), rows, automl.Options{}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		scores := families(r.Report)
		assert.Equal(t, c.want, r.Trials[r.Best].Family, r.String())
		assert.Less(t, 1.5*scores[c.want], scores["one length-scale"], r.String())
		assert.Less(t, rmse(r.Model, table[float64](1000, c.d, 4, 0.3, c.f)), (1+4/math.Sqrt(2*float64(c.n)))*scores[c.want])
	}
}

// Without noise, the horseshoe finds one of 301 columns from 14 rows, also at large means. So few
// rows have ten folds.
func testExactSparse[T dense.Float](t *testing.T) {
	rows := table[T](14, 301, 1, 0, func(x []float64) float64 { return x[0] })
	for i := range rows.X.Data {
		rows.X.Data[i] += 1000
	}
	parts := 0
	o := automl.Options{Progress: func(_, total int, _ string) { parts = total }}
	r, err := automl.Fit(t.Context(), rows, o, rand.NewPCG(1, 2))
	require.NoError(t, err)
	assert.Equal(t, len(r.Trials)+2, parts)
	assert.Equal(t, "sparse linear", r.Trials[r.Best].Family, r.String())
	assert.Less(t, rmse(r.Model, rows), 1e-3)
}

func TestExactSparse(t *testing.T) {
	densetest.Both(t, testExactSparse[float32], testExactSparse[float64])
}

// Noise of 2^x_0 needs bands that follow it. They hold their share where the noise is large, within
// four standard errors of the 220 rows and the others.
func TestBandsOfUnequalNoise(t *testing.T) {
	rows, other := table[float64](220, 2, 1, 0, func(x []float64) float64 { return x[1] }), table[float64](4000, 2, 2, 0, func(x []float64) float64 { return x[1] })
	rng := rand.New(rand.NewPCG(3, 4))
	for _, b := range []ridge.Block[float64]{rows, other} {
		for i := range b.Y.Data {
			b.Y.Data[i] += math.Exp2(b.X.At(i, 0)) * rng.NormFloat64()
		}
	}
	r, err := automl.Fit(t.Context(), rows, automl.Options{Landmarks: 40}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	assert.Equal(t, "in proportion to learnt noise", r.Bands, r.String())
	assert.Contains(t, r.String(), "in proportion to learnt noise")
	band := r.Model.Quantiles(other.X, 0.05, 0.95)
	inside, count := 0.0, 0.0
	for i := range other.Y.Rows {
		if other.X.At(i, 0) > 0.7 {
			count++
			if v := other.Y.At(i, 0); band[0].At(i, 0) <= v && v <= band[1].At(i, 0) {
				inside++
			}
		}
	}
	assert.InDelta(t, 0.9, inside/count, 4*math.Sqrt(0.09*(1/count+4.0/220)), r.String())
}

// Rows with an exact function, and with two outputs of different size, can be learnt.
func TestExactTargets(t *testing.T) {
	b := table[float64](60, 2, 5, 0, func(x []float64) float64 { return 3*x[0] + 1 })
	two := dense.New[float64](60, 2)
	for i := range 60 {
		two.Set(i, 0, b.Y.At(i, 0))
		two.Set(i, 1, -10*b.Y.At(i, 0))
	}
	b.Y = two
	r, err := automl.Fit(t.Context(), b, automl.Options{}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	for _, m := range []*automl.Model[float64]{r.Model, tails[float64](t, b, automl.Options{}).Model} {
		mean := m.Mean(dense.Matrix[float64]{}, b.X)
		for i, v := range b.Y.Data {
			assert.InDelta(t, v, mean.Data[i], 1e-2)
		}
	}
}

// Classes inside and outside of a ring, of which one is rare: probabilities are near the truth, and
// the weight of a class raises its probability.
func testClasses[T dense.Float](t *testing.T) {
	draw := func(n int, seed uint64) ridge.Block[T] {
		rng := rand.New(rand.NewPCG(seed, 5))
		b := table[T](n, 2, seed, 0, func(x []float64) float64 {
			if rng.Float64() < 1/(1+math.Exp(-4*(math.Hypot(x[0], x[1])-2))) {
				return 1
			}
			return 0
		})
		return b
	}
	rows, other := draw(200, 6), draw(2000, 7)
	labels := []string{"inside", "outside"}
	fit := func(rows ridge.Block[T], weights []float64) *automl.Result[T] {
		r, err := automl.Fit(t.Context(), rows, automl.Options{Classes: 2, Labels: labels, ClassWeights: weights}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		return r
	}
	loss := func(c *automl.Model[T]) (loss, share float64) {
		p := c.Probabilities(dense.Matrix[T]{}, other.X)
		for i := range p.Rows {
			loss -= math.Log(float64(p.At(i, int(other.Y.At(i, 0))))) / float64(p.Rows)
			share += float64(p.At(i, 1)) / float64(p.Rows)
		}
		return loss, share
	}
	r := fit(rows, nil)
	assert.Equal(t, labels, r.Model.Labels())
	found, _ := loss(r.Model)
	assert.Less(t, found, 0.28, "the truth has 0.23")
	assert.InDelta(t, r.Trials[r.Best].Score, found, 4*0.5/math.Sqrt(200))
	assert.Greater(t, r.Accuracy, 0.85)
	assert.Positive(t, r.Calibration)
	assert.Less(t, r.Calibration, 3*math.Sqrt(0.3/200))
	assert.Contains(t, r.String(), " of the mixture: ")
	_, share := loss(fit(rows.RowRange(0, 60), nil).Model)
	_, weighted := loss(fit(rows.RowRange(0, 60), []float64{1, 5}).Model)
	assert.Greater(t, weighted, share+0.1)
	var file bytes.Buffer
	require.NoError(t, r.Model.Write(&file))
	again, err := automl.ReadModel[T](&file)
	require.NoError(t, err)
	assert.Equal(t, labels, again.Labels())
	assert.Equal(t, r.Model.Probabilities(dense.Matrix[T]{}, other.X), again.Probabilities(dense.Matrix[T]{}, other.X))
}

func TestClasses(t *testing.T) { densetest.Both(t, testClasses[float32], testClasses[float64]) }

// A file of more rows than choose, sorted by the column: the sample is random, and the last fit has
// all rows, of which a half has weight 0.
func TestRowsOfFiles(t *testing.T) {
	const n = 6000
	var text strings.Builder
	for i := range n {
		x := float64(i) / n
		text.WriteString(strconv.FormatFloat(x, 'g', -1, 64) + "," + strconv.FormatFloat(math.Sin(20*x), 'g', -1, 64) + "\n")
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	r, err := automl.Fit(t.Context(), ridge.CSV[float64]{Path: path}, automl.Options{Landmarks: 40}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	assert.Equal(t, []int{n, 500}, []int{r.Rows, r.HeldOut})
	_, features := automl.First(r.Model).Map().Dims()
	assert.LessOrEqual(t, features, 40)
	assert.Greater(t, features, 10)
	mean := r.Model.Mean(dense.Matrix[float64]{}, dense.Of(2, 1, []float64{0.1, 0.9}))
	assert.InDeltaSlice(t, []float64{math.Sin(2), math.Sin(18)}, mean.Data, 1e-3)
}

// Ten rows of one column, columns that do not vary, and a single landmark give a model whose errors
// are below the largest value of the function.
func TestLimits(t *testing.T) {
	first := func(x []float64) float64 { return math.Sin(2 * x[0]) }
	fit := func(b ridge.Block[float32], o automl.Options) *automl.Model[float32] {
		r, err := automl.Fit(t.Context(), b, o, rand.NewPCG(1, 2))
		require.NoError(t, err)
		return r.Model
	}
	same := table[float32](40, 2, 1, 0.1, first)
	for i := range same.X.Data {
		same.X.Data[i] = 7
	}
	for _, e := range []float64{
		rmse(fit(table[float32](10, 1, 1, 0.1, first), automl.Options{}), table[float32](10, 1, 2, 0.1, first)),
		rmse(fit(same, automl.Options{}), same),
		rmse(fit(table[float32](40, 2, 1, 0.1, first), automl.Options{Landmarks: 1}), table[float32](40, 2, 2, 0.1, first)),
	} {
		assert.Less(t, e, 1.0)
	}
}

func TestErrors(t *testing.T) {
	rows := table[float64](30, 2, 1, 1, func(x []float64) float64 { return x[0] })
	fit := func(rows ridge.Rows[float64], o automl.Options) error {
		_, err := automl.Fit(t.Context(), rows, o, rand.NewPCG(1, 2))
		return err
	}
	labelled := table[float64](30, 2, 1, 0, func(x []float64) float64 { return 1 })
	labelled.Y.Set(3, 0, 0)
	for want, err := range map[string]error{
		"automl: rows is nil, want data":                                                      fit(nil, automl.Options{}),
		"automl: Classes = 1, want 0 or at least 2":                                           fit(rows, automl.Options{Classes: 1}),
		"automl: Landmarks = -1, want at least 0":                                             fit(rows, automl.Options{Landmarks: -1}),
		"automl: HeavyTails with Classes = 2, want numbers":                                   fit(labelled, automl.Options{Classes: 2, HeavyTails: true}),
		"automl: ClassWeights or Labels without Classes":                                      fit(rows, automl.Options{Labels: []string{"a"}}),
		"automl: 1 Labels, want one for each of 2 classes":                                    fit(rows, automl.Options{Classes: 2, Labels: []string{"a"}}),
		"automl: 3 ClassWeights, want one for each of 2 classes":                              fit(rows, automl.Options{Classes: 2, ClassWeights: []float64{1, 1, 1}}),
		"automl: 9 rows with a weight above 0, want at least 10":                              fit(rows.RowRange(0, 9), automl.Options{}),
		"automl: points have 2 columns and targets 2, want at least one, and one for classes": fit(ridge.Block[float64]{X: rows.X, Y: rows.X}, automl.Options{Classes: 2}),
	} {
		assert.EqualError(t, err, want)
	}
	assert.ErrorContains(t, fit(rows, automl.Options{Landmarks: math.MaxInt / 2}), "automl: Landmarks = ")
	_, err := automl.Fit(t.Context(), rows, automl.Options{}, nil)
	assert.EqualError(t, err, "automl: src is nil, want a source of randomness")
	var none context.Context
	assert.Panics(t, func() { _, _ = automl.Fit(none, rows, automl.Options{}, rand.NewPCG(1, 2)) })
}

// Fit ends with the error of its context after each part. Once a family has been compared, it also
// returns the best family so far, of rows with groups, of classes, and with heavy tails too.
func testEndOfContext[T dense.Float](t *testing.T, grouped bool) {
	rows := table[T](20, 3, 1, 1, func(x []float64) float64 { return x[0] * x[1] })
	classes := table[T](20, 3, 1, 1, func([]float64) float64 { return 0 })
	of := make([]int, 20)
	for i := range of {
		of[i] = i / 2
		classes.Y.Data[i] = T(i % 2)
	}
	for name, o := range map[string]automl.Options{
		"numbers": {}, "classes": {Classes: 2}, "groups": {Groups: of}, "groups of classes": {Groups: of, Classes: 2}, "forward": {Groups: of, Forward: true},
		"heavy tails": {HeavyTails: true},
	} {
		if grouped != (o.Groups != nil) {
			continue // the other type has it
		}
		b := rows
		if o.Classes > 0 {
			b = classes
		}
		total := 3
		for at := 1; at < total; at += 9 {
			ctx, cancel := context.WithCancel(t.Context())
			o.Progress = func(done, all int, _ string) {
				if total = all; done == at {
					cancel()
				}
				assert.LessOrEqual(t, done, at, "parts after the end")
			}
			r, err := automl.Fit(ctx, b, o, rand.NewPCG(1, 2))
			assert.ErrorIs(t, err, context.Canceled, "%s, part %d", name, at)
			cancel()
			require.NotNil(t, r, "%s, part %d", name, at)
			assert.True(t, r.Ended)
			assert.Len(t, r.Trials, min(at, total-2), "%s, part %d", name, at)
			if o.Classes > 0 {
				assert.False(t, math.IsNaN(float64(r.Model.Probabilities(dense.Matrix[T]{}, b.X).At(0, 0))))
			} else {
				band := r.Model.Quantiles(b.X, 0.25, 0.75)
				assert.Less(t, band[1].At(0, 0)-band[0].At(0, 0), T(20))
				assert.Less(t, rmse(r.Model, b), 2.0)
			}
		}
	}
}

func TestEndOfContext(t *testing.T) {
	densetest.Both(t, func(t *testing.T) { testEndOfContext[float32](t, true) }, func(t *testing.T) { testEndOfContext[float64](t, false) })
}

// looked is a context that ends at a look, which is counted from start on.
type looked struct {
	context.Context
	counts    bool
	looks, at int
}

func (c *looked) Err() error {
	if c.counts {
		c.looks++
	}
	if c.at > 0 && c.looks >= c.at {
		return context.Canceled
	}
	return nil
}

// If the context ends during the fit to all rows and the bands, Fit returns its error, and a model
// with bands.
func TestEndOfContextInTheLastPart(t *testing.T) {
	rows := table[float64](220, 1, 1, 0.3, func(x []float64) float64 { return math.Sin(2 * x[0]) })
	run := func(ctx *looked) error {
		r, err := automl.Fit(ctx, rows, automl.Options{Landmarks: 20, Progress: func(done, total int, _ string) {
			ctx.counts = done == total-1
		}}, rand.NewPCG(1, 2))
		require.NotNil(t, r)
		assert.InDelta(t, 0.9, inside(r.Model, rows), 0.1)
		return err
	}
	processors := runtime.GOMAXPROCS(1) // looked belongs to one goroutine
	defer runtime.GOMAXPROCS(processors)
	all := &looked{Context: t.Context()}
	require.NoError(t, run(all))
	require.Greater(t, all.looks, 50)
	for _, at := range []int{1, all.looks / 2, all.looks - 2, all.looks - 1, all.looks} {
		assert.Equal(t, context.Canceled, run(&looked{Context: t.Context(), at: at}), "look %d of %d", at, all.looks)
	}
}

// Kernels of up to 3000 rows are exact: the features lack nothing at any of them, and bands come
// from all of them.
func TestExactKernelOfManyRows(t *testing.T) {
	for rows, want := range map[int]int{10: 10, 2100: 2100, 3000: 3000, 3001: 2000} {
		assert.Equal(t, want, automl.Landmarks(automl.Options{}, rows))
		assert.Equal(t, 70, automl.Landmarks(automl.Options{Landmarks: 70}, rows))
	}
	rows := table[float64](550, 1, 1, 0.1, func(x []float64) float64 { return math.Sin(8 * x[0]) })
	r, err := automl.Fit(t.Context(), rows, automl.Options{}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	require.NotEqual(t, "linear", r.Kernel)
	first := automl.First(r.Model)
	moved, _ := first.Rows()
	require.Equal(t, 550, moved.Rows)
	_, _, lacking := first.Variances(moved)
	assert.Less(t, floats.Max(lacking), 1e-6)
	x := rows.X.RowRange(0, 1)
	most := r.Model.Quantiles(x, 1-0.501/551)[0].At(0, 0) - r.Model.Mean(dense.Matrix[float64]{}, x).At(0, 0)
	assert.Less(t, most, 1.0, "all rows have errors, although the map has fewer features")
}

// With fewer rows than columns, other rows are far from the span of the landmarks. Bands of a
// kernel hold there too. The errors of 40 rows tell the share to 5 %.
func TestBandsOfFewerRowsThanColumns(t *testing.T) {
	f := func(x []float64) float64 { return floats.Sum(x) }
	rows, other := table[float64](40, 301, 6, 1, f), table[float64](1000, 301, 2, 1, f)
	r, err := automl.Fit(t.Context(), rows, automl.Options{}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	assert.Equal(t, "in proportion to deviations", r.Bands)
	assert.InDelta(t, 0.9, inside(r.Model, other), 4*math.Sqrt(0.09/40+0.09/1000))
}

// A large mean of columns and targets in float32 costs nothing but the rounding of the rows.
func TestLargeMeansOfFloat32(t *testing.T) {
	run := func(mean float32) float64 {
		f := func(x []float64) float64 { return math.Sin(x[0] + x[1]/2) }
		rows, other := table[float32](80, 2, 1, 0.1, f), table[float32](500, 2, 2, 0, f)
		for _, b := range []ridge.Block[float32]{rows, other} {
			for i := range b.X.Data {
				b.X.Data[i] += mean
			}
			for i := range b.Y.Data {
				b.Y.Data[i] += mean
			}
		}
		r, err := automl.Fit(t.Context(), rows, automl.Options{HeavyTails: true}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		return rmse(r.Model, other)
	}
	want := run(0)
	assert.Less(t, want, 0.1)
	assert.InEpsilon(t, want, run(1e4), 0.1)
}
