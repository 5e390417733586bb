package iterative_test

import (
	"bytes"
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/iterative"
)

var given = ridge.Options{Noise: 0.001, Prior: 1}

// A solver that stops after each step reaches the same bits, and a model keeps its bits in a file.
func TestResume(t *testing.T) { densetest.Both(t, testResume[float32], testResume[float64]) }

func testResume[T dense.Float](t *testing.T) {
	t.Run("given", func(t *testing.T) { testResumeOf[T](t, given) })
	t.Run("open", func(t *testing.T) { testResumeOf[T](t, ridge.Options{}) })
}

func testResumeOf[T dense.Float](t *testing.T, ratio ridge.Options) {
	phi, rows := gaussian[T](t, 40, 3, 0.5), surface[T](200, 3, 0.1, 5, 1)
	o := iterative.Options{Options: ratio, Samples: 3, Tolerance: 1e-7}
	begin := func() *iterative.Solver[T] {
		s, err := iterative.New(t.Context(), phi, rows, o, rand.NewPCG(1, 2))
		require.NoError(t, err)
		return s
	}
	bytesOf := func(s *iterative.Solver[T]) []byte {
		m, err := s.Model()
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, m.Write(&b))
		return b.Bytes()
	}
	s := begin()
	require.NoError(t, s.Run(t.Context(), rows, iterative.RunOptions{}))
	want := bytesOf(s)
	s = begin()
	for steps := 0; ; steps++ {
		err := s.Run(t.Context(), rows, iterative.RunOptions{MaxIterations: 1})
		var late *iterative.NotConverged
		if err == nil {
			assert.Greater(t, steps, 5)
			break
		}
		require.ErrorAs(t, err, &late)
		assert.False(t, late.Stalled)
		assert.Equal(t, steps+1, late.Iterations)
		if late.Ratio == 0 {
			assert.ErrorContains(t, late, "Noise/Prior is not chosen yet")
			_, err := s.Model()
			assert.ErrorAs(t, err, &late)
			continue
		}
		m, err := s.Model()
		require.NoError(t, err, "a model of the weights so far")
		for i, v := range m.Mean(dense.Matrix[T]{}, rows.X).Data {
			require.False(t, math.IsNaN(float64(v)), "%d", i)
		}
	}
	assert.True(t, bytes.Equal(want, bytesOf(s)))

	m, err := iterative.ReadModel[T](bytes.NewReader(want))
	require.NoError(t, err)
	kept, err := s.Model()
	require.NoError(t, err)
	mean, sd := kept.Predict(rows.X)
	again, same := m.Predict(rows.X)
	assert.True(t, densetest.Identical(mean, again))
	assert.True(t, densetest.Identical(sd, same))
	value, se, err := kept.LogEvidence()
	require.NoError(t, err)
	other, error2, err := m.LogEvidence()
	require.NoError(t, err)
	assert.Equal(t, []float64{value, se}, []float64{other, error2})
	assert.Equal(t, kept.Bound(), m.Bound())
	w, b := m.Weights()
	assert.InDelta(t, float64(m.Mean(dense.Matrix[T]{}, rows.X.RowRange(0, 1)).At(0, 1)),
		b[1]+dot(phi.Transform(dense.Matrix[T]{}, rows.X.RowRange(0, 1)).Row(0), w, 1), 1e-4)
}

func dot[T dense.Float](phi []T, w dense.Matrix[float64], j int) float64 {
	sum := 0.0
	for f, v := range phi {
		sum += float64(v) * w.At(f, j)
	}
	return sum
}

// A file that ends early, or has another element type, is an error.
func TestDamagedFiles(t *testing.T) {
	phi, rows := gaussian[float64](t, 4, 3, 0.5), surface[float64](30, 3, 0.1, 5, 1)
	s, err := iterative.New(t.Context(), phi, rows, iterative.Options{Options: given, Samples: 2}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	require.NoError(t, s.Run(t.Context(), rows, iterative.RunOptions{}))
	m, err := s.Model()
	require.NoError(t, err)
	var model bytes.Buffer
	require.NoError(t, m.Write(&model))
	for i := 0; i < model.Len(); i += 7 {
		damaged := bytes.Clone(model.Bytes())
		damaged[i] ^= 16
		_, err := iterative.ReadModel[float64](bytes.NewReader(damaged))
		assert.Error(t, err, "%d", i)
		_, err = iterative.ReadModel[float64](bytes.NewReader(model.Bytes()[:i]))
		assert.Error(t, err, "%d", i)
	}
	_, err = iterative.ReadModel[float32](bytes.NewReader(model.Bytes()))
	assert.ErrorContains(t, err, "float64")
}

// Nothing depends on GOMAXPROCS.
func TestProcessors(t *testing.T) {
	densetest.Both(t, testProcessors[float32], testProcessors[float64])
}

func testProcessors[T dense.Float](t *testing.T) {
	phi, rows := gaussian[T](t, 100, 5, 1), surface[T](700, 5, 0.1, 5, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want []byte
	for _, n := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(n)
		m, err := iterative.Fit(t.Context(), phi, rows, iterative.Options{Samples: 2, Tolerance: 1e-3}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		var file bytes.Buffer
		require.NoError(t, m.Write(&file))
		if want == nil {
			want = file.Bytes()
		}
		assert.True(t, bytes.Equal(want, file.Bytes()), "%d processors", n)
	}
}

// counted are rows that call f before every block.
type counted[T dense.Float] struct {
	ridge.Block[T]
	f func()
}

func (c counted[T]) Blocks() iter.Seq2[ridge.Block[T], error] {
	return func(yield func(ridge.Block[T], error) bool) {
		for b, err := range c.Block.Blocks() {
			c.f()
			if !yield(b, err) {
				return
			}
		}
	}
}

// A context that ends inside a pass ends the call within a second, and the solver is as it was
// after the last step.
func TestCancel(t *testing.T) {
	phi, rows := gaussian[float32](t, 200, 5, 1), surface[float32](9000, 5, 0.1, 5, 1)
	passes := 0
	ctx, cancel := context.WithCancel(t.Context())
	var end time.Time
	watched := counted[float32]{rows, func() {
		if passes++; passes == 2*4+2 { // two blocks a pass, in the second step
			end = time.Now()
			cancel()
		}
	}}
	s, err := iterative.New(ctx, phi, watched, iterative.Options{Options: given, Rank: 4}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	require.ErrorIs(t, s.Run(ctx, watched, iterative.RunOptions{}), context.Canceled)
	assert.Less(t, time.Since(end), time.Second)
	require.Error(t, s.Run(t.Context(), watched, iterative.RunOptions{MaxIterations: 2}))
	got, err := s.Model()
	require.NoError(t, err)
	s, err = iterative.New(t.Context(), phi, rows, iterative.Options{Options: given, Rank: 4}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	steps := 0
	require.Error(t, s.Run(t.Context(), rows, iterative.RunOptions{MaxIterations: 3, Progress: func(p iterative.Progress) {
		steps++
		assert.Equal(t, steps, p.Iterations)
		assert.Equal(t, 2, p.Of)
		assert.Positive(t, p.Bound)
	}}))
	assert.Equal(t, 3, steps)
	want, err := s.Model()
	require.NoError(t, err)
	assert.True(t, densetest.Identical(want.Mean(dense.Matrix[float32]{}, rows.X), got.Mean(dense.Matrix[float32]{}, rows.X)))

	cancel()
	_, err = iterative.New(ctx, phi, rows, iterative.Options{}, rand.NewPCG(1, 2))
	assert.ErrorIs(t, err, context.Canceled)
}

// So does a context that ends while λ is chosen.
func TestCancelChoice(t *testing.T) {
	phi, rows := gaussian[float32](t, 50, 5, 1), surface[float32](9000, 5, 0.1, 5, 1)
	fit := func(at int) dense.Matrix[float32] {
		passes := 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var end time.Time
		watched := counted[float32]{rows, func() {
			if passes++; passes == at {
				end = time.Now()
				cancel()
			}
		}}
		s, err := iterative.New(ctx, phi, watched, iterative.Options{Tolerance: 1e-3}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		if err := s.Run(ctx, watched, iterative.RunOptions{}); at > 0 {
			require.ErrorIs(t, err, context.Canceled)
			assert.Less(t, time.Since(end), time.Second)
			require.NoError(t, s.Run(t.Context(), watched, iterative.RunOptions{}))
		}
		m, err := s.Model()
		require.NoError(t, err)
		return m.Mean(dense.Matrix[float32]{}, rows.X)
	}
	assert.True(t, densetest.Identical(fit(0), fit(2*2+4))) // two blocks a pass, in the second step
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
	phi, rows := twice[T]{gaussian[T](t, 40, 3, 0.7)}, surface[T](400, 3, 0.1, 5, 1)
	for _, ratio := range []float64{1e-3, 1e-6, 1e-9} {
		o := ridge.Options{Ratio: ratio}
		m, err := iterative.Fit(t.Context(), phi, rows, iterative.Options{Options: o, Rank: 16}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		sums, err := ridge.Sum(t.Context(), phi, rows)
		require.NoError(t, err)
		direct, err := sums.Fit(t.Context(), o)
		require.NoError(t, err)
		got, want := m.Mean(dense.Matrix[T]{}, rows.X), direct.Mean(dense.Matrix[T]{}, rows.X)
		assert.Less(t, distance(got, want, rows.Y), 1e-4)
	}
	_, err := iterative.Fit(t.Context(), phi, rows, iterative.Options{Options: ridge.Options{Ratio: 1e-20}}, rand.NewPCG(1, 2))
	assert.ErrorContains(t, err, "Noise/Prior = 1e-20, want more than")
}

// Features whose eigenvalues hardly decay take more steps than there are, if there is hardly any
// noise. The error says how far the model is from the solution, at most.
func TestNotConverged(t *testing.T) {
	densetest.Both(t, testNotConverged[float32], testNotConverged[float64])
}

func testNotConverged[T dense.Float](t *testing.T) {
	phi, rows := gaussian[T](t, 150, 4, 0.1), surface[T](400, 4, 0.1, 5, 1)
	rows.Weights = nil
	for _, ratio := range []float64{1e-6, 1e-10} {
		o := ridge.Options{Ratio: ratio}
		s, err := iterative.New(t.Context(), phi, rows, iterative.Options{Options: o, Rank: 16}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		err = s.Run(t.Context(), rows, iterative.RunOptions{MaxIterations: 60})
		var late *iterative.NotConverged
		require.ErrorAs(t, err, &late)
		assert.Equal(t, 60, late.Iterations)
		assert.Equal(t, ratio, late.Ratio)
		assert.False(t, late.Stalled)
		assert.ErrorContains(t, err, "iterative: after 60 steps with Noise/Prior = 1e-")
		m, err := s.Model()
		require.NoError(t, err)
		sums, err := ridge.Sum(t.Context(), phi, rows)
		require.NoError(t, err)
		direct, err := sums.Fit(t.Context(), o)
		require.NoError(t, err)
		e := distance(m.Mean(dense.Matrix[T]{}, rows.X), direct.Mean(dense.Matrix[T]{}, rows.X), rows.Y)
		t.Log(e, late)
		assert.Greater(t, e, 1e-4)
		assert.Less(t, e, late.Bound)
	}
}

// A tolerance that rounding of float64 hides is an error, and more steps do not pretend to help.
func TestStalled(t *testing.T) { densetest.Both(t, testStalled[float32], testStalled[float64]) }

func testStalled[T dense.Float](t *testing.T) {
	phi, rows := gaussian[T](t, 40, 3, 0.7), surface[T](300, 3, 0.1, 5, 1)
	s, err := iterative.New(t.Context(), phi, rows, iterative.Options{Options: given, Tolerance: 1e-17}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	for range 2 {
		var late *iterative.NotConverged
		require.ErrorAs(t, s.Run(t.Context(), rows, iterative.RunOptions{}), &late)
		assert.True(t, late.Stalled)
		assert.Less(t, late.Bound, 1e-9)
		assert.ErrorContains(t, late, "rounding of float64 hides the rest")
	}
}

// Rows without a weight count for nothing, even if their features overflow.
func TestRowsWithoutWeight(t *testing.T) {
	rows := surface[float64](100, 3, 0.1, 5, 1)
	phi, err := rff.Draw[float64](rff.Quadratic{D: 3}, nil)
	require.NoError(t, err)
	fit := func(b ridge.Block[float64]) dense.Matrix[float64] {
		m, err := iterative.Fit(t.Context(), phi, b, iterative.Options{Options: given, Tolerance: 1e-9}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		return m.Mean(dense.Matrix[float64]{}, rows.X)
	}
	want := fit(part(rows, 99))
	rows.Weights[99] = 0
	rows.X.Set(99, 1, 1e200)
	got := fit(rows)
	assert.InDeltaSlice(t, want.Data[:198], got.Data[:198], 1e-6)
}

func TestErrors(t *testing.T) {
	phi, rows := gaussian[float64](t, 4, 3, 0.5), surface[float64](30, 3, 0.1, 5, 1)
	changed := func(f func(b *ridge.Block[float64])) ridge.Block[float64] {
		b := ridge.Block[float64]{X: rows.X.Clone(), Y: rows.Y.Clone(), Weights: append([]float64(nil), rows.Weights...)}
		f(&b)
		return b
	}
	quadratic, err := rff.Draw[float64](rff.Quadratic{D: 3}, nil)
	require.NoError(t, err)
	for want, c := range map[string]struct {
		phi  rff.Map[float64]
		rows ridge.Rows[float64]
		src  rand.Source
		o    iterative.Options
	}{
		"phi is nil":                       {nil, rows, rand.NewPCG(1, 2), iterative.Options{}},
		"rows is nil":                      {phi, nil, rand.NewPCG(1, 2), iterative.Options{}},
		"src is nil":                       {phi, rows, nil, iterative.Options{}},
		"Noise = -1":                       {phi, rows, rand.NewPCG(1, 2), iterative.Options{Options: ridge.Options{Noise: -1}}},
		"Rank = -2, want at least −1":      {phi, rows, rand.NewPCG(1, 2), iterative.Options{Rank: -2}},
		"Samples = 1, want 0 or at least":  {phi, rows, rand.NewPCG(1, 2), iterative.Options{Samples: 1}},
		"Tolerance = NaN":                  {phi, rows, rand.NewPCG(1, 2), iterative.Options{Tolerance: math.NaN()}},
		"no rows, want at least 1":         {phi, ridge.Block[float64]{X: dense.New[float64](0, 3), Y: dense.New[float64](0, 1)}, rand.NewPCG(1, 2), iterative.Options{}},
		"rows have no targets":             {phi, ridge.Block[float64]{X: rows.X}, rand.NewPCG(1, 2), iterative.Options{}},
		"x is 30×3, want 1 columns":        {gaussian[float64](t, 4, 1, 1), rows, rand.NewPCG(1, 2), iterative.Options{}},
		"x[7][1] = NaN":                    {phi, changed(func(b *ridge.Block[float64]) { b.X.Set(7, 1, math.NaN()) }), rand.NewPCG(1, 2), iterative.Options{}},
		"y[8][0] = +Inf":                   {phi, changed(func(b *ridge.Block[float64]) { b.Y.Set(8, 0, math.Inf(1)) }), rand.NewPCG(1, 2), iterative.Options{}},
		"weights[9] = -1":                  {phi, changed(func(b *ridge.Block[float64]) { b.Weights[9] = -1 }), rand.NewPCG(1, 2), iterative.Options{}},
		"mean of feature":                  {quadratic, changed(func(b *ridge.Block[float64]) { b.X.Set(7, 1, 1e200) }), rand.NewPCG(1, 2), iterative.Options{}},
		"the features do not vary":         {phi, ridge.Block[float64]{X: densetest.Filled(30, 3, 1.0), Y: rows.Y}, rand.NewPCG(1, 2), iterative.Options{}},
		"1 row tells nothing of the noise": {phi, part(rows, 1), rand.NewPCG(1, 2), iterative.Options{}},
		"output 1 does not vary": {phi, changed(func(b *ridge.Block[float64]) {
			for i := range b.Y.Rows {
				b.Y.Set(i, 1, 3)
			}
		}), rand.NewPCG(1, 2), iterative.Options{Options: ridge.Options{Ratio: 1}}},
	} {
		_, err := iterative.Fit(t.Context(), c.phi, c.rows, c.o, c.src)
		assert.ErrorContains(t, err, want)
	}
	s, err := iterative.New(t.Context(), phi, rows, iterative.Options{Options: given}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	assert.ErrorContains(t, s.Run(t.Context(), part(rows, 20), iterative.RunOptions{}), "rows has 20 rows with a weight, and had 30 before")
	assert.ErrorContains(t, s.Run(t.Context(), rows, iterative.RunOptions{MaxIterations: -1}), "MaxIterations = -1")
	require.NoError(t, s.Run(t.Context(), rows, iterative.RunOptions{}), "errors leave the solver as it was")
	var zero iterative.Solver[float64]
	assert.ErrorContains(t, zero.Run(t.Context(), rows, iterative.RunOptions{}), "the Solver is zero")
	_, err = zero.Model()
	assert.ErrorContains(t, err, "the Solver is zero")
	assert.ErrorContains(t, new(iterative.Model[float64]).Write(&bytes.Buffer{}), "the Model is zero")
}
