package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
)

// An estimate from a whole code exceeds the upper bound from its sign with the given probability at
// most, for cosines from 0 to nearly 1. Bounds of half the width fail more often.
func TestLawOfStages(t *testing.T) {
	const d, tail, seeds = 768, 1e-3, 4
	n, queries := 2500, 100
	if testing.Short() {
		n = 500
	}
	for _, bits := range []int{4, 8} {
		total, above, planted := 0, 0, 0
		for seed := range uint64(seeds) {
			rng := rand.New(rand.NewPCG(seed, 3))
			x, y := dense.New[float32](n, d), dense.New[float32](queries, d)
			for i := range y.Data {
				y.Data[i] = float32(rng.NormFloat64())
			}
			for i := range n {
				near, row := y.Row(i%queries), x.Row(i)
				share := rng.ExpFloat64()
				for j := range row {
					row[j] = float32(rng.NormFloat64() + share*float64(near[j]))
				}
			}
			public, err := New[float32](d, Options{Bits: bits, TwoStage: true}, rand.NewPCG(seed, 2))
			require.NoError(t, err)
			q := public.(*quantiser[float32])
			c, err := q.Encode(t.Context(), x)
			require.NoError(t, err)
			signs := q.signs.codesOf(&rows{n: n, clusters: []cluster{{n, []*block{c.(*codes[float32]).rows().clusters[0].blocks[0].signs}}}})
			whole, first := make([]Estimate, n), make([]Estimate, n)
			z := normalQuantile(tail)
			for i := range queries {
				query := q.Prepare(nil, y.Row(i), Cosine, 0)
				c.Estimates(whole, query, 0)
				signs.Estimates(first, query.signs, 0)
				b := signs.(*codes[float32]).rows().clusters[0].blocks[0]
				for j := range n {
					numbers := b.numbersAt(j)
					law, rounding := query.signs.errorBound(nil, z, query.signs.varianceOf(&numbers)+codeVariance)
					if whole[j].Value > upperCosine(first[j].Value+rounding, law)+z*z*codeVariance/(d-1) {
						above++
					}
					if whole[j].Value > upperCosine(first[j].Value, law/2) {
						planted++
					}
					total++
				}
			}
		}
		limit := tail*float64(total) + 6*math.Sqrt(tail*float64(total)) // false alarms: below 1e-6
		assert.LessOrEqual(t, float64(above), limit, "bits = %d, of %d", bits, total)
		assert.Positive(t, above)
		assert.Greater(t, float64(planted), limit)
	}
}
