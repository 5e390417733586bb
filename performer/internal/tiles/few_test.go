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
		for name, law := range map[string]Scores{
			"plain": {Scale: 0.5}, "cold": {Scale: -1e3}, "softcap": {Scale: 3, Softcap: 2}, "sums": {Scale: 0.01, Unnormalised: true},
		} {
			for i, in := range [][2]dense.Matrix[T]{{k, v}, {odd, v}, {k, values}} {
				for _, mask := range []Mask[T]{{}, {Causal: true, Past: n - many, Window: 290, Sinks: 3}} {
					all := dense.New[T](many, 9)
					Attend(Attention[T]{Dst: all, Q: q, K: in[0], V: in[1], Scores: law, Mask: mask})
					for _, few := range []int{1, 2, fewQueries, fewQueries + 1} {
						mask := mask
						mask.Past += 11
						got := dense.New[T](few, 9)
						Attend(Attention[T]{Dst: got, Q: q.RowRange(11, 11+few), K: in[0], V: in[1], Scores: law, Mask: mask})
						assert.True(t, densetest.Identical(got, all.RowRange(11, 11+few)), fmt.Sprintf("d = %d, %s, input %d, %+v, %d queries", d, name, i, mask, few))
					}
				}
			}
		}
	}
}
