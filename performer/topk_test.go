package performer_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer"
)

// topKOptions are options of exact attention with a TopK of 64.
var topKOptions = []performer.ExactOptions{
	{TopK: 64}, {TopK: 64, Bits: 4}, {TopK: 64, Bits: 8}, {TopK: 64, Bits: 3}, {TopK: 64, KeyBits: 16, ValueBits: 4}, {TopK: 64, Softcap: 3}, {TopK: 64, Slope: 0.01},
	{TopK: 64, SinkWeight: 2}, {TopK: 64, Window: 400, Sinks: 7}, {TopK: 64, Bits: 8, Window: 400, Sinks: 70, Slope: 0.01}, {TopK: 64, Chunk: 300},
}

// Up to TopK + 127 tokens outputs have the bits of exact attention, and beyond they are near.
func TestTopKIsExactForFewTokens(t *testing.T) {
	densetest.Both(t, testTopKIsExact[float32], testTopKIsExact[float64])
}

func testTopKIsExact[T dense.Float](t *testing.T) {
	const heads, keyHeads, d, dv, n = 4, 2, 16, 20, 300
	rng := rand.New(densetest.Source(801))
	q, k, v := densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, keyHeads*d, 0.5, 1), densetest.Normal[T](rng, n, keyHeads*dv, 1, 1)
	for _, o := range topKOptions {
		whole := o
		whole.TopK = 0
		s, exact := stateOf(must.Have(performer.NewExact[T](o)), heads, keyHeads, d, dv), stateOf(must.Have(performer.NewExact[T](whole)), heads, keyHeads, d, dv)
		got := s.Step(dense.Matrix[T]{}, q, k, v)
		want := exact.Step(dense.Matrix[T]{}, q, k, v)
		same := n
		if o.Window == 0 && o.Chunk == 0 {
			same = o.TopK + 127
		}
		require.True(t, densetest.Identical(want.RowRange(0, min(same, 191)), got.RowRange(0, min(same, 191))), "%+v", o)
		errs := densetest.RelativeErrors(got, want)
		require.Less(t, slices.Max(errs), 0.3, "%+v", o)
		require.NotZero(t, slices.Max(errs), "%+v: TopK has an effect", o)
	}
}

// Outputs do not depend on how a stream is divided into calls, on processors, on where outputs are
// written, and on copies, files and rollbacks.
func TestTopKCalls(t *testing.T) { densetest.Both(t, testTopKCalls[float32], testTopKCalls[float64]) }

func testTopKCalls[T dense.Float](t *testing.T) {
	const heads, keyHeads, d, n = 4, 2, 8, 450
	rng := rand.New(densetest.Source(802))
	q, k, v := densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, keyHeads*d, 0, 1), densetest.Normal[T](rng, n, keyHeads*d, 0, 1)
	none := dense.Matrix[T]{}
	paced := []performer.ExactOptions{{TopK: 64, Tolerance: 0.3}, {TopK: 64, Tolerance: 0.5, Bits: 8}, {TopK: 40, Tolerance: 0.5, Window: 400, Bits: 4}}
	for _, o := range append(paced, topKOptions...) {
		s := stateOf(must.Have(performer.NewExact[T](o)), heads, keyHeads, d, d)
		want := s.Step(none, q, k, v)
		old := runtime.GOMAXPROCS(1)
		again := stateOf(must.Have(performer.NewExact[T](o)), heads, keyHeads, d, d)
		for i, n := 0, 0; i < q.Rows; i += n {
			if n = min(1+rng.IntN(40), q.Rows-i); i%3 == 0 {
				n = 1
			}
			part := q.RowRange(i, i+n)
			out := part.Clone()
			switch rng.IntN(5) {
			case 0:
				again = again.Clone()
			case 1:
				other := stateOf(must.Have(performer.NewExact[T](o)), heads, keyHeads, d, d)
				require.NoError(t, other.UnmarshalBinary(must.Have(again.MarshalBinary())))
				again = other
			case 2:
				mark := again.Snapshot(nil)
				again.Step(none, q.RowRange(0, 20), v.RowRange(0, 20), k.RowRange(0, 20))
				again.Rollback(mark)
			}
			if n == 1 && o.Tolerance == 0 { // Attend measures nothing
				again.Append(k.RowRange(i, i+1), v.RowRange(i, i+1))
				out = again.Attend(out, out)
			} else {
				out = again.Step(out, out, k.RowRange(i, i+n), v.RowRange(i, i+n))
			}
			require.True(t, densetest.Identical(want.RowRange(i, i+n), out), "%+v: rows %d to %d", o, i, i+n)
		}
		runtime.GOMAXPROCS(old)
		keys, errs := s.TopK()
		keysAgain, errsAgain := again.TopK()
		assert.Equal(t, keys, keysAgain)
		assert.Equal(t, errs, errsAgain)
		if o.Tolerance > 0 {
			assert.Greater(t, floats.Sum(errs), 0., "%+v", o)
			assert.NotEqual(t, slices.Repeat([]int{o.TopK}, heads), keys, "%+v", o)
			s.Reset()
			assert.True(t, densetest.Identical(want, s.Step(none, q, k, v)), "%+v", o)
		}
	}
}

// Each head has its own TopK, and reads all keys without one. Heads of queries of one head of keys
// read all of its keys until each may choose.
func TestTopKOfHeads(t *testing.T) {
	const d, n, from = 16, 900, 300
	rng := rand.New(densetest.Source(803))
	q, k, v := densetest.Normal[float32](rng, n, 6*d, 0, 1), densetest.Normal[float32](rng, n, 3*d, 0, 1), densetest.Normal[float32](rng, n, 3*d, 0, 1)
	for _, bits := range []int{0, 4} {
		var heads []performer.Attention[float32]
		topK := []int{0, 0, 20, 50, 100, 100}
		for _, n := range topK {
			heads = append(heads, must.Have(performer.NewExact[float32](performer.ExactOptions{TopK: n, Bits: bits})))
		}
		s := must.Have(must.Have(performer.NewBatch(performer.BatchOptions{Heads: 6, KeyHeads: 3}, heads...)).NewState(d, d))
		got := s.Step(dense.Matrix[float32]{}, q, k, v)
		for h, most := range topK {
			alone := stateOf(must.Have(performer.NewExact[float32](performer.ExactOptions{TopK: most, Bits: bits})), 1, 1, d, d)
			want := alone.Step(dense.Matrix[float32]{}, q.ColRange(h*d, h*d+d), k.ColRange(h/2*d, h/2*d+d), v.ColRange(h/2*d, h/2*d+d))
			assert.True(t, densetest.Identical(want.RowRange(from, n), got.RowRange(from, n).ColRange(h*d, h*d+d).Clone()), "head %d, %d bits", h, bits)
		}
		assert.Equal(t, 1, s.Units())
	}
}

// A State takes the tokens of a State with another TopK, which later outputs do not depend on.
func TestTopKOfOtherStates(t *testing.T) {
	const d, n = 16, 600
	rng := rand.New(densetest.Source(804))
	k, v, q := densetest.Normal[float64](rng, n, d, 0, 1), densetest.Normal[float64](rng, n, d, 0, 1), densetest.Normal[float64](rng, 1, d, 0, 1)
	for _, bits := range []int{0, 8} {
		var states, wants []*performer.State[float64]
		for _, topK := range []int{0, 30, 60} {
			s := stateOf(must.Have(performer.NewExact[float64](performer.ExactOptions{TopK: topK, Bits: bits})), 1, 1, d, d)
			s.Append(k, v)
			states, wants = append(states, s), append(wants, s.Clone())
		}
		for i, s := range states {
			for j, from := range wants {
				s.Reset()
				require.NoError(t, s.Merge(from))
				merged := s.Attend(dense.Matrix[float64]{}, q)
				require.NoError(t, s.UnmarshalBinary(must.Have(from.MarshalBinary())))
				want := wants[i].Attend(dense.Matrix[float64]{}, q)
				require.Equal(t, want, merged, "%d of %d, %d bits", i, j, bits)
				require.Equal(t, want, s.Attend(dense.Matrix[float64]{}, q), "%d of %d, %d bits", i, j, bits)
			}
		}
	}
}

// attendBoth returns the output of a query with a TopK over tokens, and the exact output.
func attendBoth[T dense.Float](o performer.ExactOptions, q, k, v dense.Matrix[T]) (got, want dense.Matrix[T]) {
	for _, topK := range []int{o.TopK, 0} {
		o.TopK = topK
		s := stateOf(must.Have(performer.NewExact[T](o)), 1, 1, k.Cols, v.Cols)
		s.Append(k, v)
		got, want = want, s.Attend(dense.Matrix[T]{}, q)
	}
	return got, want
}

// A key with half of the weight of its query is found at every place.
func TestTopKFindsNeedles(t *testing.T) {
	densetest.Both(t, testNeedles[float32], testNeedles[float64])
}

func testNeedles[T dense.Float](t *testing.T) {
	const d, n, streams, each = 32, 1200, 10, 10
	rng := rand.New(densetest.Source(805))
	for _, bits := range []int{0, 3, 4, 8, 16} {
		k, v := densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, d, 0, 1)
		found := 0
		for range streams {
			needles, values, queries := k.Clone(), v.Clone(), densetest.Normal[T](rng, each, d, 0, 1)
			for i, at := range rng.Perm(n - 128)[:each] {
				q, total := queries.Row(i), 0.0
				for j := range n {
					total += math.Exp(float64(vecmath.Dot(q, k.Row(j))) / math.Sqrt(d))
				}
				for l, x := range q {
					needles.Row(at)[l] = T(float64(x) * math.Sqrt(d) * math.Log(total) / float64(vecmath.Dot(q, q)))
				}
				values.Row(at)[i] = 100
			}
			got, want := attendBoth(performer.ExactOptions{TopK: 32, Bits: bits}, queries, needles, values)
			for i := range each {
				if got.At(i, i) > 0.8*want.At(i, i) && want.At(i, i) > 30 {
					found++
				}
			}
		}
		assert.Equal(t, streams*each, found, "%d bits", bits)
	}
}

// The error falls as more keys are read. Nothing is dropped, so that a query with nearly equal
// weights has a small error.
func TestTopKErrors(t *testing.T) {
	const d, n, queries = 64, 6000, 16
	rng := rand.New(densetest.Source(806))
	// Neighbours are alike, some directions are loud, and values have a mean.
	k, v := densetest.Normal[float32](rng, n, d, 0, 1), densetest.Normal[float32](rng, n, d, 0, 1)
	for i := 1; i < n; i++ {
		for l := range d {
			k.Row(i)[l] = 0.6*k.Row(i - 1)[l] + 0.8*k.Row(i)[l]
			v.Row(i)[l] = 0.6*v.Row(i - 1)[l] + 0.8*v.Row(i)[l]
		}
	}
	for i := range n {
		k.Row(i)[5] *= 4
		k.Row(i)[9] += 10
		v.Row(i)[7] += 5
	}
	q := densetest.Normal[float32](rng, queries, d, 0, 1)
	for _, sharpness := range []float32{0.1, 1, 3} {
		sharp := q.Clone()
		for i := range sharp.Data {
			sharp.Data[i] *= sharpness
		}
		last := math.Inf(1)
		for _, topK := range []int{64, 256, 1024} {
			mean := 0.0
			got, want := attendBoth(performer.ExactOptions{TopK: topK}, sharp, k, v)
			for _, e := range densetest.RelativeErrors(got, want) {
				mean += e / queries
			}
			t.Logf("sharpness %v, TopK %d: %.4f", sharpness, topK, mean)
			assert.Less(t, mean, map[int]float64{64: 0.25, 256: 0.1, 1024: 0.05}[topK], "sharpness %v", sharpness)
			assert.Less(t, mean, max(last, 0.01), "sharpness %v, TopK = %d", sharpness, topK)
			last = mean
		}
	}
}

// What is not finite, very large or very small, and keys that are alike, have the outputs of exact
// attention, within a bound where outputs are finite.
func TestTopKOfOddTokens(t *testing.T) {
	densetest.Both(t, testTopKOfOddTokens[float32], testTopKOfOddTokens[float64])
}

func testTopKOfOddTokens[T dense.Float](t *testing.T) {
	const d, n, topK = 16, 900, 64
	inf := T(math.Inf(1))
	for name, c := range map[string]struct {
		change func(k, v dense.Matrix[T])
		bound  float64
	}{
		"NaN in a key":              {func(k, _ dense.Matrix[T]) { k.Row(700)[3] = T(math.NaN()) }, 0},
		"NaN in a value":            {func(_, v dense.Matrix[T]) { v.Row(700)[3] = T(math.NaN()) }, 0},
		"infinity in a key":         {func(k, _ dense.Matrix[T]) { k.Row(700)[3] = inf }, 1e-5},
		"infinity in a value":       {func(_, v dense.Matrix[T]) { v.Row(700)[3] = -inf }, 0},
		"a key of 1e36":             {func(k, _ dense.Matrix[T]) { scaleRow(k, 700, 1e36) }, 0.3},
		"values of 1e36":            {func(_, v dense.Matrix[T]) { scaleAll(v, 1e36) }, 0.3},
		"values of 1e-36":           {func(_, v dense.Matrix[T]) { scaleAll(v, 1e-36) }, 0.3},
		"keys of 1e-30":             {func(k, _ dense.Matrix[T]) { scaleAll(k, 1e-30) }, 0.05},
		"keys of zero":              {func(k, _ dense.Matrix[T]) { scaleAll(k, 0) }, 1e-2},
		"values of zero":            {func(_, v dense.Matrix[T]) { scaleAll(v, 0) }, 0},
		"equal keys":                {func(k, _ dense.Matrix[T]) { repeat(k, 1) }, 1e-2},
		"keys that repeat":          {func(k, _ dense.Matrix[T]) { repeat(k, 5) }, 0.3},
		"equal tokens":              {func(k, v dense.Matrix[T]) { repeat(k, 1); repeat(v, 1) }, 1e-3},
		"one far key":               {func(k, _ dense.Matrix[T]) { scaleRow(k, 700, 30) }, 0.3},
		"a far key in each group":   {func(k, _ dense.Matrix[T]) { everyRow(k, 60, 30) }, 0.3},
		"a far value in each group": {func(_, v dense.Matrix[T]) { everyRow(v, 60, 30) }, 0.5},
	} {
		for _, bits := range []int{0, 3, 4, 8, 16} {
			rng := rand.New(densetest.Source(807))
			q, k, v := densetest.Normal[T](rng, 8, d, 0, 1), densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, d, 0.5, 1)
			c.change(k, v)
			got, want := attendBoth(performer.ExactOptions{TopK: topK, Bits: bits}, q, k, v)
			for i := range want.Rows {
				var error, norm float64
				for l, w := range want.Row(i) {
					g := got.Row(i)[l]
					switch {
					case w-w != 0 || g-g != 0:
						require.True(t, w == g || w != w && g != g, "%s, %d bits: %v, want %v", name, bits, g, w)
					default:
						error, norm = math.Hypot(error, float64(g)-float64(w)), math.Hypot(norm, float64(w))
					}
				}
				require.LessOrEqual(t, error, c.bound*norm+1e-44, "%s, %d bits, query %d", name, bits, i)
			}
		}
	}
}

func scaleRow[T dense.Float](x dense.Matrix[T], i int, factor T) {
	for l := range x.Row(i) {
		x.Row(i)[l] *= factor
	}
}

func scaleAll[T dense.Float](x dense.Matrix[T], factor T) {
	for i := range x.Rows {
		scaleRow(x, i, factor)
	}
}

func everyRow[T dense.Float](x dense.Matrix[T], step int, factor T) {
	for i := 0; i < x.Rows; i += step {
		scaleRow(x, i, factor)
	}
}

// repeat sets all rows to the first few in turn.
func repeat[T dense.Float](x dense.Matrix[T], few int) {
	for i := few; i < x.Rows; i++ {
		copy(x.Row(i), x.Row(i%few))
	}
}

// A step allocates nothing, on one processor and on several.
func TestTopKAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	const heads, d = 4, 16
	rng := rand.New(densetest.Source(808))
	x, dst := densetest.Normal[float32](rng, 1000, heads*d, 0, 1), dense.New[float32](1, heads*d)
	for _, o := range []performer.ExactOptions{{TopK: 64}, {TopK: 64, Bits: 4}, {TopK: 64, Tolerance: 0.2}, {TopK: 64, Tolerance: 0.2, Bits: 8}} {
		s := stateOf(must.Have(performer.NewExact[float32](o)), heads, heads, d, d)
		s.Append(x, x)
		mark := s.Snapshot(nil)
		for _, processors := range []int{1, 2} {
			assert.Zero(t, allocs.Settled(processors, func() { s.Attend(dst, x.RowRange(7, 8)) }), "%+v, %d processors", o, processors)
			assert.Zero(t, allocs.Settled(processors, func() {
				for i := range 64 {
					s.Step(dst, x.RowRange(i, i+1), x.RowRange(i, i+1), x.RowRange(i, i+1))
				}
				s.Rollback(mark)
			}), "%+v, %d processors", o, processors)
		}
	}
}

// Means of a thousand spreads in keys and values hardly change the error, against float64 without
// codes and over the spread of the outputs.
func TestTopKOfLargeMeans(t *testing.T) {
	densetest.Both(t, testTopKOfLargeMeans[float32], testTopKOfLargeMeans[float64])
}

func testTopKOfLargeMeans[T dense.Float](t *testing.T) {
	const d, n, topK, queries = 32, 2000, 128, 32
	for _, bits := range []int{0, 3, 4, 8} {
		var first float64
		// of keys and of values
		for _, mean := range [][2]float64{{0, 0}, {1000, 0}, {0, 1000}, {-1000, 1000}} {
			rng := rand.New(densetest.Source(809))
			q, k, v := densetest.Normal[float64](rng, queries, d, 0, 1), densetest.Normal[float64](rng, n, d, mean[0], 1), densetest.Normal[float64](rng, n, d, 0, 1)
			for i := range n {
				for l := range d {
					if i > 0 {
						v.Row(i)[l] = 0.9*v.Row(i - 1)[l] + 0.4*v.Row(i)[l]
					}
				}
			}
			for i := range v.Data {
				v.Data[i] += mean[1]
			}
			_, want := attendBoth(performer.ExactOptions{TopK: topK}, q, k, v)
			narrow := func(x dense.Matrix[float64]) dense.Matrix[T] { return dense.Copy(dense.Matrix[T]{}, x) }
			got, _ := attendBoth(performer.ExactOptions{TopK: topK, Bits: bits}, narrow(q), narrow(k), narrow(v))
			var errors, norm float64
			for i := range queries {
				for l, w := range want.Row(i) {
					errors, norm = math.Hypot(errors, float64(got.At(i, l))-w), math.Hypot(norm, w-mean[1])
				}
			}
			t.Logf("%d bits, means %v: %.4f", bits, mean, errors/norm)
			if first == 0 {
				first = errors / norm
			}
			assert.InEpsilon(t, first, errors/norm, 0.1, "%d bits, means %v", bits, mean)
		}
	}
}
