package performer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer"
)

// cachedForms are forms whose states have codes.
func cachedForms[T dense.Float]() []performer.Exact[T] {
	var all []performer.Exact[T]
	for i, bits := range [][2]int{{8, 8}, {4, 4}, {16, 8}, {4, 16}, {3, 3}} {
		for j, e := range []performer.ExactOptions{
			{}, {Softmax: performer.Softmax{Scale: -0.3}, SinkWeight: 300}, {Softmax: performer.Softmax{Scale: 0.02}}, {Window: 70}, {Window: 300, Sinks: 5}, {Window: 20, Sinks: 320},
			{Softcap: 2}, {Slope: 0.02}, {Chunk: 150}, {Chunk: 64, Softcap: 4}, {Window: 90, Sinks: 70, Slope: 0.01, Softcap: 3},
		} {
			if i < 2 || (i+j)%2 == 0 {
				e.Causal, e.KeyBits, e.ValueBits = true, bits[0], bits[1]
				all = append(all, must.Have(performer.NewExact[T](e)))
			}
		}
	}
	return all
}

// pairedForms are half of cachedForms, such that both types together hit every pair of a type, a
// number of bits and a form.
func pairedForms[T dense.Float]() []performer.Exact[T] {
	var some []performer.Exact[T]
	for i, e := range cachedForms[T]() {
		if i%2 == parity[T]() {
			some = append(some, e)
		}
	}
	return some
}

// streamLength is a number of tokens that e takes apart in all ways: without a window the scores
// that are computed together are not all, and with one tokens are dropped twice.
func streamLength[T dense.Float](e performer.Exact[T]) int {
	if e.Options().Window+e.Options().Chunk > 0 {
		return 2000
	}
	return 1200
}

// unrounded returns e in T.
func unrounded[T dense.Float](e performer.Exact[T]) performer.Exact[T] {
	return with(e, func(o *performer.ExactOptions) { o.Bits, o.KeyBits, o.ValueBits = 0, 0, 0 })
}

// stateOf returns an empty state of heads of queries over heads of keys.
func stateOf[T dense.Float](e performer.Exact[T], heads, keyHeads, d, dv int) *performer.State[T] {
	return must.Have(must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, e)).NewState(d, dv))
}

// Outputs are near those of Forward in T, also of several heads, and of tokens that a window has
// dropped since.
func TestCachesAreNearExact(t *testing.T) {
	densetest.Both(t, cachesAreNearExact[float32], cachesAreNearExact[float64])
}

func cachesAreNearExact[T dense.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range []struct{ n, d, dv, heads, keyHeads int }{
		{300, 16, 7, 2, 1}, {600, 1, 1, 1, 1}, {520, 64, 64, 2, 2}, {700, 20, 33, 3, 1}, {130, 100, 128, 1, 1},
	} {
		normal := func(cols int) dense.Matrix[T] { return densetest.Normal[T](rng, s.n, cols, 0.2, 1) }
		q, k, v := normal(s.heads*s.d), normal(s.keyHeads*s.d), normal(s.keyHeads*s.dv)
		forms := cachedForms[T]()
		if s.n > 512 {
			forms = pairedForms[T]()
		}
		for _, e := range forms {
			n := min(s.n, streamLength(e))
			q, k, v := q.RowRange(0, n), k.RowRange(0, n), v.RowRange(0, n)
			want := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: s.heads, KeyHeads: s.keyHeads}, unrounded(e))).Forward(dense.Matrix[T]{}, q, k, v)
			got := stateOf(e, s.heads, s.keyHeads, s.d, s.dv).Step(dense.Matrix[T]{}, q, k, v)
			off, most := offBy(got, want), map[int]float64{16: 0.015, 8: 0.015, 4: 0.2, 3: 0.4}[e.Options().KeyBits]
			assert.Less(t, off, most, "%+v, %+v", s, e)
			if e.Options().Window+e.Options().Chunk == 0 && s.n > 127 {
				assert.NotZero(t, off, "%+v, %+v: nothing is rounded", s, e)
			}
		}
	}
}

// What is not finite makes the outputs NaN that exact attention makes NaN, and no others.
func TestCachesNotFinite(t *testing.T) {
	densetest.Both(t, cachesNotFinite[float32], cachesNotFinite[float64])
}

func cachesNotFinite[T dense.Float](t *testing.T) {
	rng, none := rand.New(rand.NewPCG(9, 10)), dense.Matrix[T]{}
	const n, d, at = 150, 8, 70 // the segment of the token closes
	for which, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for place := range 3 {
			m := [3]dense.Matrix[T]{}
			for i := range m {
				m[i] = densetest.Normal[T](rng, n, d, 0, 1)
			}
			m[place].Row(at)[5] = T(x)
			for form, e := range cachedForms[T]() {
				if (which+place+form)%2 != parity[T]() || which == 2 && form%2 == 0 {
					continue
				}
				want := unrounded(e).Forward(none, m[0], m[1], m[2])
				got := stateOf(e, 1, 1, d, d).Step(none, m[0], m[1], m[2])
				requireNotFinite(t, want, got, 0.5, "%v in %d, %+v", x, place, e)
			}
		}
	}
}

// A token has its codes, 4 bytes for each of two scales, and 2 bytes and a little for each of two
// means. With a window, bytes are of the tokens that the last query sees.
//
//ci:portable
func TestCachesBytes(t *testing.T) {
	const d, heads, keyHeads, more = 64, 4, 2, 1024
	k := dense.New[float32](more, keyHeads*d)
	for bits, want := range map[int]float64{0: 512, 16: 268.125, 8: 140.125, 4: 76.125} {
		e := must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: bits}))
		s := stateOf(e, heads, keyHeads, d, d)
		s.Append(k, k)
		before := len(must.Have(s.MarshalBinary()))
		s.Append(k, k)
		assert.InDelta(t, keyHeads*more*want, float64(len(must.Have(s.MarshalBinary()))-before), 64, "%d bits", bits)
		if bits == 0 {
			continue
		}
		for _, window := range []int{63, 4096} {
			s := stateOf(with(e, func(o *performer.ExactOptions) { o.Window = window }), heads, keyHeads, d, d)
			for range 6 {
				s.Append(k, k)
			}
			s.Append(k.RowRange(0, 40), k.RowRange(0, 40))
			most := keyHeads*(want*float64(window+1+2*64)+40*512) + 2000 // metadata
			assert.Less(t, float64(len(must.Have(s.MarshalBinary()))), most, "%d bits, a window of %d", bits, window)
		}
	}
}

// Scores of the largest size, and queries of zeros.
func TestCachesOfExtremes(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, norm := range []float64{0, 1e-30, 1, 30, 1e4, 1e18} {
		q, k := densetest.Normal[float32](rng, 600, 24, 0, norm), densetest.Normal[float32](rng, 600, 24, 0, norm)
		v := densetest.Filled[float32](600, 2, 1)
		for i := range v.Rows {
			v.Row(i)[1] = float32(i % 2)
		}
		for _, bits := range []int{8, 4} {
			out := must.Have(must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: bits})).NewState(24, 2)).Step(dense.Matrix[float32]{}, q, k, v)
			for i := range out.Rows {
				most := 1.3 / math.Exp2(float64(bits))
				require.InDelta(t, 1, out.Row(i)[0], most, "norm %v, row %d", norm, i)
				require.True(t, -most <= float64(out.Row(i)[1]) && float64(out.Row(i)[1]) <= 1+most, "norm %v, row %d: %v", norm, i, out.Row(i)[1])
			}
		}
	}
}

// A step allocates nothing while there is room, and neither does a token that is taken back.
func TestCachesAllocateNothing(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	rng := rand.New(rand.NewPCG(15, 16))
	const d, heads, keyHeads = 64, 4, 2
	q, k := densetest.Normal[float32](rng, 2000, heads*d, 0, 1), densetest.Normal[float32](rng, 2000, keyHeads*d, 0, 1)
	dst := dense.New[float32](1, heads*d)
	for _, e := range []performer.ExactOptions{{Bits: 8}, {Bits: 4}, {Bits: 8, ValueBits: 16, Slope: 0.1, Softcap: 5}, {Bits: 8, Window: 50, Sinks: 2}} {
		s := stateOf(must.Have(performer.NewExact[float32](e)), heads, keyHeads, d, d)
		s.Append(k, k)
		start, mark := s.Snapshot(nil), s.Snapshot(nil)
		i := 0
		assert.Zero(t, allocs.Settled(2, func() {
			s.Step(dst, q.RowRange(i, i+1), k.RowRange(i, i+1), k.RowRange(i, i+1))
			s.Snapshot(mark)
			s.Append(k.RowRange(i, i+3), k.RowRange(i, i+3))
			s.Rollback(mark)
			if i++; i == 50 {
				s.Rollback(start)
				i = 0
			}
		}), "%+v", e)
	}
}
