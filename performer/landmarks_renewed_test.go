package performer_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// Between two doublings attention has the landmarks that a call with the keys of the past would
// choose, and all keys are summed. Later tokens, GOMAXPROCS, other processors' calls and the way
// queries are cut into calls change no bit.
func testRenewedLandmarks[T dense.Float](t *testing.T) {
	const dv, r, n = 3, 10, 150
	var none dense.Matrix[T]
	for _, d := range []int{1, 4, 7} {
		exact := must.Have(performer.NewExact[T](performer.ExactOptions{Causal: true}))
		q, k, v := densetest.Decaying[T](1, n, d, 2), densetest.Decaying[T](2, n, d, 2), densetest.Decaying[T](3, n, dv, 1)
		l := must.Have(performer.NewLandmarks[T](exact.Options(), r, densetest.Source(5)))
		got := l.Forward(none, q, k, v)
		want := exact.Forward(none, q, k, v)
		require.Less(t, frobeniusError(got.RowRange(0, 2*r), wide(want.RowRange(0, 2*r))), 8*densetest.Roundoff[T](), "the first tokens")
		for begin := 2 * r; begin < n; begin *= 2 {
			end := min(2*begin, n)
			rows := l.Chosen(k.RowRange(0, begin))
			z := dense.New[T](len(rows), d)
			for i, row := range rows {
				require.Less(t, row, begin)
				copy(z.Row(i), k.Row(row))
			}
			given := must.Have(performer.NewBatch[T](1, 1, must.Have(performer.NewLandmarksAt(exact.Options(), z))))
			part := given.ForwardSequences(none, q.RowRange(begin, end), k.RowRange(0, end), v.RowRange(0, end),
				performer.Sequences{Queries: []int{end - begin}, Keys: []int{end}, Past: []int{begin}})
			if len(rows) == r { // another stride cuts blocks elsewhere
				require.Less(t, frobeniusError(got.RowRange(begin, end), wide(part)), 3e4*densetest.Roundoff[T](), "d = %d, from %d", d, begin)
			}
		}

		batch := must.Have(performer.NewBatch[T](1, 1, l))
		for _, first := range []int{1, 19, 20, 21, 45, 80, n - 1} {
			last := batch.ForwardSequences(none, q.RowRange(first, n), k, v, performer.Sequences{Queries: []int{n - first}, Keys: []int{n}, Past: []int{first}})
			require.True(t, densetest.Identical(got.RowRange(first, n), last), "from %d", first)
		}
		before := runtime.GOMAXPROCS(3)
		again := l.Forward(none, q, k, v)
		runtime.GOMAXPROCS(before)
		require.True(t, densetest.Identical(got, again))
		for _, cut := range []int{1, 20, 45, 90} {
			spoilt := [3]dense.Matrix[T]{q.Clone(), k.Clone(), v.Clone()}
			for _, m := range spoilt {
				for i := cut; i < n; i++ {
					layout.Fill(m.Row(i), T(math.NaN()))
				}
			}
			require.True(t, densetest.Identical(got.RowRange(0, cut), l.Forward(none, spoilt[0], spoilt[1], spoilt[2]).RowRange(0, cut)), "cut %d", cut)
		}

		// Padding, on either side, has no effect.
		const left, right = 9, 5
		valid := make([]bool, left+n+right)
		var padded [3]dense.Matrix[T]
		for i, m := range []dense.Matrix[T]{q, k, v} {
			padded[i] = dense.New[T](len(valid), m.Cols)
			layout.Fill(padded[i].Data, T(math.NaN()))
			dense.Copy(padded[i].RowRange(left, left+n), m)
		}
		for i := range n {
			valid[left+i] = true
		}
		out := batch.ForwardSequences(none, padded[0], padded[1], padded[2], performer.Sequences{Valid: valid})
		require.True(t, densetest.Identical(got, out.RowRange(left, left+n).Clone()))
		holes := make([]bool, n)
		for i := range holes {
			holes[i] = i%3 == 0
		}
		kept := batch.ForwardSequences(none, q, k, v, performer.Sequences{Valid: holes})
		for _, x := range kept.Data {
			require.False(t, math.IsNaN(float64(x)))
		}
	}
}

func TestRenewedLandmarks(t *testing.T) {
	densetest.Both(t, testRenewedLandmarks[float32], testRenewedLandmarks[float64])
}

// Where later keys are not like the first ones, landmarks that are chosen anew have a fraction of
// the error of landmarks among the first keys: 0.29 and 1.1 here.
func TestRenewedLandmarksFollowTheText(t *testing.T) {
	const n, d, r = 1500, 6, 48
	var none dense.Matrix[float64]
	rng := rand.New(densetest.Source(8))
	words := densetest.Normal[float64](rng, 100, d, 0, 1)
	k := dense.New[float64](n, d)
	for i := range n {
		word := words.Row(rng.IntN(1 + i*100/n)) // new words all along
		for j := range d {
			k.Row(i)[j] = 1.2*word[j] + 0.1*rng.NormFloat64()
		}
	}
	q, v := k, densetest.Normal[float64](rng, n, d, 0, 1)
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{Causal: true}))
	want := exact.Forward(none, q, k, v)
	renewed := frobeniusError(must.Have(performer.NewLandmarks[float64](exact.Options(), r, densetest.Source(9))).Forward(none, q, k, v), want)
	first := frobeniusError(must.Have(performer.NewLandmarksAt(exact.Options(), k.RowRange(0, r))).Forward(none, q, k, v), want)
	t.Logf("errors %.3f and %.3f", renewed, first)
	assert.Less(t, renewed, 0.4*first)
}

func TestRenewedLandmarksErrors(t *testing.T) {
	l := must.Have(performer.NewLandmarks[float64](performer.ExactOptions{Causal: true}, 5, densetest.Source(1)))
	assert.EqualError(t, l.CanBackward(), "performer: causal Landmarks have no derivatives")
	_, err := l.NewState(3, 2)
	assert.EqualError(t, err, "performer: the Landmarks choose anew among all keys, which a state does not keep: want those of NewLandmarksAt")
}

// One form serves goroutines.
//
//ci:race
func TestRenewedLandmarksShared(t *testing.T) {
	l := must.Have(performer.NewLandmarks[float32](performer.ExactOptions{Causal: true}, 6, densetest.Source(1)))
	q, k, v := densetest.Decaying[float32](1, 90, 5, 2), densetest.Decaying[float32](2, 90, 5, 2), densetest.Decaying[float32](3, 90, 2, 1)
	want := l.Forward(dense.Matrix[float32]{}, q, k, v)
	results := make(chan dense.Matrix[float32])
	for range 4 {
		go func() { results <- l.Forward(dense.Matrix[float32]{}, q, k, v) }()
	}
	for range 4 {
		require.Equal(t, want.Data, (<-results).Data)
	}
}
