package audit

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// average returns the average of all values, as attention of another package.
type average[T dense.Float] struct{}

func (average[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	return must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Scale: 1e-30}})).Forward(dst, q, k, v)
}

// auditCase is an approximation and exact attention, with queries, keys and values.
type auditCase[T dense.Float] struct {
	form, truth performer.Attention[T]
	q, k, v     dense.Matrix[T]
	opts        Options
	heads       int
}

// rowsOf returns the report of one approximation.
func rowsOf[T dense.Float](t *testing.T, form, truth performer.Attention[T], q, k, v dense.Matrix[T], rows int, opts Options, src rand.Source) (Report, error) {
	opts.Rows = rows
	all, err := Measure(t.Context(), truth, q, k, v, opts, src, form)
	if err != nil {
		return Report{}, err
	}
	return all[0], nil
}

// auditCases returns approximations with heads, sequences, padding and pasts.
func auditCases[T dense.Float]() map[string]auditCase[T] {
	const n, d, dv = 130, 8, 5
	rng := rand.New(densetest.Source(300))
	draw := func(rows, cols int) dense.Matrix[T] { return densetest.Normal[T](rng, rows, cols, 0, 1) }
	made := func(opts performer.LinearOptions) performer.Attention[T] {
		return must.Have(performer.NewLinear[T](must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 0.5}, must.Have(orf.Draw[T](orf.IID{}, 32, d, densetest.Source(301))))), opts))
	}
	exact := func(causal bool) performer.Exact[T] {
		return must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Scale: 0.5, Causal: causal}}))
	}
	causal := performer.LinearOptions{Causal: true}
	two := made(performer.LinearOptions{})
	return map[string]auditCase[T]{
		"bidirectional":      {made(performer.LinearOptions{}), exact(false), draw(n, d), draw(40, d), draw(40, dv), Options{}, 1},
		"causal":             {made(causal), exact(true), draw(n, d), draw(n, d), draw(n, dv), Options{}, 1},
		"of another package": {average[T]{}, exact(false), draw(n, d), draw(n, d), draw(n, dv), Options{}, 1},
		"heads":              {must.Have(performer.NewBatch(performer.BatchOptions{Heads: 4, KeyHeads: 2}, made(performer.LinearOptions{}))), exact(false), draw(n, 4*d), draw(n, 2*d), draw(n, 2*dv), Options{}, 4},
		"forms of heads": {
			must.Have(performer.NewBatch(performer.BatchOptions{Heads: 4, KeyHeads: 2}, two, two, average[T]{}, made(performer.LinearOptions{}))),
			must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: 4, KeyHeads: 2}, exact(false), must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Scale: 0.2}})), exact(false), exact(false))),
			draw(n, 4*d), draw(n, 2*d), draw(n, 2*dv), Options{}, 4,
		},
		"window and sinks": {average[T]{}, must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Scale: 0.5}, Window: 20, Sinks: 3, SinkWeight: 2})), draw(n, d), draw(n, d), draw(n, dv), Options{}, 1},
		"causal chunks":    {average[T]{}, must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Chunk: 30, Slope: 0.1, Softcap: 3})), draw(n, d), draw(n, d), draw(n, dv), Options{}, 1},
		"causal heads":     {must.Have(performer.NewBatch(performer.BatchOptions{Heads: 4, KeyHeads: 2}, made(causal))), exact(true), draw(n, 4*d), draw(n, 2*d), draw(n, 2*dv), Options{}, 4},
	}
}

// Measure compares with exact attention that is not rounded, whatever the Bits are.
func TestMeasureIgnoresBits(t *testing.T) {
	x := densetest.Normal[float64](rand.New(densetest.Source(329)), 300, 8, 0, 1)
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(dense.Matrix[float64]{}, x, x, x)
	bits := must.Have(performer.NewExact[float64](performer.ExactOptions{Bits: 8}))
	r := must.Have(Measure(t.Context(), bits, x, x, x, Options{}, densetest.Source(330), Output[float64](exact), bits))
	assert.Less(t, r[0].Worst, 1e-12)
	assert.Greater(t, r[1].Error, 1e-4)
}

// whole returns all outputs of attention for the inputs of a case.
func (c auditCase[T]) whole(form performer.Attention[T]) dense.Matrix[T] {
	var none dense.Matrix[T]
	if b, ok := form.(performer.Batch[T]); ok {
		return b.Forward(none, c.q, c.k, c.v)
	}
	if c.heads > 1 {
		return must.Have(performer.NewBatch(performer.BatchOptions{Heads: c.heads, KeyHeads: 2}, form)).Forward(none, c.q, c.k, c.v)
	}
	return form.Forward(none, c.q, c.k, c.v)
}

// relativeError returns ‖out−exact‖_F/‖exact‖_F.
func relativeError[T dense.Float](out, exact dense.Matrix[T]) float64 {
	var distance, size float64
	for i := range out.Rows {
		for j, x := range exact.Row(i) {
			distance += math.Pow(float64(out.At(i, j))-float64(x), 2)
			size += float64(x) * float64(x)
		}
	}
	return math.Sqrt(distance / size)
}

// The report of all rows has the error of the whole output.
func TestAuditOfAllRows(t *testing.T) {
	densetest.Both(t, testAuditOfAllRows[float32], testAuditOfAllRows[float64])
}

func testAuditOfAllRows[T dense.Float](t *testing.T) {
	// Both computations of exact attention have a few rounding errors.
	tol := 1000 * densetest.Roundoff[T]()
	for name, c := range auditCases[T]() {
		t.Run(name, func(t *testing.T) {
			out, exact := c.whole(c.form), c.whole(c.truth)
			a, err := rowsOf(t, c.form, c.truth, c.q, c.k, c.v, 1000, c.opts, densetest.Source(302))
			require.NoError(t, err)
			want := relativeError(out, exact)
			require.Greater(t, want, 0.01)
			assert.InEpsilon(t, want, a.Error, tol)
			assert.Equal(t, [2]float64{a.Error, a.Error}, [2]float64{a.Low, a.High})
			assert.Zero(t, a.Worse)
			assert.Zero(t, a.NonFinite)
			assert.Equal(t, a.Of, a.Rows)
			assert.Equal(t, c.q.Rows*c.heads, a.Rows)
			if c.heads == 1 {
				assert.Nil(t, a.Heads)
				return
			}
			require.Len(t, a.Heads, c.heads)
			for h, head := range a.Heads {
				want := relativeError(layout.Head(out, h, c.heads), layout.Head(exact, h, c.heads))
				assert.InEpsilon(t, want, head.Error, tol, "head %d", h)
				assert.Equal(t, c.q.Rows, head.Of)
			}
		})
	}
}

// All rows are sampled equally often: 130 counts of 20,000 samples of 13 rows are within 4.5
// standard deviations of 2000, with one false alarm in 1000 seeds.
func TestAuditDrawsEvenly(t *testing.T) {
	q := dense.New[float64](130, 1)
	truth, rng := must.Have(performer.NewBatch[float64](performer.BatchOptions{Heads: 1}, must.Have(performer.NewExact[float64](performer.ExactOptions{})))), rand.New(densetest.Source(304))
	counts := make([]float64, q.Rows)
	for range 20_000 {
		for _, row := range must.Have(newSample(truth, input[float64]{q, q, q}, 13, rng)).heads[0].rows {
			counts[row]++
		}
	}
	sd := math.Sqrt(20_000 * 0.1 * 0.9)
	for row, n := range counts {
		assert.InDelta(t, 2000, n, 4.5*sd, "row %d", row)
	}
}

// The report shows one bad head of four, and one bad row of ten. A sample of 64 of 1000 rows has
// fewer than one in 20 of 100 bad rows once in 200 seeds.
func TestAuditSeesFaults(t *testing.T) {
	densetest.Both(t, testAuditSeesFaults[float32], testAuditSeesFaults[float64])
}

func testAuditSeesFaults[T dense.Float](t *testing.T) {
	const n, d, heads = 1000, 8, 4
	rng := rand.New(densetest.Source(309))
	q, k, v := densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, heads*d, 0, 1)
	form := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: heads}, must.Have(performer.NewExact[T](performer.ExactOptions{}))))
	good := form.Forward(dense.Matrix[T]{}, q, k, v)
	check := func(out dense.Matrix[T]) Report {
		a, err := rowsOf(t, Output[T](out), must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: heads}, must.Have(performer.NewExact[T](performer.ExactOptions{})))), q, k, v, 64, Options{}, densetest.Source(310))
		require.NoError(t, err)
		require.Equal(t, [2]int{64 * heads, n * heads}, [2]int{a.Rows, a.Of})
		return a
	}
	tol := 100 * densetest.Roundoff[T]()
	a := check(good)
	assert.Less(t, a.Worst, tol)
	assert.LessOrEqual(t, a.Error, a.High)

	bad := good.Clone()
	for i := range n {
		for j := range d {
			bad.Row(i)[2*d+j] *= 1.5
		}
	}
	a = check(bad)
	assert.InDelta(t, 0.25, a.Error, 0.05, "of four heads, one is off by a half")
	for h, head := range a.Heads {
		if h == 2 {
			assert.InDelta(t, 0.5, head.Error, tol)
			assert.InDelta(t, 0.5, head.Low, tol)
			assert.InDelta(t, 0.5, head.High, tol)
		} else {
			assert.Less(t, head.Error, tol)
		}
	}
	assert.Less(t, a.Median, tol)
	assert.InDelta(t, 0.5, a.Quantile90, tol)

	bad = good.Clone()
	for i := 0; i < n; i += 10 {
		for j := range bad.Row(i) {
			bad.Row(i)[j] *= 2
		}
	}
	a = check(bad)
	assert.InDelta(t, 1, a.Worst, tol)
	assert.Less(t, a.Median, tol)
	assert.InDelta(t, 0.1, a.Mean, 0.05)
	assert.Less(t, a.Low, math.Sqrt(0.1))
	assert.Greater(t, a.High, math.Sqrt(0.1))
	for h, head := range a.Heads {
		assert.InDelta(t, 1, head.Worst, tol, "head %d", h)
	}
}

// Rows that are not finite count in NonFinite, and Quantile90 leaves them out.
func TestAuditOfNaN(t *testing.T) {
	rng := rand.New(densetest.Source(315))
	q, v := densetest.Normal[float32](rng, 200, 4, 0, 1), densetest.Normal[float32](rng, 200, 4, 0, 1)
	out := must.Have(performer.NewExact[float32](performer.ExactOptions{})).Forward(dense.Matrix[float32]{}, q, q, v)
	inf := math.Inf(1)
	for _, bad := range []float64{math.NaN(), inf, -inf} {
		broken := out.Clone()
		for _, i := range []int{20, 30, 40} {
			broken.Row(i)[2] = float32(bad)
		}
		a, err := rowsOf(t, Output[float32](broken), must.Have(performer.NewExact[float32](performer.ExactOptions{})), q, q, v, 200, Options{}, densetest.Source(316))
		require.NoError(t, err)
		assert.Equal(t, 3, a.NonFinite)
		assert.Equal(t, []float64{inf, inf, inf, inf, inf}, []float64{a.Error, a.Low, a.High, a.Mean, a.Worst})
		assert.Less(t, a.Quantile90, 1e-4)
		assert.Contains(t, a.String(), "NaN or ±Inf in 3 of all 200 rows, 9 of 10 rows within ")

		// The exact output of query 20 is NaN.
		x := q.Clone()
		x.Row(20)[2] = float32(bad)
		a, err = rowsOf(t, Output[float32](out), must.Have(performer.NewExact[float32](performer.ExactOptions{})), x, q, v, 200, Options{}, densetest.Source(316))
		require.NoError(t, err)
		assert.Equal(t, 1, a.NonFinite)
		assert.True(t, math.IsInf(a.Error, 1))
	}
}

func TestAuditRefuses(t *testing.T) {
	type options = Options
	mat := dense.New[float64]
	features := must.Have(performer.NewLinear[float64](maptest.Positive[float64](8, 4), performer.LinearOptions{}))
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{}))
	batch := must.Have(performer.NewBatch[float64](performer.BatchOptions{Heads: 2, KeyHeads: 1}, features))
	x := mat(6, 4)
	for want, err := range map[string]error{
		"Rows = -1, want at least 1, or 0 for 64": must.Err(rowsOf[float64](t, features, exact, x, x, x, -1, options{}, densetest.Source(1))),
		"src is nil": must.Err(rowsOf[float64](t, features, exact, x, x, x, 1, options{}, nil)),
		"Confidence = -1, want a number above 0 and at most 0.999": must.Err(rowsOf[float64](t, features, exact, x, x, x, 1, options{Confidence: -1}, densetest.Source(1))),
		"Confidence = 1,":               must.Err(rowsOf[float64](t, features, exact, x, x, x, 1, options{Confidence: 1}, densetest.Source(1))),
		"Confidence = NaN,":             must.Err(rowsOf[float64](t, features, exact, x, x, x, 1, options{Confidence: math.NaN()}, densetest.Source(1))),
		"approximation 0 is nil":        must.Err(rowsOf[float64](t, nil, exact, x, x, x, 1, options{}, densetest.Source(1))),
		"audit: approximation 0 is nil": must.Err(rowsOf[float64](t, (*average[float64])(nil), exact, x, x, x, 1, options{}, densetest.Source(1))),
		"exact is a performer.Linear[float64], want a performer.Exact": must.Err(rowsOf[float64](t, features, features, x, x, x, 1, options{}, densetest.Source(1))),
		"exact is nil": must.Err(rowsOf[float64](t, features, nil, x, x, x, 1, options{}, densetest.Source(1))),
		"exact has a performer.Linear[float64] for head 0, want a performer.Exact":               must.Err(rowsOf[float64](t, batch, batch, mat(6, 8), x, x, 1, options{}, densetest.Source(1))),
		"approximation 0 has 2 heads of queries and 1 of keys, exact has 2 and 2, want the same": must.Err(rowsOf[float64](t, batch, must.Have(performer.NewBatch[float64](performer.BatchOptions{Heads: 2}, exact)), mat(6, 8), mat(6, 8), mat(6, 8), 1, options{}, densetest.Source(1))),
		"approximation 0 has Causal = false for head 0, exact has true, want the same":           must.Err(rowsOf[float64](t, features, must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})), x, x, x, 1, options{}, densetest.Source(1))),
		"for head 1, exact has true":                                            must.Err(rowsOf[float64](t, batch, must.Have(performer.NewBatch[float64](performer.BatchOptions{Heads: 2, KeyHeads: 1}, exact, must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})))), mat(6, 8), x, x, 1, options{}, densetest.Source(1))),
		"q is 0×4, want at least one row":                                       must.Err(rowsOf[float64](t, features, exact, mat(0, 4), x, x, 1, options{}, densetest.Source(1))),
		"approximation 0 is an Output of 6×3, want 6×4":                         must.Err(rowsOf[float64](t, Output[float64](mat(6, 3)), exact, x, x, x, 1, options{}, densetest.Source(1))),
		"k is 6×4, v is 5×4":                                                    must.Err(rowsOf[float64](t, features, exact, x, x, mat(5, 4), 1, options{}, densetest.Source(1))),
		"q is 6×3, k is 6×4":                                                    must.Err(rowsOf[float64](t, features, exact, mat(6, 3), x, x, 1, options{}, densetest.Source(1))),
		"q is 6×5, but approximation 0 takes points of R^4":                     must.Err(rowsOf[float64](t, features, exact, mat(6, 5), mat(6, 5), x, 1, options{}, densetest.Source(1))),
		"heads have dimension 5, but the attention takes points of R^4":         must.Err(rowsOf[float64](t, batch, exact, mat(6, 10), mat(6, 5), x, 1, options{}, densetest.Source(1))),
		"q is 5×4, k is 6×4, want as many queries as keys for causal attention": must.Err(rowsOf[float64](t, average[float64]{}, must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})), mat(5, 4), x, x, 1, options{}, densetest.Source(1))),
	} {
		assert.ErrorContains(t, err, want)
	}
}

func TestAuditIsDeterministic(t *testing.T) {
	for name, c := range auditCases[float32]() {
		var first Report
		for i, processors := range []int{1, 2, 5} {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			a, err := rowsOf(t, c.form, c.truth, c.q, c.k, c.v, 40, c.opts, densetest.Source(308))
			require.NoError(t, err)
			if i == 0 {
				first = a
			}
			require.Equal(t, first, a, name)
		}
	}
}

func TestNilContext(t *testing.T) {
	x := dense.New[float64](3, 2)
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{}))
	var none context.Context
	assert.PanicsWithValue(t, "audit: ctx is nil", func() { _, _ = Measure[float64](none, exact, x, x, x, Options{}, densetest.Source(1), exact) })
	assert.PanicsWithValue(t, "audit: ctx is nil", func() {
		_, _ = Choose[float64](none, performer.Softmax{}, x, x, x, 1, ChooseOptions{}, densetest.Source(1))
	})
}

// Exact attention in 8 bits computes fewer than 64 queries in T. The sampled rows have the errors
// of all rows nevertheless, in one head and in a Batch.
func TestFewSampledRowsHaveTheErrorsOfAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	const n, d = 400, 16
	q, k, v := densetest.Normal[float32](rng, n, 2*d, 0, 1), densetest.Normal[float32](rng, n, 2*d, 0, 1), densetest.Normal[float32](rng, n, 2*d, 0, 1)
	exact, bits := must.Have(performer.NewExact[float32](performer.ExactOptions{})), must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: 8}))
	for _, heads := range []int{1, 2} {
		var e, b performer.Attention[float32] = exact, bits
		if heads == 2 {
			e = must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: 2}, exact, exact))
			b = must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: 2}, bits, bits))
		}
		whole := must.Have(Measure(t.Context(), e, q, k, v, Options{Rows: n}, rand.NewPCG(1, 2), b))[0].Error
		few := must.Have(Measure(t.Context(), e, q, k, v, Options{Rows: 20}, rand.NewPCG(1, 2), b))[0].Error
		assert.Greater(t, whole, 0.001)
		assert.InEpsilon(t, whole, few, 0.5, "%d heads", heads)
	}
}
