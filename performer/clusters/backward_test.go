package clusters_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

// The gradients are the differences of Forward where clusters and choices stay. Centres are given,
// so that clusters do not move.
func TestBackwardDifferences(t *testing.T) {
	const n, d, dv = 600, 5, 3
	q, k, v := tokens[float64](n, d, dv, 5, 21)
	for _, threshold := range []float64{1e-30, 0.02, 1e30} {
		f, err := clusters.NewAt(performer.ExactOptions{Scale: 0.4}, k.RowRange(0, 30), clusters.Options{Threshold: threshold})
		require.NoError(t, err)
		dout := normal[float64](n, dv, 22)
		dq, dk, dv := f.Backward(dense.Matrix[float64]{}, dense.Matrix[float64]{}, dense.Matrix[float64]{}, q, k, v, dout)
		loss := func() float64 {
			out, sum := f.Forward(dense.Matrix[float64]{}, q, k, v), 0.0
			for i := range out.Rows {
				for j, x := range out.Row(i) {
					sum += x * dout.At(i, j)
				}
			}
			return sum
		}
		for name, x := range map[string][2]dense.Matrix[float64]{"q": {q, dq}, "k": {k, dk}, "v": {v, dv}} {
			for at := 7; at < n; at += 83 {
				const h = 1e-5
				cell := &x[0].Row(at)[at%x[0].Cols]
				was := *cell
				*cell = was + h
				up := loss()
				*cell = was - h
				down := loss()
				*cell = was
				assert.InDelta(t, (up-down)/(2*h), x[1].At(at, at%x[1].Cols), 2e-8, "τ = %v, d%s[%d]", threshold, name, at)
			}
		}
	}
}

// With all keys scored, gradients are those of exact attention to rounding, also in several blocks
// of queries and for rows beyond the range of weights.
func TestBackwardExact(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testBackwardExact[float32](t, 1e-4) })
	t.Run("type=float64", func(t *testing.T) { testBackwardExact[float64](t, 1e-12) })
}

func testBackwardExact[T dense.Float](t *testing.T, rounding float64) {
	exact := must.Have(performer.NewExact[T](performer.ExactOptions{}))
	for _, n := range []int{200, 900, 5000} {
		q, k, v := tokens[T](n, 8, 4, 6, 23)
		q.Row(n / 2)[0] = 1e10
		dout := normal[T](n, 4, 24)
		var want, got [3]dense.Matrix[T]
		want[0], want[1], want[2] = exact.Backward(want[0], want[1], want[2], q, k, v, dout)
		got[0], got[1], got[2] = form(t, exact, clusters.Options{Threshold: 1e-30}).Backward(got[0], got[1], got[2], q, k, v, dout)
		for i := range want {
			assert.Less(t, relative(got[i], want[i]), rounding, "n = %d, gradient %d", n, i)
		}
	}
}

// Bits do not depend on GOMAXPROCS or on earlier calls, and errors are some times those of outputs.
//
//ci:race
func TestBackwardProcessors(t *testing.T) {
	exact := must.Have(performer.NewExact[float32](performer.ExactOptions{}))
	f := form(t, exact, clusters.Options{})
	q, k, v := tokens[float32](9000, 8, 8, 6, 25)
	dout := normal[float32](9000, 8, 26)
	run := func() (g [3]dense.Matrix[float32]) {
		g[0], g[1], g[2] = f.Backward(g[0], g[1], g[2], q, k, v, dout)
		return g
	}
	want := run()
	old := runtime.GOMAXPROCS(1)
	got := run()
	runtime.GOMAXPROCS(old)
	require.Equal(t, want, got)
	var truth [3]dense.Matrix[float32]
	truth[0], truth[1], truth[2] = exact.Backward(truth[0], truth[1], truth[2], q, k, v, dout)
	var none dense.Matrix[float32]
	outputs := relative(f.Forward(none, q, k, v), exact.Forward(none, q, k, v))
	for i, times := range []float64{4, 2, 1.2} { // measured: 3.1, 1.7 and 0.92
		assert.Less(t, relative(want[i], truth[i]), times*outputs, "gradient %d", i)
	}
}

func TestBackwardErrors(t *testing.T) {
	x := dense.New[float32](3, 2)
	causal := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{Causal: true})), clusters.Options{})
	assert.EqualError(t, causal.CanBackward(), "clusters: causal Attention has no derivatives")
	assert.PanicsWithValue(t, "clusters: causal Attention has no derivatives", func() { causal.Backward(x, x, x, x, x, x, x) })
	f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{})
	assert.NoError(t, f.CanBackward())
	assert.PanicsWithValue(t, "clusters: dout is 3×1, want 3×2, a gradient for each output", func() {
		f.Backward(dense.Matrix[float32]{}, dense.Matrix[float32]{}, dense.Matrix[float32]{}, x, x, x, x.ColRange(0, 1))
	})
}

// normal returns normal numbers.
func normal[T dense.Float](rows, cols int, seed uint64) dense.Matrix[T] {
	rng := rand.New(rand.NewPCG(seed, 0))
	m := dense.New[T](rows, cols)
	for i := range m.Data {
		m.Data[i] = T(rng.NormFloat64())
	}
	return m
}

// NaN and Inf in a query leave the gradients of other queries alone.
func TestBackwardNotFinite(t *testing.T) {
	f := form(t, must.Have(performer.NewExact[float64](performer.ExactOptions{})), clusters.Options{})
	q, k, v := tokens[float64](700, 4, 3, 5, 27)
	dout := normal[float64](700, 3, 28)
	var empty dense.Matrix[float64]
	want, _, _ := f.Backward(empty, empty, empty, q, k, v, dout)
	q.Row(300)[1] = math.NaN()
	got, dk, _ := f.Backward(empty, empty, empty, q, k, v, dout)
	for i := range 700 {
		if i == 300 {
			require.True(t, math.IsNaN(got.Row(i)[0]))
			continue
		}
		require.Equal(t, want.Row(i), got.Row(i), "row %d", i)
	}
	require.True(t, math.IsNaN(dk.Row(0)[0]))
}
