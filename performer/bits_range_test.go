package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// uniform returns numbers within ±size.
func uniform[T dense.Float](rng *rand.Rand, n, d int, size float64) dense.Matrix[T] {
	x := dense.New[T](n, d)
	for i := range x.Data {
		x.Data[i] = T((2*rng.Float64() - 1) * size)
	}
	return x
}

// times returns x·size.
func times[T dense.Float](x dense.Matrix[T], size float64) dense.Matrix[T] {
	y := x.Clone()
	for i, v := range y.Data {
		y.Data[i] = T(float64(v) * size)
	}
	return y
}

// inDouble returns the outputs of e in float64 without bits.
func inDouble[T dense.Float](e performer.Exact[T], q, k, v dense.Matrix[T]) dense.Matrix[float64] {
	wide := func(x dense.Matrix[T]) dense.Matrix[float64] { return dense.Copy(dense.Matrix[float64]{}, x) }
	o := e.Options()
	double := must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Scale: o.Scale, Causal: o.Causal}, Window: o.Window, Sinks: o.Sinks}))
	return double.Forward(dense.Matrix[float64]{}, wide(q), wide(k), wide(v))
}

// requireWithin requires that all of got is finite and within a part of the largest value of want.
func requireWithin[T dense.Float](t *testing.T, want dense.Matrix[float64], got dense.Matrix[T], part, largest float64, text string) {
	t.Helper()
	for i := range want.Rows {
		for j, w := range want.Row(i) {
			if off := math.Abs(float64(got.Row(i)[j]) - w); !(off <= part*largest) {
				require.Failf(t, "not near", "%s: output %d %d is %v, want %v", text, i, j, got.Row(i)[j], w)
			}
		}
	}
}

// Values, keys and queries of all sizes, and one huge value among small ones, have outputs near
// those of float64, with the errors that ordinary ones have.
func TestBitsRange(t *testing.T) {
	densetest.Both(t, bitsRange[float32], bitsRange[float64])
}

func bitsRange[T dense.Float](t *testing.T) {
	const n, d, dv = 300, 16, 5
	none := dense.Matrix[T]{}
	sizes := []float64{1e30, 3e38, 1e-30, 1e-42}
	if parity[T]() == 1 {
		sizes = []float64{1e36, 1e38, 1e300, 1e-310}
	}
	for _, size := range sizes {
		for _, what := range []string{"values", "a value", "keys and queries", "queries and keys", "keys", "queries"} {
			rng := rand.New(rand.NewPCG(21, 22))
			q, k, v := uniform[T](rng, n, d, 1), uniform[T](rng, n, d, 1), uniform[T](rng, n, dv, 1)
			peak, other := 1.0, 1/size
			switch {
			case what == "values":
				v, peak = times(v, size), size
			case what == "a value":
				v.Row(100)[3], peak = T(size), max(1, size)
			case size > 1 && (what == "keys" || what == "queries"):
				continue // weights are all 0 or 1
			case math.IsInf(float64(T(other)), 0):
				continue
			case what == "keys and queries":
				q, k = times(q, other), times(k, size)
			case what == "queries and keys":
				q, k = times(q, size), times(k, other)
			case what == "keys":
				k = times(k, size)
			case what == "queries":
				q = times(q, size)
			}
			for _, o := range []performer.ExactOptions{{Softmax: performer.Softmax{Scale: 1}}, {Softmax: performer.Softmax{Scale: 1, Causal: true}}, {Softmax: performer.Softmax{Scale: 1, Causal: true}, Window: 90, Sinks: 5}} {
				e := must.Have(performer.NewExact[T](o))
				text := fmt.Sprintf("%s of %g, %+v", what, size, e)
				want := inDouble(e, q, k, v)
				requireWithin(t, want, inBits(e).Forward(none, q, k, v), 0.06, peak, text)
				if !e.Options().Causal {
					continue
				}
				for bits, part := range map[int]float64{8: 0.02, 4: 0.25} {
					e := with(e, func(o *performer.ExactOptions) { o.Bits = bits })
					requireWithin(t, want, stateOf(e, 1, 1, d, dv).Step(none, q, k, v), part, peak, text+" of a state")
				}
			}
		}
	}
}

// A score that would overflow as a number of parts of an octave, or before it is multiplied by the
// scale of a query, counts.
func TestBitsOfLargeScores(t *testing.T) {
	const n = 512
	none := dense.Matrix[float32]{}
	k, v := dense.New[float32](n, 1), dense.New[float32](n, 1)
	for j := range n {
		k.Row(j)[0] = 1e17
		if j < 256 {
			k.Row(j)[0] = []float32{0.67e17, 2.03e17}[j%2]
			v.Row(j)[0] = float32(1 - j%2)
		}
	}
	out := must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Scale: 1}, Bits: 8})).Forward(none, densetest.Filled[float32](3, 1, -1e18), k, v)
	assert.InDeltaSlice(t, []float32{1, 1, 1}, out.Data, 0.01)

	const d = 16
	keys := dense.New[float32](n, d)
	for j := range n {
		v.Row(j)[0] = float32(j) / n
		for l := range d {
			keys.Row(j)[l] = 1e36 * (1 + float32(j)/n)
		}
	}
	e := must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Scale: 1}, Bits: 8}))
	q := densetest.Filled[float32](1, d, -1e-36)
	s := stateOf(e, 1, 1, d, 1)
	s.Append(keys, v)
	requireWithin(t, inDouble(e, q, keys, v), s.Attend(none, q), 0.02, 1, "keys of 1e36")
}

// Values times a power of two have the bits of the outputs times that power, up to the largest
// numbers of float32, whose sums overflow. Outputs of float64 have those of float32 in their range.
func TestBitsScale(t *testing.T) {
	densetest.Both(t, bitsScale[float32], bitsScale[float64])
}

func bitsScale[T dense.Float](t *testing.T) {
	const n, d, dv, heads, keyHeads = 600, 16, 7, 2, 1
	rng, none := rand.New(rand.NewPCG(23, 24)), dense.Matrix[T]{}
	q, k, v := uniform[T](rng, n, heads*d, 2), uniform[T](rng, n, d, 2), uniform[T](rng, n, dv, 1)
	for _, e := range coarseForms[T]() {
		e = inBits(e)
		b := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, e))
		want := b.ForwardSequences(none, q, k, v, performer.Sequences{})
		got := b.ForwardSequences(none, q, k, times(v, 0x1p126), performer.Sequences{})
		require.Less(t, offBy(times(got, 0x1p-126), want), 0.03, "sums of a tile overflow")
		for _, size := range []float64{0x1p80, 0x1p118} {
			got := b.ForwardSequences(none, q, k, times(v, size), performer.Sequences{})
			require.True(t, densetest.Identical(times(want, size), got), "%+v, %g", e, size)
		}
		if e.Options().Causal {
			v := v.Clone()
			for i := 530; i < n; i++ {
				v.Row(i)[2] = 3e38
			}
			got := b.ForwardSequences(none, q, k, v, performer.Sequences{})
			assert.True(t, densetest.Identical(want.RowRange(0, 530), got.RowRange(0, 530)), "%+v with large values later", e)
		}
	}
	for _, bits := range []int{8, 4, 3} {
		e := must.Have(performer.NewExact[T](performer.ExactOptions{Bits: bits}))
		want := stateOf(e, heads, keyHeads, d, dv).Step(none, q, k, v)
		for _, size := range []float64{0x1p80, 0x1p118, 0x1p126} {
			x := times(v, size)
			s := stateOf(e, heads, keyHeads, d, dv)
			got := s.Step(none, q, k, x)
			// sums of tokens that are no codes overflow, and 3 bits keep elements
			if size == 0x1p126 {
				require.Less(t, offBy(times(got, 1/size), want), map[int]float64{8: 0.01, 4: 0.01, 3: 0.2}[bits], "%d bits", bits)
			} else {
				require.True(t, densetest.Identical(times(want, size), got), "%d bits, %g", bits, size)
			}

			mark := s.Snapshot(nil)
			last := s.Attend(none, q.RowRange(n-1, n))
			s.Append(k.RowRange(0, 200), x.RowRange(0, 200))
			s.Rollback(mark)
			require.True(t, densetest.Identical(last, s.Attend(none, q.RowRange(n-1, n))))
			read := stateOf(e, heads, keyHeads, d, dv)
			require.NoError(t, read.UnmarshalBinary(must.Have(s.MarshalBinary())))
			require.True(t, densetest.Identical(last, read.Attend(none, q.RowRange(n-1, n))))
			require.NoError(t, read.Merge(s))
			twice := read.Attend(none, q.RowRange(n-1, n))
			require.Less(t, offBy(times(twice, 1/size), times(last, 1/size)), map[int]float64{8: 0.12, 4: 0.12, 3: 0.25}[bits])
		}
	}
}
