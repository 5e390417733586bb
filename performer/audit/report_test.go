package audit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// covered returns the share of samples of 64 rows of each head whose interval contains the error of
// the whole output, and the share in which no more rows than Worse have larger errors than Worst.
func covered(t *testing.T, out, exact, q, k, v dense.Matrix[float64], truth performer.Attention[float64], heads, audits int, confidence float64) (interval, worse float64) {
	want := relativeError(out, exact)
	var errors []float64
	for h := range heads {
		errors = append(errors, densetest.RelativeErrors(layout.Head(out, h, heads), layout.Head(exact, h, heads))...)
	}
	src, intervals, bounds, done := densetest.Source(305), 0, 0, 0
	for done < audits && !(settled(done, done-intervals) && settled(done, done-bounds)) {
		done++
		a, err := rowsOf(t, Output[float64](out), truth, q, k, v, 64, Options{Confidence: confidence}, src)
		require.NoError(t, err)
		if a.Low <= want && want <= a.High {
			intervals++
		}
		n := 0
		for _, e := range errors {
			if e > a.Worst*(1+1e-9) {
				n++
			}
		}
		if float64(n) <= a.Worse*float64(len(errors)) {
			bounds++
		}
	}
	return float64(intervals) / float64(done), float64(bounds) / float64(done)
}

// settled reports whether at most one in 16 samples has missed, after every 150 samples, so that no
// more are needed. An interval that misses in 15 of 100 samples settles in one of 2000 seeds, and
// an interval that misses in 10 of 100 in one of 13.
func settled(audits, missed int) bool {
	return audits > 0 && audits%150 == 0 && 16*missed <= audits
}

// If an interval contains the error in 95 of 100 samples, less than 91 % of 600 samples contain it
// in one of 30,000 seeds, and in one of 400 seeds for 94 of 100. Worse is exact. An interval with
// confidence 0.5 is too narrow and fails the test: if it contains the error in half of the samples,
// 80 % of 60 samples contain it in one of a million seeds.
func TestAuditCovers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds in pure Go")
	}
	t.Parallel()
	const n, d, heads, audits = 1024, 16, 3, 600
	rng := rand.New(densetest.Source(306))
	q, k, v := dense.New[float64](n, heads*d), dense.New[float64](n, heads*d), densetest.Normal[float64](rng, n, heads*d, 0, 1)
	for h := range heads { // heads that differ much
		norm := 1 + float64(h)/2
		dense.Copy(layout.Head(q, h, heads), densetest.Sphere[float64](rng, n, d, norm))
		dense.Copy(layout.Head(k, h, heads), densetest.Sphere[float64](rng, n, d, norm))
	}
	favor := must.Have(performer.NewLinear[float64](must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, must.Have(orf.Draw[float64](orf.GramSchmidt{}, 64, d, densetest.Source(307))))), performer.LinearOptions{}))
	var none dense.Matrix[float64]
	for name, form := range map[string]performer.Attention[float64]{"FAVOR+": favor, "average": average[float64]{}} {
		for _, of := range []int{1, heads} {
			x := []dense.Matrix[float64]{q.ColRange(0, of*d), k.ColRange(0, of*d), v.ColRange(0, of*d)}
			truth := must.Have(performer.NewBatch[float64](performer.BatchOptions{Heads: of}, must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Scale: 1}}))))
			out, exact := must.Have(performer.NewBatch(performer.BatchOptions{Heads: of}, form)).Forward(none, x[0], x[1], x[2]), truth.Forward(none, x[0], x[1], x[2])
			interval, worse := covered(t, out, exact, x[0], x[1], x[2], truth, of, audits, 0.95)
			assert.Greater(t, interval, 0.91, "%s, %d heads", name, of)
			assert.Greater(t, worse, 0.91, "%s, %d heads", name, of)
			interval, worse = covered(t, out, exact, x[0], x[1], x[2], truth, of, audits/10, 0.5)
			assert.Less(t, interval, 0.8, "%s, %d heads: an interval that is too narrow", name, of)
			assert.Less(t, worse, 0.8, "%s, %d heads: a bound that is too low", name, of)
		}
	}
}

// Worse is the smallest bound: with one row less, samples would miss the worst rows more often than
// the confidence allows.
func TestUnseenRows(t *testing.T) {
	missed := func(n, of, worst int) float64 { // the probability that n rows miss the worst
		p := 1.0
		for i := range worst {
			p *= max(0, float64(of-n-i)/float64(of-i))
		}
		return p
	}
	unseenOf := func(n, of, heads int) float64 {
		return unseen(slices.Repeat([][]float64{slices.Repeat([]float64{float64(n) / float64(of)}, of)}, heads), 0.95)
	}
	for _, n := range []int{1, 2, 10, 64, 299} {
		bound := int(math.Round(unseenOf(n, 300, 1) * 300))
		assert.LessOrEqual(t, missed(n, 300, bound+1), 0.05+1e-9, "%d rows", n)
		if bound > 0 {
			assert.Greater(t, missed(n, 300, bound), 0.05, "%d rows", n)
		}
	}
	assert.Zero(t, unseenOf(300, 300, 1))
	assert.InDelta(t, 1-math.Pow(0.05, 1.0/64), unseenOf(64, 1<<20, 1), 1e-4, "3/64 of many rows")
	assert.InDelta(t, 1-math.Pow(0.05, 1.0/256), unseenOf(64, 1<<20, 4), 1e-4, "four heads have four times as many rows")
}

// Reports of outputs whose squares are beyond the range, of exact outputs of zero, of equal errors,
// and of few rows.
func TestAuditOfExtremes(t *testing.T) {
	rng := rand.New(densetest.Source(317))
	q, v := densetest.Normal[float64](rng, 50, 4, 0, 1), densetest.Normal[float64](rng, 50, 4, 0, 1)
	audit := func(factor, size float64, rows int) Report {
		x := v.Clone()
		for i := range x.Data {
			x.Data[i] *= size
		}
		out := must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(dense.Matrix[float64]{}, q, q, x)
		for i := range out.Data {
			out.Data[i] *= factor
		}
		a, err := rowsOf(t, Output[float64](out), must.Have(performer.NewExact[float64](performer.ExactOptions{})), q, q, x, rows, Options{}, densetest.Source(318))
		require.NoError(t, err)
		return a
	}
	// Rounding changes an error of 1e-9 by 1e-7 of the error, and intervals have room for larger
	// errors.
	for _, size := range []float64{1e-300, 1, 1e300} {
		for _, factor := range []float64{0, 1 + 1e-9, 3} {
			a := audit(factor, size, 10)
			for _, x := range []float64{a.Error, a.Low, a.High, a.Mean, a.Median, a.Worst} {
				assert.InEpsilon(t, math.Abs(factor-1), x, 1e-3, "size %v, factor %v", size, factor)
			}
		}
	}
	assert.Equal(t, [2]float64{0, math.Inf(1)}, [2]float64{audit(3, 1, 1).Low, audit(3, 1, 1).High}, "one row bounds nothing")
	none := dense.New[float64](50, 4)
	a, err := rowsOf(t, Output[float64](none), must.Have(performer.NewExact[float64](performer.ExactOptions{})), q, q, none, 10, Options{}, densetest.Source(318))
	require.NoError(t, err)
	assert.Equal(t, Report{Confidence: 0.95, Rows: 10, Of: 50, Worse: a.Worse}, a)
	a, err = rowsOf(t, Output[float64](v), must.Have(performer.NewExact[float64](performer.ExactOptions{})), q, q, none, 10, Options{}, densetest.Source(318))
	require.NoError(t, err)
	assert.True(t, math.IsInf(a.Error, 1) && math.IsInf(a.Low, 1) && math.IsInf(a.Median, 1))
	assert.Zero(t, a.NonFinite)
	a, err = rowsOf[float64](t, average[float64]{}, must.Have(performer.NewExact[float64](performer.ExactOptions{})), q, q.RowRange(0, 0), v.RowRange(0, 0), 10, Options{}, densetest.Source(318))
	require.NoError(t, err)
	assert.Zero(t, a.Error, "no keys")
	a, err = rowsOf[float64](t, average[float64]{}, must.Have(performer.NewExact[float64](performer.ExactOptions{})), q, q, v.ColRange(0, 0), 10, Options{}, densetest.Source(318))
	require.NoError(t, err)
	assert.Zero(t, a.Error, "no values")
}

func TestReportString(t *testing.T) {
	a := Report{Error: 0.01523, Low: 0.01312, High: 0.0177, Confidence: 0.95, Quantile90: 0.024, Worst: 0.0513, Average: 0.8712, Rows: 64, Of: 2048}
	assert.Equal(t, "error 1.52 % (95 %: 1.31 … 1.77 %), 9 of 10 rows within 2.4 %, worst 5.1 % of 64 rows; plain averages 87 %", a.String())
	a.High, a.Worst = math.Inf(1), 12.5
	assert.Equal(t, "error 1.52 % (95 %: 1.31 % or more), 9 of 10 rows within 2.4 %, worst 1250 % of 64 rows; plain averages 87 %", a.String())
	a.Of = 64
	assert.Equal(t, "error 1.52 %, 9 of 10 rows within 2.4 %, worst 1250 % of all 64 rows; plain averages 87 %", a.String())
	a.NonFinite, a.Worst = 2, math.Inf(1)
	assert.Equal(t, "NaN or ±Inf in 2 of all 64 rows, 9 of 10 rows within 2.4 %, worst +Inf % of all 64 rows; plain averages 87 %", a.String())
}
