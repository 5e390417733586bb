package performer_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
)

// sharedForms returns a form of each kind of memory that a State has, for points of R^d.
func sharedForms[T dense.Float](d int) map[string]performer.Attention[T] {
	return map[string]performer.Attention[T]{
		"exact":      must.Have(performer.NewExact[T](performer.ExactOptions{})),
		"logarithms": attention(maptest.Positive[T](6, d), performer.LinearOptions{}),
		"features":   attention(reLU[T](d), performer.LinearOptions{}),
	}
}

// Clones of one State, in goroutines of their own, give the bits of a single goroutine, whatever
// they do: take tokens, answer queries, go back to a mark, take in a State that all of them take
// in. The clones themselves are made at once.
func testSharedStates[T dense.Float](t *testing.T) {
	const d, dv, heads, n, clones = 3, 2, 2, 40, 4
	none := dense.Matrix[T]{}
	q, k, v := densetest.Decaying[T](1, n, heads*d, 3), densetest.Decaying[T](2, n, d, 3), densetest.Decaying[T](3, n, dv, 1)
	for name, form := range sharedForms[T](d) {
		b := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: heads, KeyHeads: 1}, form))
		s, other := must.Have(b.NewState(d, dv)), must.Have(b.NewState(d, dv))
		s.Append(k.RowRange(0, 25), v.RowRange(0, 25))
		other.Append(k.RowRange(5, 30), v.RowRange(5, 30))
		use := func(s *performer.State[T]) [][]T {
			mark := s.Snapshot(nil)
			draft := s.Step(none, q, k, v)
			last := s.Attend(none, q)
			s.Rollback(mark)
			merge := s.Merge(other)
			twin := s.Clone()
			s.Append(k, v)
			bytes, err := s.MarshalBinary()
			read := must.Have(b.NewState(d, dv))
			if merge != nil || err != nil || read.UnmarshalBinary(bytes) != nil {
				return nil
			}
			return [][]T{draft.Data, last.Data, read.Attend(none, q).Data, twin.Step(none, q, k, v).Data}
		}
		want := use(s.Clone())
		require.NotNil(t, want, name)
		var got [clones][][]T
		var all sync.WaitGroup
		for i := range clones {
			all.Add(1)
			go func() {
				defer all.Done()
				got[i] = use(s.Clone())
			}()
		}
		all.Wait()
		for i := range clones {
			for j := range want {
				require.True(t, densetest.Identical(dense.Of(1, len(want[j]), want[j]), dense.Of(1, len(got[i][j]), got[i][j])), "%s: clone %d, output %d", name, i, j)
			}
		}
		assert.Equal(t, 25, s.Len())
	}
}

//ci:race
func TestSharedStates(t *testing.T) {
	densetest.Both(t, testSharedStates[float32], testSharedStates[float64])
}
