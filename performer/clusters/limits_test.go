package clusters_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

// Keys and values in float32 with means of a thousand spreads, points of one coordinate, counts
// beyond all keys and a few tokens have errors near those without; NaN in a column of a value stays
// in its column and reaches the queries that see the value.
func TestLimits(t *testing.T) {
	var none dense.Matrix[float32]
	for _, bits := range []int{0, 8} {
		for _, d := range []int{1, 16} {
			q, k, v := tokens[float32](1500, d, 4, 4, 3)
			centred := errorOf(bits, clusters.Options{}, q, k, v)
			for i := range k.Data {
				k.Data[i] += 1000
			}
			means := errorOf(bits, clusters.Options{}, q, k, v)
			most := errorOf(bits, clusters.Options{Clusters: math.MaxInt}, q, k, v)
			t.Logf("%d bits, d = %d: %.4f, with a mean %.4f, with all clusters %.4f", bits, d, centred, means, most)
			assert.Less(t, means, 2*centred+0.01, "%d bits, d = %d", bits, d)
			assert.Less(t, most, 0.02, "%d bits, d = %d", bits, d)

			v.Row(700)[2] = float32(math.NaN())
			f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: bits})), clusters.Options{})
			out := f.Forward(none, q, k, v)
			for i := range out.Rows {
				for l, x := range out.Row(i) {
					require.Equal(t, l == 2, x != x, "%d bits, d = %d, row %d, column %d", bits, d, i, l)
				}
			}
		}
		for _, n := range []int{0, 1} {
			q, k, v := tokens[float32](n, 5, 2, 1, 1)
			f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: bits})), clusters.Options{})
			require.Equal(t, v.Clone().Data, f.Forward(none, q, k, v).Clone().Data, "%d tokens see themselves", n)
		}
	}
}
