package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// inBits returns e in 8 bits.
func inBits[T dense.Float](e performer.Exact[T]) performer.Exact[T] {
	return with(e, func(o *performer.ExactOptions) { o.Bits = 8 })
}

// offBy returns ‖got − want‖/‖want‖.
func offBy[T, U dense.Float](got dense.Matrix[T], want dense.Matrix[U]) float64 {
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

// coarseForms are forms that take Bits.
func coarseForms[T dense.Float]() []performer.Exact[T] {
	var all []performer.Exact[T]
	for _, causal := range []bool{false, true} {
		for _, e := range []performer.ExactOptions{
			{}, {Softmax: performer.Softmax{Scale: 0.3}, SinkWeight: 300}, {Softmax: performer.Softmax{Scale: 0.02}}, {Window: 70}, {Window: 300, Sinks: 5}, {Window: 20, Sinks: 320}, {Chunk: 300},
		} {
			e.Causal = causal
			all = append(all, must.Have(performer.NewExact[T](e)))
		}
	}
	return all
}

// parity returns 0 for float32, 1 for float64.
func parity[T dense.Float]() int {
	if _, single := any(T(0)).(float32); single {
		return 0
	}
	return 1
}

func TestBitsAreNearExact(t *testing.T) {
	densetest.Both(t, bitsAreNearExact[float32], bitsAreNearExact[float64])
}

// Of long sequences each form has one type, the other for another length.
func bitsAreNearExact[T dense.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for length, s := range []struct{ n, d, dv int }{{1, 4, 3}, {63, 1, 1}, {300, 16, 7}, {700, 64, 64}, {1100, 80, 20}, {530, 100, 33}} {
		q, k, v := densetest.Normal[T](rng, s.n, s.d, 0.5, 1.5), densetest.Normal[T](rng, s.n, s.d, -3, 1.5), densetest.Normal[T](rng, s.n, s.dv, 0, 1)
		for form, e := range coarseForms[T]() {
			if s.n > 512 && (length+form)%2 != parity[T]() {
				continue
			}
			name := fmt.Sprintf("%+v, %+v", s, e)
			want := e.Forward(dense.Matrix[T]{}, q, k, v)
			got := inBits(e).Forward(dense.Matrix[T]{}, q, k, v)
			assert.Less(t, offBy(got, want), 0.03, name)
			if s.n > 512 && e.Options().Window == 0 {
				assert.False(t, densetest.Identical(got, want), "%s: nothing is rounded", name)
			}
			again := dense.Copy(dense.New[T](s.n, s.dv), q.ColRange(0, min(s.d, s.dv)))
			if s.d == s.dv {
				assert.True(t, densetest.Identical(inBits(e).Forward(again, again, k, v), got), "%s: dst is q", name)
			}
		}
	}
}

// Fewer than 64 queries that see all keys have the bits of exact attention in T.
func TestBitsOfFewQueries(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	q, k, v := densetest.Normal[float32](rng, 64, 20, 0, 1), densetest.Normal[float32](rng, 600, 20, 0, 1), densetest.Normal[float32](rng, 600, 20, 0, 1)
	exact := must.Have(performer.NewExact[float32](performer.ExactOptions{}))
	for _, n := range []int{1, 8, 63, 64} {
		few := q.RowRange(0, n)
		want, got := exact.Forward(dense.Matrix[float32]{}, few, k, v), inBits(exact).Forward(dense.Matrix[float32]{}, few, k, v)
		assert.Equal(t, n < 64, slices.Equal(want.Data, got.Data), "%d queries", n)
	}
	assert.Equal(t, performer.Description{Heads: 1, KeyHeads: 1, IndependentQueries: true, LeastQueries: 64}, inBits(exact).Describe())
	wide := with(exact, func(o *performer.ExactOptions) { o.Bits = 16 })
	assert.Equal(t, exact.Describe(), wide.Describe(), "16 bits compute in T")
}

// Bits do not depend on GOMAXPROCS, on the other queries, or on later tokens.
func TestBitsAreReproducible(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n, d = 1100, 32
	q, k, v := densetest.Normal[float32](rng, n, d, 0, 2), densetest.Normal[float32](rng, n, d, 0, 2), densetest.Normal[float32](rng, n, d, 0, 1)
	none := dense.Matrix[float32]{}
	for _, e := range coarseForms[float32]() {
		e = inBits(e)
		all := e.Forward(none, q, k, v)
		before := runtime.GOMAXPROCS(1)
		assert.True(t, densetest.Identical(e.Forward(none, q, k, v), all), "%+v", e)
		runtime.GOMAXPROCS(before)
		if !e.Options().Causal && e.Options().Window == 0 {
			assert.True(t, densetest.Identical(e.Forward(none, q.RowRange(100, 170), k, v), all.RowRange(100, 170)), "%+v", e)
		}
		for _, m := range []int{1, 255, 256, 257, 600, 1024} {
			if e.Options().Causal {
				assert.True(t, densetest.Identical(e.Forward(none, q.RowRange(0, m), k.RowRange(0, m), v.RowRange(0, m)), all.RowRange(0, m)), "%+v, %d tokens", e, m)
			}
		}
	}
}

// What is not finite makes the outputs NaN that exact attention makes NaN, and no others.
func TestBitsNotFinite(t *testing.T) {
	densetest.Both(t, bitsNotFinite[float32], bitsNotFinite[float64])
}

// What is not finite meets every form at every place, with the types in turn.
func bitsNotFinite[T dense.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const n, d = 600, 8
	none := dense.Matrix[T]{}
	for at, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for place := range 3 {
			m := [3]dense.Matrix[T]{}
			for i := range m {
				m[i] = densetest.Normal[T](rng, n, d, 0, 1)
			}
			m[place].Row(300)[5] = T(x)
			for form, e := range coarseForms[T]() {
				if (at+place+form)%2 != parity[T]() {
					continue
				}
				want, got := e.Forward(none, m[0], m[1], m[2]), inBits(e).Forward(none, m[0], m[1], m[2])
				requireNotFinite(t, want, got, 0.1, "%v in %d, %+v", x, place, e)
			}
		}
	}
}

// requireNotFinite requires that got is what want is where that is not finite, and elsewhere within
// near of it.
func requireNotFinite[T dense.Float](t *testing.T, want, got dense.Matrix[T], near float64, format string, args ...any) {
	t.Helper()
	for i := range want.Rows {
		for j, w := range want.Row(i) {
			g := got.Row(i)[j]
			ok := w == g || w != w && g != g
			if w-w == 0 {
				ok = math.Abs(float64(w)-float64(g)) <= near
			}
			if !ok {
				require.Failf(t, "not as expected", "%s: output %d %d is %v, want %v", fmt.Sprintf(format, args...), i, j, g, w)
			}
		}
	}
}

// Keys that do not count change no bit, whatever they hold, and neither does a past that is given
// beside its tokens.
func TestBitsOfPadding(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	const n, d, pad = 700, 16, 90
	none := dense.Matrix[float32]{}
	q, k, v := densetest.Normal[float32](rng, n, d, 0, 1), densetest.Normal[float32](rng, n, d, 0, 1), densetest.Normal[float32](rng, n, d, 0, 1)
	for _, e := range coarseForms[float32]() {
		if e.Options().Window > 0 && !e.Options().Causal {
			continue // places are those in the sequence, padding among them
		}
		b, err := performer.NewBatch[float32](performer.BatchOptions{Heads: 1}, inBits(e))
		require.NoError(t, err)
		var outs []dense.Matrix[float32]
		for _, x := range []float32{1, -1e30, float32(math.NaN())} {
			valid := make([]bool, n)
			for i := range valid {
				valid[i] = i < n-pad && i%11 != 3
			}
			k, v := k.Clone(), v.Clone()
			for i, counts := range valid {
				for j := range d {
					if !counts {
						k.Row(i)[j], v.Row(i)[j] = x, x
					}
				}
			}
			outs = append(outs, b.ForwardSequences(none, q, k, v, performer.Sequences{Valid: valid}))
		}
		assert.True(t, densetest.Identical(outs[0], outs[1]), "%+v", e)
		assert.True(t, densetest.Identical(outs[0], outs[2]), "%+v", e)
	}
}

// Products of the largest codes, of as many coordinates as fit, do not overflow.
func TestBitsOfExtremes(t *testing.T) {
	const n, d = 300, 4096
	q, k := densetest.Filled[float32](n, d, 1e3), densetest.Filled[float32](n, d, 1e3)
	v := dense.New[float32](n, 1)
	for i := range n {
		if i%2 == 0 {
			k.Row(i)[0] = -1e3
		}
		v.Row(i)[0] = float32(i % 2)
	}
	e := must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Scale: 1e-9}}))
	want := e.Forward(dense.Matrix[float32]{}, q, k, v)
	assert.Less(t, offBy(inBits(e).Forward(dense.Matrix[float32]{}, q, k, v), want), 0.01)
	e = with(e, func(o *performer.ExactOptions) { o.Scale = 1e-3 })
	assert.Less(t, offBy(inBits(e).Forward(dense.Matrix[float32]{}, q, k, v), e.Forward(dense.Matrix[float32]{}, q, k, v)), 0.01)
}

func TestBitsOfNothing(t *testing.T) {
	e, none := must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: 8})), dense.Matrix[float32]{}
	out := e.Forward(none, dense.New[float32](3, 4), dense.New[float32](0, 4), dense.New[float32](0, 2))
	assert.Equal(t, []float32{0, 0, 0, 0, 0, 0}, out.Data)
	assert.Zero(t, e.Forward(none, dense.New[float32](0, 4), dense.New[float32](5, 4), dense.New[float32](5, 2)).Rows)
	_, err := performer.NewExact[float32](performer.ExactOptions{Bits: 5})
	assert.EqualError(t, err, "performer: Bits = 5, want 0, 3, 4, 8 or 16")
}

func TestBitsAllocateNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	q := densetest.Normal[float32](rng, 1000, 32, 0, 1)
	dst := dense.New[float32](1000, 32)
	for _, o := range []performer.ExactOptions{{Bits: 8}, {Softmax: performer.Softmax{Causal: true}, Bits: 8}, {Softmax: performer.Softmax{Causal: true}, Bits: 8, Window: 100}} {
		e := must.Have(performer.NewExact[float32](o))
		assert.Zero(t, allocs.Settled(2, func() { e.Forward(dst, q, q, q) }), "%+v", e)
	}
}
