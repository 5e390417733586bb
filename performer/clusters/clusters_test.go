package clusters_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

// tokens returns queries, keys and values of n tokens of a text with 40 words: keys are near the
// point of a word, and a query looks for the keys of a word.
func tokens[T dense.Float](n, d, dv int, norm float64, seed uint64) (q, k, v dense.Matrix[T]) {
	rng := rand.New(rand.NewPCG(seed, 0))
	words := dense.New[T](40, d)
	for i := range words.Data {
		words.Data[i] = T(norm / math.Sqrt(float64(d)) * rng.NormFloat64())
	}
	q, k, v = dense.New[T](n, d), dense.New[T](n, d), dense.New[T](n, dv)
	for i := range n {
		a, b := words.Row(rng.IntN(40)), words.Row(rng.IntN(40))
		for j := range d {
			k.Row(i)[j] = a[j] + T(0.3*rng.NormFloat64())
			q.Row(i)[j] = b[j] + T(0.3*rng.NormFloat64())
		}
		for j := range dv {
			v.Row(i)[j] = T(rng.NormFloat64())
		}
	}
	return q, k, v
}

func relative[T dense.Float](got, want dense.Matrix[T]) float64 {
	var difference, norm float64
	for i := range want.Rows {
		for j, x := range want.Row(i) {
			e := float64(got.Row(i)[j]) - float64(x)
			difference += e * e
			norm += float64(x) * float64(x)
		}
	}
	return math.Sqrt(difference / norm)
}

func form[T dense.Float](t testing.TB, exact performer.Exact[T], opts clusters.Options) clusters.Attention[T] {
	t.Helper()
	o := exact.Options()
	opts.Scale, opts.EightBits = o.Scale, o.Bits == 8
	f, err := clusters.New[T](opts, rand.NewPCG(5, 6))
	require.NoError(t, err)
	return f
}

// With a threshold that scores every key, attention is exact to rounding; with the default it is
// near where words repeat.
func TestForward(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testForward[float32](t, 2e-5) })
	t.Run("type=float64", func(t *testing.T) { testForward[float64](t, 1e-13) })
}

func testForward[T dense.Float](t *testing.T, rounding float64) {
	exact := must.Have(performer.NewExact[T](performer.ExactOptions{}))
	q, k, v := tokens[T](2500, 16, 7, 8, 1)
	want := exact.Forward(dense.Matrix[T]{}, q, k, v)
	all := form(t, exact, clusters.Options{Threshold: 1e-30})
	assert.Less(t, relative(all.Forward(dense.Matrix[T]{}, q, k, v), want), rounding)
	near := relative(form(t, exact, clusters.Options{}).Forward(dense.Matrix[T]{}, q, k, v), want)
	assert.Less(t, near, 0.02)
	few := relative(form(t, exact, clusters.Options{Threshold: 1e30}).Forward(dense.Matrix[T]{}, q, k, v), want)
	assert.Greater(t, few, near, "no key of a cluster is scored")
}

// Outputs are averages of values, whatever the norms are.
func TestOutputsAreAverages(t *testing.T) {
	for _, norm := range []float64{0, 1, 30, 1e4} {
		q, k, v := tokens[float32](1500, 8, 3, norm, 2)
		for i := range v.Rows {
			v.Row(i)[0], v.Row(i)[1] = 1, float32(i%2)
		}
		out := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{}).Forward(dense.Matrix[float32]{}, q, k, v)
		for i := range out.Rows {
			require.InDelta(t, 1, out.Row(i)[0], 1e-5, "row %d", i)
			require.True(t, -1e-5 < out.Row(i)[1] && out.Row(i)[1] < 1+1e-5, "row %d: %v", i, out.Row(i)[1])
		}
	}
}

// Sizes at which there is little to divide: no keys, no queries, fewer keys than clusters, one
// cluster, equal keys, values without columns.
func TestSmall(t *testing.T) {
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{}))
	for _, n := range []int{0, 1, 2, 255, 257, 300} {
		for _, count := range []int{1, 1000} {
			q, k, v := tokens[float64](n, 3, 2, 2, 3)
			f := form(t, exact, clusters.Options{Clusters: count, Threshold: 1e-30})
			want := exact.Forward(dense.Matrix[float64]{}, q, k, v)
			got := f.Forward(dense.Matrix[float64]{}, q, k, v)
			for i := range want.Rows {
				assert.InDeltaSlice(t, want.Row(i), got.Row(i), 1e-12)
			}
			assert.Equal(t, 0, f.Forward(dense.Matrix[float64]{}, q.RowRange(0, 0), k, v).Rows)
			assert.Equal(t, 0, f.Forward(dense.Matrix[float64]{}, q, k, v.ColRange(0, 0)).Cols)
		}
	}
	q, k, v := tokens[float64](700, 3, 2, 2, 4)
	for i := range k.Rows {
		copy(k.Row(i), k.Row(0))
	}
	want := exact.Forward(dense.Matrix[float64]{}, q, k, v)
	assert.Less(t, relative(form(t, exact, clusters.Options{}).Forward(dense.Matrix[float64]{}, q, k, v), want), 1e-12, "equal keys")
	none := form(t, exact, clusters.Options{}).Forward(dense.Matrix[float64]{}, q, k.RowRange(0, 0), v.RowRange(0, 0))
	assert.Zero(t, slices.Max(none.Data))
}

// NaN and Inf in keys and values reach the rows that exact attention has them in, and no other row
// or column.
func TestNotFinite(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		exact := must.Have(performer.NewExact[float64](performer.ExactOptions{}))
		f := form(t, exact, clusters.Options{Threshold: 1e-30})
		q, k, v := tokens[float64](1800, 4, 3, 3, 6)
		v.Row(900)[1] = x
		compareNaN(t, exact.Forward(dense.Matrix[float64]{}, q, k, v), f.Forward(dense.Matrix[float64]{}, q, k, v))
		q, k, v = tokens[float64](1800, 4, 3, 3, 7)
		k.Row(1200)[2] = x
		q.Row(1500)[0] = x
		compareNaN(t, exact.Forward(dense.Matrix[float64]{}, q, k, v), f.Forward(dense.Matrix[float64]{}, q, k, v))
	}
}

func compareNaN(t *testing.T, want, got dense.Matrix[float64]) {
	t.Helper()
	for i := range want.Rows {
		for j, x := range want.Row(i) {
			y := got.Row(i)[j]
			if math.IsNaN(x) || math.IsInf(x, 0) {
				require.False(t, y-y == 0, "row %d: want %v, got %v", i, x, y)
			} else {
				require.InDelta(t, x, y, 1e-10, "row %d", i)
			}
		}
	}
}

// Results have the same bits whatever GOMAXPROCS is, in any memory, and with dst in place of q.
//
//ci:race
func TestProcessors(t *testing.T) {
	f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{})
	q, k, v := tokens[float32](5000, 8, 8, 6, 8)
	want := f.Forward(dense.Matrix[float32]{}, q, k, v)
	old := runtime.GOMAXPROCS(1)
	got := f.Forward(dense.Matrix[float32]{}, q, k, v)
	runtime.GOMAXPROCS(old)
	require.Equal(t, want.Data, got.Data)
	f.Forward(q, q, k, v)
	require.Equal(t, want.Data, q.Data)
}

// One form may serve goroutines.
//
//ci:race
func TestShared(t *testing.T) {
	f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{})
	q, k, v := tokens[float32](1500, 8, 8, 6, 9)
	want := f.Forward(dense.Matrix[float32]{}, q, k, v)
	results := make(chan dense.Matrix[float32])
	for range 4 {
		go func() { results <- f.Forward(dense.Matrix[float32]{}, q, k, v) }()
	}
	for range 4 {
		require.Equal(t, want.Data, (<-results).Data)
	}
}

func TestErrors(t *testing.T) {
	src := rand.NewPCG(1, 2)
	for want, run := range map[string]func() error{
		"clusters: src is nil": func() error {
			_, err := clusters.New[float32](clusters.Options{}, nil)
			return err
		},
		"clusters: Scale = -1, want a finite float32 of at least 0": func() error {
			_, err := clusters.New[float32](clusters.Options{Scale: -1}, src)
			return err
		},
		"clusters: Clusters = 0, Iterations = -1, want at least 0": func() error {
			_, err := clusters.New[float32](clusters.Options{Iterations: -1}, src)
			return err
		},
		"clusters: Threshold = NaN, want a finite number of at least 0": func() error {
			_, err := clusters.New[float32](clusters.Options{Threshold: math.NaN()}, src)
			return err
		},
	} {
		assert.EqualError(t, run(), want)
	}
	x := dense.New[float32](2, 3)
	f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{})
	assert.PanicsWithValue(t, "performer: q is 2×3, k is 2×2, want queries and keys of one dimension", func() {
		f.Forward(dense.Matrix[float32]{}, x, dense.New[float32](2, 2), x)
	})
}

// Keys and values with means of a thousand spreads, points of one dimension and counts beyond all
// keys: float32 errs as it does for centred ones.
func TestLargeMeansAndCounts(t *testing.T) {
	exact, truth := must.Have(performer.NewExact[float32](performer.ExactOptions{})), must.Have(performer.NewExact[float64](performer.ExactOptions{}))
	f := form(t, exact, clusters.Options{})
	var none dense.Matrix[float64]
	q, k, v := tokens[float32](3000, 16, 4, 6, 3)
	for _, m := range []dense.Matrix[float32]{k, v} {
		for i := range m.Data {
			m.Data[i] += 1000
		}
	}
	want := truth.Forward(none, dense.Copy(none, q), dense.Copy(none, k), dense.Copy(none, v))
	got := dense.Copy(none, f.Forward(dense.Matrix[float32]{}, q, k, v))
	for _, m := range []dense.Matrix[float64]{got, want} {
		for i := range m.Data {
			m.Data[i] -= 1000
		}
	}
	assert.Less(t, relative(got, want), 0.025) // 0.022 and 0.007 centred

	q, k, v = tokens[float32](2000, 1, 3, 3, 4)
	want32 := exact.Forward(dense.Matrix[float32]{}, q, k, v)
	assert.Less(t, relative(f.Forward(dense.Matrix[float32]{}, q, k, v), want32), 0.015)
	most := form(t, exact, clusters.Options{Clusters: math.MaxInt})
	assert.Less(t, relative(most.Forward(dense.Matrix[float32]{}, q, k, v), want32), 0.005)
}
