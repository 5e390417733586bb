package blocks_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/npy"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/blocks"
)

// text returns queries, keys and values of n tokens of a text whose topic, one of ten, changes
// after 320 tokens: the queries and keys of a topic are near one point.
func text[T dense.Float](n, d, dv int, seed uint64) (q, k, v dense.Matrix[T]) {
	rng := rand.New(densetest.Source(seed))
	topics := densetest.Sphere[T](rng, 10, d, 6)
	q, k = densetest.Normal[T](rng, n, d, 0, 0.5), densetest.Normal[T](rng, n, d, 0, 0.5)
	topic := 0
	for i := range n {
		if i%320 == 0 {
			topic = rng.IntN(10)
		}
		for j, x := range topics.Row(topic) {
			q.Row(i)[j] += x
			k.Row(i)[j] += x
		}
	}
	return q, k, densetest.Normal[T](rng, n, dv, 0, 1)
}

// settings are options whose choice of blocks matters, the first two with a causal mask.
var settings = []blocks.Options{
	{Softmax: performer.Softmax{Scale: 0.7, Causal: true}, Threshold: 0.2}, {Softmax: performer.Softmax{Scale: 0.7, Causal: true}, Threshold: 0.2, EightBits: true},
	{Softmax: performer.Softmax{Scale: 0.7}, Threshold: 0.2}, {Softmax: performer.Softmax{Scale: 0.7}, Threshold: 0.2, EightBits: true},
}

// exactOf returns exact attention with the Softmax of o.
func exactOf[T dense.Float](o blocks.Options) performer.Exact[T] {
	return must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: o.Softmax}))
}

// With the Threshold 0 outputs are those of exact attention: the same bits in T, and the error of
// rounding in 8 bits, of which a block of causal queries has none in its own block of keys.
func TestExact(t *testing.T) {
	densetest.Both(t, testExact[float32], testExact[float64])
}

func testExact[T dense.Float](t *testing.T) {
	q, k, v := text[T](700, 24, 13, 1)
	for _, causal := range []bool{true, false} {
		o := blocks.Options{Softmax: performer.Softmax{Causal: causal}}
		plain := must.Have(blocks.New[T](o))
		o.EightBits = true
		coded := must.Have(blocks.New[T](o))
		for n := 1; n <= 700; n++ {
			if n > 66 && n%29 != 0 {
				continue
			}
			a, b, c := q.RowRange(0, n), k.RowRange(0, n), v.RowRange(0, n)
			want := exactOf[T](o).Forward(dense.Matrix[T]{}, a, b, c)
			require.True(t, densetest.Identical(want, plain.Forward(dense.Matrix[T]{}, a, b, c)), n)
			got := coded.Forward(dense.Matrix[T]{}, a, b, c)
			if causal && n <= 64 {
				require.LessOrEqual(t, densetest.Distance(got, want), 20*densetest.Roundoff[T](), n)
			} else {
				require.Less(t, densetest.Distance(got, want), 0.03, n)
			}
		}
	}
}

// A few keys or values far larger than the others, with weights of nearly zero, leave the errors of
// rounding to 8 bits as they are without them.
func TestOutliers(t *testing.T) { densetest.Both(t, testOutliers[float32], testOutliers[float64]) }

func testOutliers[T dense.Float](t *testing.T) {
	const n, d = 600, 16
	rng := rand.New(rand.NewPCG(1, 2))
	q, k, v := densetest.Normal[T](rng, n, d, 0, 1.5), densetest.Normal[T](rng, n, d, 0, 1.5), densetest.Normal[T](rng, n, d, 0, 1)
	for i := range n {
		q.Row(i)[0] = 5 // a key with a large negative coordinate 0 has no weight
	}
	for _, causal := range []bool{false, true} {
		o := blocks.Options{Softmax: performer.Softmax{Causal: causal}, Threshold: 1e-6, EightBits: true}
		off := func(k, v dense.Matrix[T]) float64 {
			want := exactOf[T](o).Forward(dense.Matrix[T]{}, q, k, v)
			return densetest.Distance(must.Have(blocks.New[T](o)).Forward(dense.Matrix[T]{}, q, k, v), want)
		}
		without := off(k, v)
		assert.Less(t, without, 0.03)
		for _, size := range []float64{10, 1e3, 1e9} {
			for _, places := range [][]int{{3}, {1, 70, 257, 330, 500}} {
				keys, values := k.Clone(), v.Clone()
				for _, i := range places {
					keys.Row(i)[0] = T(-10 * size)
					values.Row(i)[2] = T(10 * size)
				}
				assert.Less(t, off(keys, v), 1.3*without+0.002, "keys of %g at %v", size, places)
				assert.Less(t, off(keys, values), 1.3*without+0.002, "values of %g at %v", size, places)
			}
		}
	}
}

// A causal output depends on no later token, and no output depends on the number of processors;
// outputs may overwrite queries.
func TestBits(t *testing.T) {
	densetest.Both(t, testBits[float32], testBits[float64])
}

func testBits[T dense.Float](t *testing.T) {
	const n = 600
	q, k, v := text[T](n, 16, 16, 2)
	for _, o := range settings {
		a := must.Have(blocks.New[T](o))
		want := a.Forward(dense.Matrix[T]{}, q, k, v)
		_, read := a.ForwardThresholds(q, k, v, []int{n - 1}, []float64{o.Threshold})
		require.Less(t, read[0][0], n/2, "the test is about a choice")
		for _, m := range []int{1, 64, 65, 128, 191, 192, 300, 511} {
			if !o.Causal {
				break
			}
			require.True(t, densetest.Identical(want.RowRange(0, m), a.Forward(dense.Matrix[T]{}, q.RowRange(0, m), k.RowRange(0, m), v.RowRange(0, m))), m)
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e30, -1e36, 3e38, 1e5} {
				x, y, z := q.Clone(), k.Clone(), v.Clone()
				for i := m; i < n; i++ {
					for _, row := range [][]T{x.Row(i), y.Row(i), z.Row(i)} {
						row[i%len(row)] = T(bad)
					}
				}
				require.True(t, densetest.Identical(want.RowRange(0, m), a.Forward(dense.Matrix[T]{}, x, y, z).RowRange(0, m)), m)
			}
		}
		for _, processors := range []int{1, 3} {
			before := runtime.GOMAXPROCS(processors)
			got := a.Forward(dense.Matrix[T]{}, q, k, v)
			runtime.GOMAXPROCS(before)
			require.True(t, densetest.Identical(want, got))
		}
		x := q.Clone()
		require.True(t, densetest.Identical(want, a.Forward(x, x, k, v)))
	}
}

// ForwardThresholds has the outputs of Forward, and reads more with smaller thresholds.
func TestForwardThresholds(t *testing.T) {
	densetest.Both(t, testForwardThresholds[float32], testForwardThresholds[float64])
}

func testForwardThresholds[T dense.Float](t *testing.T) {
	const n = 500
	q, k, v := text[T](n, 16, 8, 3)
	rows, thresholds := []int{0, 63, 64, 70, 127, 128, 300, 301, 301, 383, 499}, []float64{0.9, 0.3, 0.3, 0.01}
	for _, o := range settings {
		outs, read := must.Have(blocks.New[T](o)).ForwardThresholds(q, k, v, rows, thresholds)
		for i, threshold := range thresholds {
			o.Threshold = threshold
			want := must.Have(blocks.New[T](o)).Forward(dense.Matrix[T]{}, q, k, v)
			for j, row := range rows {
				require.Less(t, densetest.Distance(outs[i].RowRange(j, j+1), want.RowRange(row, row+1)), 30*densetest.Roundoff[float32](), row)
				if o.Causal && row < 128 {
					require.Equal(t, row+1, read[i][j])
				}
				if i > 0 {
					require.GreaterOrEqual(t, read[i][j], read[i-1][j])
				}
			}
		}
		assert.Greater(t, read[3][10], read[0][10])
	}
	a := must.Have(blocks.New[T](settings[0]))
	assert.PanicsWithValue(t, "blocks: rows[1] = 2, want ascending rows of q, which is 500×16", func() { a.ForwardThresholds(q, k, v, []int{3, 2}, thresholds) })
	assert.PanicsWithValue(t, "blocks: thresholds[1] = 0.2, want descending numbers above 0 and below 1", func() { a.ForwardThresholds(q, k, v, rows, []float64{0.1, 0.2}) })
}

// Heads that share keys, and sequences with padding, have the bits of Forward for the tokens of
// each head and each sequence alone. What stands in rows that do not count changes nothing.
func TestBatch(t *testing.T) {
	densetest.Both(t, testBatch[float32], testBatch[float64])
}

func testBatch[T dense.Float](t *testing.T) {
	const n, d, left = 300, 16, 37
	for _, o := range settings {
		a := must.Have(blocks.New[T](o))
		batch := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: 3, KeyHeads: 1}, a))
		q, k, v := dense.New[T](n, 3*d), dense.Matrix[T]{}, dense.Matrix[T]{}
		want := dense.New[T](n, 3*d)
		for h := range 3 {
			var x dense.Matrix[T]
			x, k, v = text[T](n, d, d, 4)
			for i := range n {
				for j := range d {
					q.Row(i)[h*d+j] = x.Row((i + 5*h) % n)[j]
				}
			}
			a.Forward(want.ColRange(h*d, h*d+d), q.ColRange(h*d, h*d+d), k, v)
		}
		require.True(t, densetest.Identical(want, batch.Forward(dense.Matrix[T]{}, q, k, v)))
		padded := func(x dense.Matrix[T]) dense.Matrix[T] {
			y := densetest.Filled(n+left+9, x.Cols, T(math.NaN()))
			dense.Copy(y.RowRange(left, left+n), x)
			return y
		}
		s := performer.Sequences{Queries: []int{n + left + 9}, Keys: []int{n + left + 9}, Valid: make([]bool, n+left+9)}
		for i := left; i < left+n; i++ {
			s.Valid[i] = true
		}
		if got := batch.ForwardSequences(dense.Matrix[T]{}, padded(q), padded(k), padded(v), s); o.Causal {
			require.True(t, densetest.Identical(want, got.RowRange(left, left+n)))
		}
		for i := left + 70; i < left+90; i++ {
			s.Valid[i] = false
		}
		x, y, z := padded(q), padded(k), padded(v)
		first := batch.ForwardSequences(dense.Matrix[T]{}, x, y, z, s)
		for i := left + 70; i < left+90; i++ {
			if y.Row(i)[1], z.Row(i)[2] = T(math.Inf(1)), T(math.NaN()); o.Causal {
				x.Row(i)[0] = T(math.NaN())
			}
		}
		again := batch.ForwardSequences(dense.Matrix[T]{}, x, y, z, s)
		require.True(t, densetest.Identical(first.RowRange(left+90, left+n), again.RowRange(left+90, left+n)))
		exact := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: 3, KeyHeads: 1}, exactOf[T](o))).ForwardSequences(dense.Matrix[T]{}, padded(q), padded(k), padded(v), s)
		require.Less(t, densetest.Distance(again.RowRange(left+90, left+n), exact.RowRange(left+90, left+n)), 0.25)
	}
}

// Later queries over a cache of keys see them all if the queries that choose are not in the call.
func TestPast(t *testing.T) {
	const n, past = 500, 210
	q, k, v := text[float32](n, 16, 16, 5)
	for _, o := range settings[:2] {
		a := must.Have(blocks.New[float32](o))
		whole := a.Forward(dense.Matrix[float32]{}, q, k, v)
		got := a.ForwardSequences(dense.Matrix[float32]{}, q.RowRange(past, n), k, v, performer.Sequences{Queries: []int{n - past}, Keys: []int{n}, Past: []int{past}})
		require.True(t, densetest.Identical(whole.RowRange(320, n), got.RowRange(320-past, n-past)))
		exact := exactOf[float32](o).Forward(dense.Matrix[float32]{}, q, k, v)
		require.Less(t, densetest.Distance(got.RowRange(0, 320-past), exact.RowRange(past, 320)), 0.02)
	}
}

// Without a mask there may be more queries than keys, and the reverse. Few queries read all keys.
func TestCross(t *testing.T) {
	densetest.Both(t, testCross[float32], testCross[float64])
}

func testCross[T dense.Float](t *testing.T) {
	q, k, v := text[T](900, 16, 12, 9)
	for _, o := range settings[2:] {
		a, exact := must.Have(blocks.New[T](o)), exactOf[T](o)
		for _, c := range []struct {
			queries, keys int
			most          float64 // error
		}{{900, 333, 0.25}, {100, 900, 0.25}, {8, 900, 0.03}, {1, 1, 0.03}, {64, 0, 0}, {0, 64, 0}} {
			x, y, z := q.RowRange(0, c.queries), k.RowRange(0, c.keys), v.RowRange(0, c.keys)
			want, got := exact.Forward(dense.Matrix[T]{}, x, y, z), a.Forward(dense.Matrix[T]{}, x, y, z)
			if c.most == 0 {
				require.Equal(t, want, got)
				outs, _ := a.ForwardThresholds(x, y, z, []int{0}[:min(c.queries, 1)], []float64{0.5})
				require.Empty(t, slices.DeleteFunc(outs[0].Data, func(v T) bool { return v == 0 }))
				continue
			}
			require.LessOrEqual(t, densetest.Distance(got, want), c.most, "%+v", c)
			rows := make([]int, c.queries)
			for i := range rows {
				rows[i] = i
			}
			outs, read := a.ForwardThresholds(x, y, z, rows, []float64{o.Threshold})
			require.LessOrEqual(t, densetest.Distance(outs[0], got), 30*densetest.Roundoff[float32]())
			require.LessOrEqual(t, slices.Max(read[0]), c.keys)
			if c.queries < 9 {
				require.Equal(t, c.keys, read[0][0])
			}
		}
	}
	causal := must.Have(blocks.New[T](settings[0]))
	assert.Panics(t, func() { causal.ForwardThresholds(q.RowRange(0, 9), k, v, nil, nil) })
}

// Keys, queries and values that are hard.
func TestHard(t *testing.T) {
	densetest.Both(t, testHard[float32], testHard[float64])
}

func testHard[T dense.Float](t *testing.T) {
	const n, at = 640, 100
	nan, inf := T(math.NaN()), T(math.Inf(1))
	for _, c := range []struct {
		name   string
		change func(q, k, v dense.Matrix[T])
		most   float64 // error
	}{
		{"equal keys", func(q, k, v dense.Matrix[T]) {
			for i := range k.Rows {
				copy(k.Row(i), k.Row(0))
			}
		}, 0.5},
		{"a far key", func(q, k, v dense.Matrix[T]) {
			for j := range k.Row(at) {
				k.Row(at)[j] *= 1000
			}
		}, 0.2},
		{"a needle", func(q, k, v dense.Matrix[T]) { // the queries from 320 on seek key at
			for i := 320; i < n; i++ {
				copy(q.Row(i), k.Row(at))
			}
			for j := range k.Row(at) {
				k.Row(at)[j] *= 3
			}
		}, 0.2},
		{"NaN in a key", func(q, k, v dense.Matrix[T]) { k.Row(at)[3] = nan }, 0.2},
		{"Inf in a key", func(q, k, v dense.Matrix[T]) { k.Row(at)[3] = inf }, 0.2},
		{"NaN in a query", func(q, k, v dense.Matrix[T]) { q.Row(200)[3] = nan }, 0.2},
		{"Inf in scored queries", func(q, k, v dense.Matrix[T]) { q.Row(240)[3], q.Row(248)[3] = inf, inf }, 0.2},
		{"NaN in a value", func(q, k, v dense.Matrix[T]) { v.Row(at)[3] = nan }, 0.2},
		{"Inf in a value", func(q, k, v dense.Matrix[T]) { v.Row(at)[3] = inf }, 0.2},
		{"large values", func(q, k, v dense.Matrix[T]) {
			for i := range v.Data {
				v.Data[i] *= T(densetest.Largest[T]() / 16)
			}
		}, 0.2},
	} {
		for _, o := range settings {
			q, k, v := text[T](n, 16, 16, 6)
			c.change(q, k, v)
			got, want := must.Have(blocks.New[T](o)).Forward(dense.Matrix[T]{}, q, k, v), exactOf[T](o).Forward(dense.Matrix[T]{}, q, k, v)
			most := T(0)
			for i, x := range want.Data {
				if x-x == 0 {
					most = max(most, x, -x)
				}
				require.Equal(t, x-x == 0, got.Data[i]-got.Data[i] == 0, "%s: element %d is %v, want %v", c.name, i, got.Data[i], x)
			}
			for i, x := range want.Data {
				if want.Data[i], got.Data[i] = x/most, got.Data[i]/most; x-x != 0 {
					want.Data[i], got.Data[i] = 0, 0
				}
			}
			assert.LessOrEqual(t, densetest.Distance(got, want), c.most, c.name)
		}
	}
}

// Diffuse attention reads nearly everything.
func TestDiffuse(t *testing.T) {
	const n = 1024
	rng := rand.New(densetest.Source(7))
	q, k, v := densetest.Normal[float32](rng, n, 16, 0, 1), densetest.Normal[float32](rng, n, 16, 0, 1), densetest.Normal[float32](rng, n, 16, 0, 1)
	for _, o := range settings {
		_, read := must.Have(blocks.New[float32](o)).ForwardThresholds(q, k, v, []int{n - 1}, []float64{0.05})
		assert.Greater(t, read[0][0], n*8/10)
	}
}

// On heads of a language model errors and the keys that are read grow and fall with the Threshold.
func TestSmolLM2(t *testing.T) {
	const n = 2048
	files, err := filepath.Glob("../../examples/attention/smollm2/*/q.npy")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the heads are in a module of their own, which is not here")
	}
	for _, file := range files {
		var x []dense.Matrix[float32]
		for _, name := range []string{"q.npy", "k.npy", "v.npy"} {
			data, shape, err := npy.ReadFile[float32](filepath.Join(filepath.Dir(file), name))
			require.NoError(t, err)
			x = append(x, dense.Of(shape[1], shape[2], data).RowRange(0, n))
		}
		var rows []int
		for i := 7; i < n; i += 16 {
			rows = append(rows, i)
		}
		for _, o := range settings {
			o.Scale = 0
			want := exactOf[float32](o).Forward(dense.Matrix[float32]{}, x[0], x[1], x[2])
			thresholds, before, keys := []float64{0.3, 0.1, 0.03, 0.01}, 1.0, 0
			_, read := must.Have(blocks.New[float32](o)).ForwardThresholds(x[0], x[1], x[2], rows, thresholds)
			for i, threshold := range thresholds {
				o.Threshold = threshold
				name := fmt.Sprintf("%s, %+v", filepath.Dir(file), o)
				a := must.Have(blocks.New[float32](o))
				e, sum := densetest.Distance(a.Forward(dense.Matrix[float32]{}, x[0], x[1], x[2]), want), 0
				for _, r := range read[i] {
					sum += r
				}
				assert.Less(t, e, before, name)
				assert.Greater(t, sum, keys, name)
				before, keys = e, sum
			}
			assert.Less(t, before, 0.05)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		o    blocks.Options
		want string
	}{
		{blocks.Options{Softmax: performer.Softmax{Scale: -1}}, "blocks: Scale = -1, want a finite float32 of at least 0"},
		{blocks.Options{Softmax: performer.Softmax{Scale: 1e39}}, "blocks: Scale = 1e+39, want a finite float32 of at least 0"},
		{blocks.Options{Threshold: 1}, "blocks: Threshold = 1, want at least 0 and less than 1"},
		{blocks.Options{Threshold: math.NaN()}, "blocks: Threshold = NaN, want at least 0 and less than 1"},
	} {
		_, err := blocks.New[float32](c.o)
		assert.EqualError(t, err, c.want)
	}
	a := must.Have(blocks.New[float64](blocks.Options{}))
	_, err := a.NewState(4, 4)
	assert.ErrorContains(t, err, "want Exact attention")
	assert.NoError(t, a.CanBackward())
}

// Means of 1000 in keys and in values leave scores and outputs, apart from the mean, as far from
// exact attention as without. Keys without coordinates have equal weights.
func TestLargeMeansAndNoCoordinates(t *testing.T) {
	densetest.Both(t, testLargeMeans[float32], testLargeMeans[float64])
}

func testLargeMeans[T dense.Float](t *testing.T) {
	var none dense.Matrix[T]
	for _, o := range settings {
		var errs []float64
		for _, mean := range []T{0, 1000} {
			q, k, v := text[T](1300, 16, 12, 4)
			for i := range k.Data {
				k.Data[i] += mean
			}
			for i := range v.Data {
				v.Data[i] += mean
			}
			want, got := exactOf[T](o).Forward(none, q, k, v), must.Have(blocks.New[T](o)).Forward(none, q, k, v)
			for i := range want.Data {
				want.Data[i] -= mean
				got.Data[i] -= mean
			}
			errs = append(errs, floats.Norm(densetest.RelativeErrors(got, want), 2))
		}
		assert.Greater(t, errs[0], 0.0)
		assert.InEpsilon(t, errs[0], errs[1], 0.1, "%+v", o)

		_, _, v := text[T](700, 1, 3, 5)
		q := dense.New[T](700, 0)
		o.Threshold = 0
		want, got := exactOf[T](o).Forward(none, q, q, v), must.Have(blocks.New[T](o)).Forward(none, q, q, v)
		assert.Less(t, slices.Max(densetest.RelativeErrors(got, want)), 700*densetest.Roundoff[T](), "%+v", o)
	}
}
