package performer_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// Wherever log-features are numbers attention is the average of values that their sums
// ask for, whatever computes it: bidirectional and causal attention, streams token by
// token and in chunks, merged states and states that were stored.
func TestFarLogarithms(t *testing.T) {
	densetest.Both(t, testFar[float32], testFar[float64])
}

func testFar[T dense.Float](t *testing.T) {
	const n, m, dv = 70, 4, 2
	rng := rand.New(densetest.Source(301))
	v := densetest.Normal[T](rng, n, dv, 0, 1)
	values := dense.Copy(dense.Matrix[float64]{}, v)
	features := logarithms[T](m)
	var none dense.Matrix[T]
	for _, s := range scenes[T](n, m) {
		bidirectional, causal := attention(features, performer.LinearOptions{}), attention(features, performer.LinearOptions{Causal: true})
		want, tol := s.truth(causal).attend(values)
		densetest.RequireClose(t, want, tol, causal.Forward(none, s.q, s.k, v), "%s: causal", s.name)
		state := must.Have(causal.NewState(performer.InsideOf(causal).D, dv))
		densetest.RequireClose(t, want, tol, state.Step(none, s.q, s.k, v), "%s: step", s.name)

		want, tol = s.truth(bidirectional).attend(values)
		got := bidirectional.Forward(none, s.q, s.k, v)
		densetest.RequireClose(t, want, tol, got, "%s: bidirectional", s.name)
		requireAverages(t, got, v, "%s", s.name)
		densetest.RequireClose(t, want, tol, state.Attend(none, s.q), "%s: attend", s.name)
		densetest.RequireClose(t, rowOf(want, 0), rowOf(tol, 0), state.Attend(none, rowOf(s.q, 0)), "%s: attend one", s.name)

		var parts [4]*performer.State[T] // the last is empty
		for p := range parts {
			parts[p] = must.Have(bidirectional.NewState(performer.InsideOf(bidirectional).D, dv))
		}
		parts[0].Append(s.k.RowRange(0, 30), v.RowRange(0, 30))
		for i := 30; i < 40; i++ {
			parts[1].Append(rowOf(s.k, i), rowOf(v, i))
		}
		parts[2].Append(s.k.RowRange(40, n), v.RowRange(40, n))
		for _, order := range [][]int{{0, 1, 2, 3}, {2, 3, 1, 0}, {3, 1, 0, 2}} {
			whole := parts[order[0]].Clone()
			for _, p := range order[1:] {
				require.NoError(t, whole.Merge(parts[p]))
			}
			densetest.RequireClose(t, want, tol, whole.Attend(none, s.q), "%s: merged %v", s.name, order)

			again := must.Have(bidirectional.NewState(performer.InsideOf(bidirectional).D, dv))
			require.NoError(t, again.UnmarshalBinary(must.Have(whole.MarshalBinary())))
			last := n - 1
			require.True(t, densetest.Identical(whole.Step(none, rowOf(s.q, last), rowOf(s.k, last), rowOf(v, last)),
				again.Step(none, rowOf(s.q, last), rowOf(s.k, last), rowOf(v, last))), "%s: a state that was stored", s.name)
		}
	}
}

// No bit depends on the number of chunks in a batch nor on processors, and none of a row
// on what follows it.
func TestFarBits(t *testing.T) {
	densetest.Both(t, testFarBits[float32], testFarBits[float64])
}

func testFarBits[T dense.Float](t *testing.T) {
	const n, m = 200, 3
	rng := rand.New(densetest.Source(302))
	v := densetest.Normal[T](rng, n, 2, 0, 1)
	for _, s := range scenes[T](n, m) {
		bidirectional, causal := attention(logarithms[T](m), performer.LinearOptions{}), attention(logarithms[T](m), performer.LinearOptions{Causal: true})
		want := dense.New[T](n, 2)
		performer.InsideOf(causal).Engine.ForwardCausal(1, want, s.q, s.k, v, nil)
		for _, processors := range []int{2, 5} {
			got := dense.New[T](n, 2)
			performer.InsideOf(causal).Engine.ForwardCausal(processors, got, s.q, s.k, v, nil)
			require.True(t, densetest.Identical(want, got), "%s: batches of %d processors", s.name, processors)
		}
		var all dense.Matrix[T]
		for _, processors := range []int{1, 2, 5} {
			before := runtime.GOMAXPROCS(processors)
			got := bidirectional.Forward(dense.Matrix[T]{}, s.q, s.k, v)
			runtime.GOMAXPROCS(before)
			if processors == 1 {
				all = got
			}
			require.True(t, densetest.Identical(all, got), "%s: %d processors", s.name, processors)
		}

		const at = 131
		for _, bad := range []float64{math.NaN(), math.Inf(1), 3, densetest.Largest[T](), -densetest.Largest[T]()} {
			q, k := s.q.Clone(), s.k.Clone()
			for i := at; i < n; i++ {
				q.Set(i, i%m, T(bad))
				k.Set(i, i%m, T(bad))
			}
			got := causal.Forward(dense.Matrix[T]{}, q, k, v)
			require.True(t, densetest.Identical(want.RowRange(0, at), got.RowRange(0, at)), "%s: %v from row %d", s.name, bad, at)
			hides := 0
			for i := at; i < n; i++ {
				if !hasNaN(got.Row(i)) {
					hides++
				}
			}
			if bad-bad != 0 {
				require.Zero(t, hides, "%s: %v", s.name, bad)
			} else {
				require.Equal(t, n-at, hides, "%s: %v", s.name, bad)
			}
		}
	}
}

// Points far out through the features of the softmax kernel: the averages are those of the
// log-features, and where one key dominates, which is for both kernels the one that is
// the query, they are exact attention.
func TestFarPoints(t *testing.T) {
	densetest.Both(t, testFarPoints[float32], testFarPoints[float64])
}

func testFarPoints[T dense.Float](t *testing.T) {
	const n, d, m = 66, 64, 32
	rng := rand.New(densetest.Source(304))
	v := densetest.Normal[T](rng, n, 2, 0, 1)
	values := dense.Copy(dense.Matrix[float64]{}, v)
	phi := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1.0 / 8}, maptest.Frequencies[T](m, d)))
	mixed := densetest.Normal[T](rng, n, d, 0, 1)
	for i := 2; i < n; i += 3 {
		for j := range d {
			mixed.Row(i)[j] *= 1e8
		}
	}
	alike := densetest.Filled[T](n, d, 1e10)
	for name, x := range map[string]dense.Matrix[T]{
		"alike": alike, "norm 1e5": densetest.Sphere[T](rng, n, d, 1e5), "norm 1e10": densetest.Sphere[T](rng, n, d, 1e10),
		"norms about 1e10": densetest.Normal[T](rng, n, d, 0, 1e9), "mixed": mixed, "norm 1e19": densetest.Sphere[T](rng, n, d, 1e19),
	} {
		for _, opts := range forms {
			a := attention[T](phi, opts)
			want, tol := truthOf(a, x, x).attend(values)
			got := a.Forward(dense.Matrix[T]{}, x, x, v)
			densetest.RequireClose(t, want, tol, got, "%s %+v", name, opts)
			if name == "alike" {
				average := attention[T](rowMap[T]{in: d, out: 1, row: func(phi, _ []T) { phi[0] = 1 }}, opts).Forward(dense.Matrix[T]{}, x, x, v)
				densetest.RequireClose(t, dense.Copy(dense.Matrix[float64]{}, average), densetest.Filled(n, 2, 4*n*densetest.Roundoff[T]()), got, "%+v", opts)
			}
		}
	}

	q := densetest.Sphere[T](rng, n, d, 1e5)
	k := dense.New[T](n, d)
	for j := range n {
		for c, x := range q.Row(0) {
			k.Row(j)[c] = x
			if j%9 != 4 {
				k.Row(j)[c] = -x
			}
		}
	}
	for i := range n {
		copy(q.Row(i), q.Row(0))
	}
	want := must.Have(performer.NewExact[T](performer.ExactOptions{})).Forward(dense.Matrix[T]{}, q, k, v)
	got := attention[T](phi, performer.LinearOptions{}).Forward(dense.Matrix[T]{}, q, k, v)
	densetest.RequireClose(t, dense.Copy(dense.Matrix[float64]{}, want), densetest.Filled(n, 2, 64*densetest.Roundoff[T]()), got, "as exact attention")
}

// What is not a number is not hidden among far ones, and weights of zero have the outcomes
// that they have elsewhere.
func TestFarLimits(t *testing.T) {
	densetest.Both(t, testFarLimits[float32], testFarLimits[float64])
}

func testFarLimits[T dense.Float](t *testing.T) {
	inf, nan, far := T(math.Inf(1)), T(math.NaN()), T(densetest.Largest[T]()*0.9)
	v := dense.Of(3, 1, []T{2, 4, 8})
	for _, c := range []struct {
		q, k []T // rows of two features
		want T
	}{
		{[]T{far, far}, []T{far, -far, far, -far, -far, far}, 14.0 / 3},
		{[]T{far, -far}, []T{far, 0, -far, 0, 0, far}, 2},
		{[]T{-inf, 0}, []T{far, far, 0, -far, far, -far}, 2},
		{[]T{-inf, -inf}, []T{far, far, 0, -far, far, -far}, nan},
		{[]T{-inf, far}, []T{far, -inf, 0, -inf, far, -inf}, nan},
		{[]T{far, far}, []T{-inf, -inf, -inf, -inf, -inf, -inf}, nan},
		{[]T{0, 0}, []T{-inf, -inf, -far, -inf, -inf, -inf}, 4},
		{[]T{far, nan}, []T{far, 0, far, 0, far, 0}, nan},
		{[]T{inf, 0}, []T{far, 0, far, 0, far, 0}, nan},
		{[]T{far, 0}, []T{far, 0, far, nan, far, 0}, nan},
		{[]T{far, 0}, []T{far, 0, far, inf, far, 0}, nan}, // a weight of zero times Inf
	} {
		for _, opts := range forms {
			q, k, want := dense.New[T](3, 2), dense.Of(3, 2, c.k), c.want
			for i := range 3 {
				copy(q.Row(i), c.q)
			}
			a := attention(logarithms[T](2), opts)
			s := must.Have(a.NewState(performer.InsideOf(a).D, 1))
			for name, got := range map[string]dense.Matrix[T]{"forward": a.Forward(dense.Matrix[T]{}, q, k, v), "step": s.Step(dense.Matrix[T]{}, q, k, v)} {
				if last := got.At(2, 0); want-want != 0 || want == 0 {
					assert.True(t, densetest.Identical(dense.Of(1, 1, []T{want}), dense.Of(1, 1, []T{last})), "%s %+v %+v: %v", name, opts, c, got.Data)
				} else {
					assert.InEpsilon(t, float64(want), float64(last), 8*densetest.Roundoff[T](), "%s %+v %+v", name, opts, c)
				}
			}
		}
	}
}

// Where half the squared norm is out of range the log-features of a point are −Inf: a key
// there has no weight, and a query has nothing but weights of zero.
func TestPointsOutOfRange(t *testing.T) {
	densetest.Both(t, testOutOfRange[float32], testOutOfRange[float64])
}

func testOutOfRange[T dense.Float](t *testing.T) {
	const n, d, m = 5, 4, 16
	rng := rand.New(densetest.Source(305))
	out := densetest.Sphere[T](rng, n, d, of[T](1e20, 1e155))
	in, v := densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, 2, 0, 1)
	mixed := in.Clone()
	copy(mixed.Row(3), out.Row(3))
	counts := []bool{true, true, true, false, true}
	for _, opts := range forms {
		a := attention(maptest.Positive[T](m, d), opts)
		state := func(k dense.Matrix[T]) *performer.State[T] {
			s := must.Have(a.NewState(performer.InsideOf(a).D, 2))
			s.Append(k, v)
			return s
		}
		var none dense.Matrix[T]
		kept := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: 1}, a)).ForwardSequences(none, in, in, v, performer.Sequences{Valid: counts})
		got := a.Forward(none, in, mixed, v)
		tol := densetest.Filled(n, 2, 2*(n+m)*densetest.Roundoff[T]()) // two sums of n + m terms
		densetest.RequireClose(t, dense.Copy(dense.Matrix[float64]{}, kept), tol, got, "%+v: a key out of range has no weight", opts)
		if !opts.Causal {
			densetest.RequireClose(t, dense.Copy(dense.Matrix[float64]{}, got), tol, state(mixed).Attend(none, in), "the same in a state")
		}
		for i := range n {
			assert.Equal(t, i == 3, hasNaN(a.Forward(none, mixed, in, v).Row(i)), "%+v: query %d", opts, i)
			assert.True(t, hasNaN(a.Forward(none, in, out, v).Row(i)), "%+v: no key in range, query %d", opts, i)
			assert.Equal(t, i == 3, hasNaN(state(in).Attend(none, mixed).Row(i)), "%+v: query %d of a state", opts, i)
			assert.True(t, hasNaN(state(out).Attend(none, in).Row(i)), "%+v: no key of a state in range, query %d", opts, i)
		}

		// Log-features of the largest numbers are −Inf + ∞.
		copy(mixed.Row(3), densetest.Filled(1, d, T(densetest.Largest[T]())).Data)
		got = a.Forward(none, in, mixed, v)
		for i := range n {
			assert.Equal(t, i >= 3 || !opts.Causal, hasNaN(got.Row(i)), "%+v: query %d", opts, i)
		}
		copy(mixed.Row(3), out.Row(3))
	}
}
