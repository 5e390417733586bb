package audit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// flat returns queries, keys and values of n tokens in R^d whose points lie near a plane, so that
// approximations are accurate. Values depend on keys.
func flat[T dense.Float](seed uint64, n, d int) (q, k, v dense.Matrix[T]) {
	rng := rand.New(densetest.Source(seed))
	plane := densetest.Normal[float64](rng, 2, d, 0, 1)
	points := func() dense.Matrix[T] {
		at := densetest.Normal[float64](rng, n, 2, 0, 1.5/math.Sqrt(float64(d)))
		x := densetest.Normal[T](rng, n, d, 0, 0.05)
		for i := range n {
			for j := range d {
				x.Row(i)[j] += T(at.At(i, 0)*plane.At(0, j) + at.At(i, 1)*plane.At(1, j))
			}
		}
		return x
	}
	q, k = points(), points()
	v = densetest.Normal[T](rng, n, d, 0, 0.5)
	for i := range n {
		for j := range d {
			v.Row(i)[j] += 2 * k.Row(i)[j]
		}
	}
	return q, k, v
}

// sharp returns queries and keys that few keys are not enough for.
func sharp[T dense.Float](seed uint64, n, d int) (q, k, v dense.Matrix[T]) {
	rng := rand.New(densetest.Source(seed))
	return densetest.Sphere[T](rng, n, d, 12), densetest.Sphere[T](rng, n, d, 12), densetest.Normal[T](rng, n, d, 0, 1)
}

// cheap returns the kinds of Choose with small costs that grow with the size. With few tokens the
// true costs are above the cost of exact attention.
func cheap[T dense.Float]() []kind[T] {
	all := allKinds[T]()
	for i := range all {
		all[i].cost = func(c callSizes) float64 {
			return float64(c.queries+c.keys) / 1e4 * float64(c.size+1)
		}
	}
	return all
}

func TestChoose(t *testing.T) {
	densetest.Both(t, testChoose[float32], testChoose[float64])
}

func testChoose[T dense.Float](t *testing.T) {
	q, k, v := flat[T](400, 1500, 8)
	var none dense.Matrix[T]
	for _, causal := range []bool{false, true} {
		for budget, rows := range map[float64]int{3.5: 64, 25: 1500} { // sampled, or all
			softmax := performer.Softmax{Scale: 1, Causal: causal}
			truth := must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: softmax}))
			exact := truth.Forward(none, q, k, v)
			c, err := choose(t.Context(), softmax, input[T]{q, k, v}, 0.05, ChooseOptions{Calls: 100, Budget: budget, Reproducible: true}, cheap[T](), densetest.Source(401))
			require.NoError(t, err)
			require.False(t, c.Exact, "causal=%v: %v", causal, c)
			off := relativeError(c.Attention.Forward(none, q, k, v), exact)
			assert.LessOrEqual(t, off, 0.05)
			assert.True(t, c.Report.Low <= 1.001*off && off <= 1.001*c.Report.High, "%v of %v", off, c)
			assert.LessOrEqual(t, c.Report.Error, 0.05)
			assert.Equal(t, [2]int{rows, 1500}, [2]int{c.Report.Rows, c.Report.Of})
			assert.Greater(t, c.Report.Average, 0.1)
			last := c.Trials[len(c.Trials)-1]
			assert.Equal(t, c.Name, last.Name)
			assert.True(t, last.Tested)
			assert.Less(t, last.Cost, 1.0)
			assert.Positive(t, c.Time)
			assert.Positive(t, c.ExactTime)
			assert.Positive(t, c.Choosing)
		}
	}
}

// Choose returns exact attention if no approximation is within the tolerance.
func TestChooseNothing(t *testing.T) {
	q, k, v := sharp[float64](402, 1000, 8)
	softmax := performer.Softmax{Scale: 1}
	c, err := choose(t.Context(), softmax, input[float64]{q, k, v}, 0.01, ChooseOptions{Calls: 100, Budget: 25, Reproducible: true}, cheap[float64](), densetest.Source(403))
	require.NoError(t, err)
	assert.True(t, c.Exact)
	assert.Equal(t, performer.ExactOptions{Softmax: softmax}, c.Attention.(performer.Exact[float64]).Options())
	assert.Equal(t, "exact attention", c.Name)
	assert.Zero(t, c.Report.High)
	assert.NotEmpty(t, c.Trials)
	assert.Equal(t, c.Time, c.ExactTime)
	assert.Contains(t, c.String(), "exact attention: nothing cheaper is known to be within 1 % (best: ")

	// For few tokens a search would cost more than it saves, and samples no rows.
	q, k, v = q.RowRange(0, 100), k.RowRange(0, 100), v.RowRange(0, 100)
	c, err = Choose[float64](t.Context(), softmax, q, k, v, 0.05, ChooseOptions{}, densetest.Source(403))
	require.NoError(t, err)
	assert.True(t, c.Exact)
	assert.Empty(t, c.Trials)
	assert.Zero(t, c.Report.Rows)
	assert.Contains(t, c.String(), "exact attention: nothing cheaper is worth a try; choosing took ")

	// Choose tries nothing if an exact output is not finite.
	q, k, v = flat[float64](404, 1000, 8)
	v.Row(500)[3] = math.NaN()
	c, err = choose(t.Context(), softmax, input[float64]{q, k, v}, 0.05, ChooseOptions{Calls: 100, Budget: 25, Reproducible: true}, cheap[float64](), densetest.Source(403))
	require.NoError(t, err)
	assert.True(t, c.Exact)
	assert.Empty(t, c.Trials)
}

// noisy returns known outputs of exact attention plus an error. The logarithms of the relative
// errors of rows have the standard deviation spread.
type noisy struct {
	exact         dense.Matrix[float64]
	error, spread float64
	seed          uint64
}

func (f noisy) Forward(dst, _, _, _ dense.Matrix[float64]) dense.Matrix[float64] {
	rng := rand.New(densetest.Source(f.seed))
	out := dense.Copy(dst, f.exact)
	noise := densetest.Normal[float64](rng, out.Rows, out.Cols, 0, 1)
	var distance, size float64
	for i := range out.Rows {
		row := noise.Row(i)
		floats.Scale(floats.Norm(out.Row(i), 2)*math.Exp(f.spread*rng.NormFloat64())/floats.Norm(row, 2), row)
		distance += floats.Dot(row, row)
		size += floats.Dot(out.Row(i), out.Row(i))
	}
	for i := range out.Rows {
		floats.AddScaled(out.Row(i), f.error*math.Sqrt(size/distance), noise.Row(i))
	}
	return out
}

// noisyCandidate returns a kind of attention whose size i+1 has the error errors[i].
func noisyCandidate(exact dense.Matrix[float64], seed uint64, errors ...float64) kind[float64] {
	c := kind[float64]{name: "guesses", cost: func(c callSizes) float64 { return float64(c.size) }}
	for i := range errors {
		c.sizes = append(c.sizes, i+1)
	}
	c.create = func(_ performer.Softmax, size int) (performer.Attention[float64], error) {
		return noisy{exact, errors[size-1], 0.5, seed + uint64(size)}, nil
	}
	return c
}

// The errors of twenty approximations are 6 % above the tolerance. Choose accepts one of them
// in less than one of 20 runs, although some of them nearly always are within the tolerance on the
// screening rows.
func TestChooseOfManyGuesses(t *testing.T) {
	const n, runs = 1000, 100
	rng := rand.New(densetest.Source(420))
	x := densetest.Normal[float64](rng, n, 4, 0, 1)
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(dense.Matrix[float64]{}, x, x, x)
	errors := make([]float64, 20)
	for i := range errors {
		errors[i] = 0.106
	}
	wrong, low := 0, 0
	for run := range runs {
		o := ChooseOptions{Calls: 1000, Budget: 250, Reproducible: true}
		c, err := choose(t.Context(), performer.Softmax{}, input[float64]{x, x, x}, 0.1, o, []kind[float64]{noisyCandidate(exact, uint64(1000+100*run), errors...)}, densetest.Source(uint64(421+run)))
		require.NoError(t, err)
		if !c.Exact {
			wrong++
		}
		for _, tried := range c.Trials {
			if tried.Error <= 0.1 {
				low++
				break
			}
		}
	}
	assert.LessOrEqual(t, wrong, runs/20)
	assert.Greater(t, low, runs*9/10, "the error of some rows decides nothing")
}

// rare is attention that is exact except in some rows.
type rare struct {
	exact dense.Matrix[float64]
	rows  []int
}

func (f rare) Forward(dst, _, _, _ dense.Matrix[float64]) dense.Matrix[float64] {
	out := dense.Copy(dst, f.exact)
	for _, i := range f.rows {
		floats.Scale(5, out.Row(i))
	}
	return out
}

// Choose takes the cheapest approximation within the tolerance.
func TestChooseTakesTheCheapest(t *testing.T) {
	rng := rand.New(densetest.Source(430))
	x := densetest.Normal[float64](rng, 1000, 4, 0, 1)
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(dense.Matrix[float64]{}, x, x, x)
	falling := noisyCandidate(exact, 431, 0.8, 0.4, 0.2, 0.1, 0.05, 0.025, 0.0125)
	falling.sizes = []int{1, 2, 4, 8, 16, 32, 64}
	falling.create = func(_ performer.Softmax, size int) (performer.Attention[float64], error) {
		return noisy{exact, 0.8 / float64(size), 0, 432 + uint64(size)}, nil
	}
	dear := noisyCandidate(exact, 433, 0.01)
	dear.name, dear.cost = "dear guesses", func(callSizes) float64 { return 50 }
	names := func(candidates ...kind[float64]) string {
		c, err := choose(t.Context(), performer.Softmax{}, input[float64]{x, x, x}, 0.07, ChooseOptions{Calls: 1000, Budget: 250, Reproducible: true}, candidates, densetest.Source(434))
		require.NoError(t, err)
		var tried []string
		for _, t := range c.Trials {
			tried = append(tried, t.Name)
		}
		require.Equal(t, c.Name, tried[len(tried)-1])
		return strings.Join(tried, ", ")
	}
	assert.Equal(t, "1 guesses, 2 guesses, 4 guesses, 8 guesses, 16 guesses", names(falling, dear))
	dear.cost = func(callSizes) float64 { return 9 }
	assert.Equal(t, "1 guesses, 2 guesses, 4 guesses, 8 guesses, 1 dear guesses", names(falling, dear))
}

// A choice is beyond the tolerance in less than one of 20 runs, as the confidence says.
func TestChooseHolds(t *testing.T) {
	runs := 40
	if testing.Short() {
		runs = 20
	}
	var none dense.Matrix[float32]
	wrong, chosen := 0, 0
	for run := range runs {
		q, k, v := flat[float32](uint64(500+run), 1024, 16)
		truth := must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Scale: 1}}))
		for _, tolerance := range []float64{0.02, 0.2} {
			c, err := choose(t.Context(), performer.Softmax{Scale: 1}, input[float32]{q, k, v}, tolerance, ChooseOptions{Calls: 100, Budget: 25, Reproducible: true}, cheap[float32](), densetest.Source(uint64(600+run)))
			require.NoError(t, err)
			if c.Exact {
				continue
			}
			chosen++
			if relativeError(c.Attention.Forward(none, q, k, v), truth.Forward(none, q, k, v)) > tolerance {
				wrong++
			}
		}
	}
	require.Greater(t, chosen, runs/2)
	assert.LessOrEqual(t, wrong, 2*runs/20, "of %d", chosen)
}

func TestChooseIsDeterministic(t *testing.T) {
	q, k, v := flat[float32](440, 1200, 8)
	x := input[float32]{q, k, v}
	var first Choice[float32]
	for i, processors := range []int{1, 2, 5} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		c, err := choose(t.Context(), performer.Softmax{}, x, 0.2, ChooseOptions{Calls: 100, Budget: 25, Reproducible: true}, cheap[float32](), densetest.Source(441))
		require.NoError(t, err)
		c.Attention, c.Time, c.ExactTime, c.Choosing = nil, 0, 0, 0
		if i == 0 {
			first = c
			assert.False(t, c.Exact)
		}
		require.Equal(t, first, c)
	}
}

// A context that ends before the search or during a trial ends the search.
func TestChooseEndsWithContext(t *testing.T) {
	q, k, v := flat[float64](450, 1500, 8)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	all := cheap[float64]()
	trials := 0
	for i, c := range all {
		all[i].create = func(exact performer.Softmax, size int) (performer.Attention[float64], error) {
			trials++
			cancel()
			return c.create(exact, size)
		}
	}
	x := input[float64]{q, k, v}
	for range 2 { // the second search ends before its first trial
		_, err := choose(ctx, performer.Softmax{}, x, 1e-9, ChooseOptions{Calls: 100, Budget: 25, Reproducible: true}, all, densetest.Source(451))
		assert.ErrorIs(t, err, context.Canceled)
		assert.EqualError(t, err, "audit: context canceled")
		assert.Equal(t, 1, trials)
	}
}

// Choose leaves out a kind that cannot make attention.
func TestChooseWithoutAKind(t *testing.T) {
	q, k, v := flat[float64](460, 1000, 8)
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{}))
	made := func(a performer.Attention[float64], err error) func(performer.Softmax, int) (performer.Attention[float64], error) {
		return func(performer.Softmax, int) (performer.Attention[float64], error) { return a, err }
	}
	bad := kind[float64]{name: "bad", sizes: []int{32}, cost: func(callSizes) float64 { return 1 }, create: made(nil, errors.New("no luck"))}
	good := kind[float64]{name: "good", cost: func(callSizes) float64 { return 2 }, sizes: []int{7}, create: made(exact, nil)}
	c, err := choose(t.Context(), performer.Softmax{}, input[float64]{q, k, v}, 0.05, ChooseOptions{Calls: 100, Budget: 25, Reproducible: true}, []kind[float64]{bad, good}, densetest.Source(461))
	require.NoError(t, err)
	assert.Equal(t, "7 good", c.Name)
	assert.EqualError(t, c.Trials[0].Err, "audit: 32 bad: no luck")
}

func TestChooseRefuses(t *testing.T) {
	type options = ChooseOptions
	x, src := dense.New[float64](20, 4), densetest.Source(1)
	for want, c := range map[string]struct {
		scale     float64
		q, v      dense.Matrix[float64]
		tolerance float64
		opts      options
		src       rand.Source
	}{
		"tolerance = 0, want a positive number":                {0, x, x, 0, options{}, src},
		"tolerance = NaN,":                                     {0, x, x, math.NaN(), options{}, src},
		"tolerance = +Inf,":                                    {0, x, x, math.Inf(1), options{}, src},
		"src is nil":                                           {0, x, x, 1, options{}, nil},
		"Confidence = 1,":                                      {0, x, x, 1, options{Confidence: 1}, src},
		"Calls = -1, want at least 1, or 0 for 1":              {0, x, x, 1, options{Calls: -1}, src},
		"Budget = -1, want a positive number, or 0 for ½":      {0, x, x, 1, options{Budget: -1}, src},
		"Budget = NaN,":                                        {0, x, x, 1, options{Budget: math.NaN()}, src},
		"k is 20×4, v is 5×4":                                  {0, x, dense.New[float64](5, 4), 1, options{}, src},
		"q is 0×4, want at least one row":                      {0, x.RowRange(0, 0), x, 1, options{}, src},
		"audit: performer: Scale = NaN, want a finite float64": {math.NaN(), x, x, 1, options{}, src},
	} {
		_, err := Choose(t.Context(), performer.Softmax{Scale: c.scale}, c.q, x, c.v, c.tolerance, c.opts, c.src)
		assert.ErrorContains(t, err, want)
	}
}

// Every kind approximates every exact attention, and its predicted cost grows with the size.
func TestKinds(t *testing.T) {
	densetest.Both(t, testKinds[float32], testKinds[float64])
}

func testKinds[T dense.Float](t *testing.T) {
	q, k, v := flat[T](470, 300, 8)
	var none dense.Matrix[T]
	for _, e := range []performer.Softmax{{}, {Causal: true}, {Scale: 0.4}} {
		for _, c := range allKinds[T]() {
			want := must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: e})).Forward(none, q, k, v)
			last, sizes := 0.03, c.sizes
			if c.sweep != nil {
				last, sizes = 1.5, []int{8, 25} // thresholds of 0.12 and 0.003
			}
			for _, size := range sizes {
				a, err := c.create(e, size)
				require.NoError(t, err, c.name)
				assert.Equal(t, e.Causal, descriptionOf(a).Causal)
				off := relativeError(a.Forward(none, q, k, v), want)
				assert.Less(t, off, last, "%d %s, %+v", size, c.name, e)
				last = max(off/1.2, 0.005) // the error of 8 bits
			}
			if len(c.sizes) == 1 {
				continue
			}
			one := callSizes{queries: 5000, keys: 5000, all: 5000, dim: 8, values: 8, size: sizes[0], causal: e.Causal}
			small := c.cost(one)
			one.size = sizes[1]
			assert.Greater(t, c.cost(one), small, c.name)
		}
	}
}

func TestChoiceString(t *testing.T) {
	c := Choice[float32]{
		Name: "256 features", Tolerance: 0.02, Report: Report{Error: 0.016, Low: 0.013, High: 0.019, Confidence: 0.95, Rows: 96, Of: 2048},
		Time: time.Second, ExactTime: 14 * time.Second, Choosing: 123 * time.Millisecond,
	}
	assert.Equal(t, "256 features: error 1.6 % (95 %: 1.3 … 1.9 %), 14 times as fast as exact attention; choosing took 0.12 s", c.String())
	c.ExactTime = 137 * time.Second
	assert.Contains(t, c.String(), ", 137 times as fast as exact attention; ")
	c.Name, c.Exact = "exact attention", true
	assert.Equal(t, "exact attention: nothing cheaper is worth a try; choosing took 0.12 s", c.String())
	c.Trials = []Trial{{Name: "32 features", Error: 0.3}, {Name: "64 features", Error: 0.08}, {Name: "32 bad", Err: errors.New("none")}}
	assert.Equal(t, "exact attention: nothing cheaper is known to be within 2 % (best: 64 features, error 8 %); choosing took 0.12 s", c.String())
}

// tardy returns known outputs, and sleeps in some calls.
type tardy struct {
	out    dense.Matrix[float64]
	sleeps func() bool
}

func (f tardy) Forward(dst, _, _, _ dense.Matrix[float64]) dense.Matrix[float64] {
	if f.sleeps() {
		time.Sleep(150 * time.Millisecond)
	}
	return dense.Copy(dst, f.out)
}

func tardyKind(name string, cost float64, out dense.Matrix[float64], sleeps func() bool) kind[float64] {
	return kind[float64]{
		name: name, sizes: []int{4, 8}, cost: func(callSizes) float64 { return cost },
		create: func(performer.Softmax, int) (performer.Attention[float64], error) {
			return tardy{out, sleeps}, nil
		},
	}
}

// Choose rejects an approximation that is slower than exact attention, unless Reproducible is set,
// but not for one slow call, be it the first or the first of the last, which are timed. Choose then
// has an approximation that was accepted before. Exact attention takes a few milliseconds here.
func TestChooseRejectsSlowKinds(t *testing.T) {
	x := small64(480, 1000, 8)
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(dense.Matrix[float64]{}, x, x, x)
	chosen := func(reproducible bool, kinds ...kind[float64]) Choice[float64] {
		o := ChooseOptions{Calls: 1000, Budget: 1e6, Reproducible: reproducible}
		return must.Have(choose(t.Context(), performer.Softmax{}, input[float64]{x, x, x}, 0.1, o, kinds, densetest.Source(481)))
	}
	calls := 0
	chosen(false, tardyKind("fast", 1, exact, func() bool { calls++; return false }))
	for _, reproducible := range []bool{false, true} {
		for _, naps := range [][2]int{{1, 1}, {calls - turns + 1, 1}, {1, 100}} { // the first call, and their number
			call := 0
			c := chosen(reproducible, tardyKind("naps", 1, exact, func() bool { call++; return call >= naps[0] && call < naps[0]+naps[1] }))
			slow := naps[1] > 1
			assert.Equal(t, slow && !reproducible, c.Exact, "%v", naps)
			require.Len(t, c.Trials, 1)
			assert.Equal(t, c.Exact, c.Trials[0].Slow)
			assert.Equal(t, slow && reproducible, c.Time >= 150*time.Millisecond)
		}
		swept := tardyKind("swept", 2e7, exact, func() bool { return false })
		swept.sweep = func(_ performer.Attention[float64], q, _, _ dense.Matrix[float64], rows []int) ([]dense.Matrix[float64], [][]int) {
			out, scored := layout.Rows(exact, rows), make([]int, len(rows))
			return []dense.Matrix[float64]{out, out}, [][]int{scored, scored}
		}
		c := chosen(reproducible, swept, tardyKind("naps", 1e7, exact, func() bool { return true }))
		assert.Equal(t, map[bool]string{false: "4 swept", true: "4 naps"}[reproducible], c.Name)
		assert.Len(t, c.Trials, 2)
		assert.Equal(t, !reproducible, c.Trials[1].Slow)
	}
}
