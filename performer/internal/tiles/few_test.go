package tiles

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// A few queries have the bits that they have among many, whatever scores, keys and values hold.
func TestFewQueries(t *testing.T) {
	densetest.Both(t, testFewQueries[float32], testFewQueries[float64])
}

func testFewQueries[T dense.Float](t *testing.T) {
	const n, many = 700, 40
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range []int{1, 7, 64, 900} {
		q, k := densetest.Normal[T](rng, many, d, 0, 1), densetest.Normal[T](rng, n, d, 0, 1)
		v := densetest.Normal[T](rng, n, 9, 0, 1)
		odd := k.Clone()
		odd.Row(300)[0], odd.Row(520)[0] = T(math.Inf(1)), T(math.Inf(-1))
		values := v.Clone()
		values.Row(600)[3] = T(math.NaN())
		for name, scoring := range map[string]Scores{
			"plain": {Scale: 0.5}, "cold": {Scale: -1e3}, "softcap": {Scale: 3, Softcap: 2}, "sums": {Scale: 0.01, Unnormalised: true},
		} {
			for i, in := range [][2]dense.Matrix[T]{{k, v}, {odd, v}, {k, values}} {
				for _, mask := range []Mask[T]{{}, {Causal: true, Past: n - many, Window: 290, Sinks: 3}} {
					all := dense.New[T](many, 9)
					Attend(Attention[T]{Dst: all, Q: q, K: in[0], V: in[1], Scores: scoring, Mask: mask})
					for _, few := range []int{1, 2, fewQueries, fewQueries + 1} {
						mask := mask
						mask.Past += 11
						got := dense.New[T](few, 9)
						Attend(Attention[T]{Dst: got, Q: q.RowRange(11, 11+few), K: in[0], V: in[1], Scores: scoring, Mask: mask})
						assert.True(t, densetest.Identical(got, all.RowRange(11, 11+few)), fmt.Sprintf("d = %d, %s, input %d, %+v, %d queries", d, name, i, mask, few))
					}
				}
			}
		}
	}
}

// Keys and values that are columns of wider matrices, as those of one head among many, have the
// bits that they have by themselves, whether there are enough queries to copy them or not, with NaN
// in the columns beside them.
func TestHeadsAmongOthers(t *testing.T) {
	densetest.Both(t, testHeadsAmongOthers[float32], testHeadsAmongOthers[float64])
}

func testHeadsAmongOthers[T dense.Float](t *testing.T) {
	const d, from, wide = 5, 40, 100
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 100, worthCopies*grain - 1, worthCopies*grain + 70} {
		q := densetest.Normal[T](rng, n, d, 0, 1)
		var head, apart [2]dense.Matrix[T]
		for i := range head {
			all := dense.New[T](n, wide)
			for j := range all.Data {
				all.Data[j] = T(math.NaN())
			}
			head[i], apart[i] = all.ColRange(from, from+d), densetest.Normal[T](rng, n, d, 0, 1)
			dense.Copy(head[i], apart[i])
		}
		for _, mask := range []Mask[T]{{}, {Causal: true}, {Causal: true, Window: 9}} {
			got, want := dense.New[T](n, d), dense.New[T](n, d)
			Attend(Attention[T]{Dst: got, Q: q, K: head[0], V: head[1], Scores: Scores{Scale: 1}, Mask: mask})
			Attend(Attention[T]{Dst: want, Q: q, K: apart[0], V: apart[1], Scores: Scores{Scale: 1}, Mask: mask})
			assert.Equal(t, want, got, "%d tokens, %+v", n, mask)
		}
	}
}
