package performer_test

import (
	"math"
	"math/rand/v2"
	"runtime/debug"
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

// Token by token and in chunks, a State has the rows of causal attention, for grouped heads too,
// and the same bits however the stream is cut.
func testStateOfLandmarks[T dense.Float](t *testing.T) {
	const d, dv, n = 4, 3, 90
	none := dense.Matrix[T]{}
	for _, plain := range []bool{false, true} {
		for _, r := range []int{10, 100} {
			for _, heads := range [][2]int{{1, 1}, {4, 2}} {
				l := must.Have(performer.NewLandmarksAt(performer.ExactOptions{Causal: true, Unnormalised: plain}, densetest.Decaying[T](9, r, d, 3)))
				b := must.Have(performer.NewBatch[T](heads[0], heads[1], l))
				q, k, v := densetest.Decaying[T](1, n, heads[0]*d, 3), densetest.Decaying[T](2, n, heads[1]*d, 3), densetest.Decaying[T](3, n, heads[1]*dv, 1)
				want := b.Forward(none, q, k, v)
				s, chunks := must.Have(b.NewState(d, dv)), must.Have(b.NewState(d, dv))
				got := s.Step(none, q, k, v)
				require.Less(t, frobeniusError(got, wide(want)), 1e3*densetest.Roundoff[T](), "%d landmarks, %v heads", r, heads)
				rng := rand.New(densetest.Source(1))
				for at := 0; at < n; {
					next := min(at+1+rng.IntN(30), n)
					chunks.Append(k.RowRange(at, next), v.RowRange(at, next))
					last := chunks.Attend(none, q.RowRange(next-1, next))
					require.True(t, densetest.Identical(got.RowRange(next-1, next), last), "%d landmarks, %v heads, token %d", r, heads, next)
					at = next
				}
				require.True(t, densetest.Identical(s.Attend(none, q), chunks.Clone().Attend(none, q)))
				before := chunks.Attend(none, q)
				bytes, err := chunks.MarshalBinary()
				require.NoError(t, err)
				read := must.Have(b.NewState(d, dv))
				require.NoError(t, read.UnmarshalBinary(bytes))
				mark := chunks.Snapshot(nil)
				after := chunks.Step(none, q, k, v)
				require.True(t, densetest.Identical(after, read.Step(none, q, k, v)))
				more, err := chunks.MarshalBinary()
				require.NoError(t, err)
				require.Len(t, more, len(bytes), "memory is constant")
				chunks.Rollback(mark)
				require.True(t, densetest.Identical(before, chunks.Attend(none, q)))
				chunks.Reset()
				require.True(t, densetest.Identical(got, chunks.Step(none, q, k, v)))
			}
		}
	}
}

func TestStateOfLandmarks(t *testing.T) {
	densetest.Both(t, testStateOfLandmarks[float32], testStateOfLandmarks[float64])
}

// If all keys are landmarks, merged States are exact over the tokens of all, in any order.
func testStateLandmarkMerge[T dense.Float](t *testing.T) {
	const d, dv, n, r = 5, 3, 60, 12
	none := dense.Matrix[T]{}
	z := densetest.Decaying[T](9, r, d, 4)
	q, k, v := densetest.Decaying[T](1, 20, d, 3), dense.New[T](n, d), densetest.Decaying[T](3, n, dv, 1)
	for j := range n {
		copy(k.Row(j), z.Row(j*7%r))
	}
	l := must.Have(performer.NewLandmarksAt(performer.ExactOptions{Causal: true}, z))
	want := wide(must.Have(performer.NewExact[T](performer.ExactOptions{})).Forward(none, q, k, v))
	for _, cuts := range [][]int{{0, 3, 30, 60}, {0, 0, 50, 60}, {0, 33, 34, 60}} {
		parts := make([]*performer.State[T], 3)
		for i := range parts {
			parts[i] = must.Have(l.NewState(d, dv))
			parts[i].Append(k.RowRange(cuts[i], cuts[i+1]), v.RowRange(cuts[i], cuts[i+1]))
		}
		require.NoError(t, parts[2].Merge(parts[0]))
		require.NoError(t, parts[2].Merge(parts[1]))
		assert.Less(t, frobeniusError(parts[2].Attend(none, q), want), 1e3*densetest.Roundoff[T]())
		require.NoError(t, parts[2].Merge(parts[2]), "every token twice")
		assert.Equal(t, 2*n, parts[2].Len())
		assert.Less(t, frobeniusError(parts[2].Attend(none, q), want), 1e3*densetest.Roundoff[T]())
	}
	for text, other := range map[string]performer.Streaming[T]{
		"performer: 11 landmarks, but the state belongs to 12":                          must.Have(performer.NewLandmarksAt(performer.ExactOptions{Causal: true}, z.RowRange(1, r))),
		"performer: Unnormalised = true, but the state belongs to attention with false": must.Have(performer.NewLandmarksAt(performer.ExactOptions{Causal: true, Unnormalised: true}, z)),
	} {
		assert.EqualError(t, must.Have(l.NewState(d, dv)).Merge(must.Have(other.NewState(d, dv))), text)
	}
	moved := must.Have(performer.NewLandmarksAt(performer.ExactOptions{Causal: true}, densetest.Decaying[T](10, r, d, 4)))
	assert.Error(t, must.Have(l.NewState(d, dv)).Merge(must.Have(moved.NewState(d, dv))), "other landmarks")
	same := must.Have(performer.NewLandmarksAt(performer.ExactOptions{Causal: true}, z))
	assert.NoError(t, must.Have(l.NewState(d, dv)).Merge(must.Have(same.NewState(d, dv))))
	assert.EqualError(t, must.Have(l.NewState(d, dv)).Merge(must.Have(must.Have(performer.NewExact[T](performer.ExactOptions{})).NewState(d, dv))), "performer: other belongs to other attention, the state to attention with local and earlier tokens")

	bytes, err := must.Have(moved.NewState(d, dv)).MarshalBinary()
	require.NoError(t, err)
	assert.Error(t, must.Have(l.NewState(d, dv)).UnmarshalBinary(bytes))
}

func TestStateLandmarkMerge(t *testing.T) {
	densetest.Both(t, testStateLandmarkMerge[float32], testStateLandmarkMerge[float64])
}

func TestStateLandmarkErrors(t *testing.T) {
	z := densetest.Decaying[float64](1, 5, 3, 1)
	_, err := must.Have(performer.NewLandmarksAt(performer.ExactOptions{}, z)).NewState(3, 2)
	assert.EqualError(t, err, "performer: the Landmarks are not causal, want those of NewLandmarksAt with exact.Causal for a state")
	l := must.Have(performer.NewLandmarksAt(performer.ExactOptions{Causal: true}, z))
	_, err = l.NewState(2, 2)
	assert.EqualError(t, err, "performer: d = 2, but the landmarks are points of R^3")
	_, err = l.NewState(3, math.MaxInt/64)
	assert.ErrorContains(t, err, "of memory, want at most ")
	_, err = l.NewState(3, 0)
	assert.EqualError(t, err, "performer: d = 3, dv = 0, want at least 1")
}

func testStateLandmarkAllocations[T dense.Float](t *testing.T) {
	const d, n = 8, 200
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	l := must.Have(performer.NewLandmarksAt(performer.ExactOptions{Causal: true}, densetest.Decaying[T](1, 20, d, 2)))
	s := must.Have(l.NewState(d, d))
	q, dst := densetest.Decaying[T](2, n, d, 2), dense.New[T](n, d)
	for _, processors := range []int{1, 2} {
		assert.Zero(t, allocs.Settled(processors, func() { s.Step(dst, q, q, q) }), "%d processors", processors)
		assert.Zero(t, allocs.Settled(processors, func() { l.Forward(dst, q, q, q) }), "%d processors", processors)
	}
}

func TestStateLandmarkAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	densetest.Both(t, testStateLandmarkAllocations[float32], testStateLandmarkAllocations[float64])
}
