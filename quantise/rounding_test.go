package quantise_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/quantise"
)

// What rounding of queries adds to estimates from codes, as the root of the mean
// square over rows, in standard errors: for a query without large coordinates, and for one of which
// a rotated coordinate is half. Decoded rows give the estimates without rounding.
func TestRoundedQueries(t *testing.T) {
	const n = 1000
	for _, d := range []int{64, 768, 4096} {
		x, queries, axis := random[float64](n, d, 1), random[float64](2, d, 2), dense.New[float64](1, d)
		axis.Data[d/3] = 1
		r, err := hadamard.NewRotation[float64](d, hadamard.RotationOptions{}, rand.NewPCG(5, 6))
		require.NoError(t, err)
		large := r.ApplyTransposed(dense.Matrix[float64]{}, axis).Row(0)
		floats.AddScaledTo(queries.Row(1), large, 1/floats.Norm(queries.Row(0), 2), queries.Row(0))
		for _, o := range append(lawOptions(1, 2, 4), quantise.Options{Bits: 8}, quantise.Options{Bits: 8, Scheme: quantise.LloydMax}, quantise.Options{Bits: 8, Scheme: quantise.Uniform}) {
			if o.Scheme == quantise.QJL && o.Bits > 1 {
				continue // several rotations
			}
			q, err := quantise.NewRotated(o, r)
			require.NoError(t, err)
			c, err := q.Encode(t.Context(), x)
			require.NoError(t, err)
			largest := 32639.0
			if o.Bits == 1 || o.Bits == 2 && o.Scheme != quantise.LloydMax {
				largest = 127
			}
			decoded := c.Decode(dense.Matrix[float64]{}, 0, n)
			for i, bound := range []float64{0.005, 0.0015 * math.Sqrt(float64(d))} {
				query, p := queries.Row(i), r.Apply(dense.Matrix[float64]{}, queries.RowRange(i, i+1)).Row(0)
				// The step, times the root mean square of rounding, times the length of s.
				law := floats.Norm(p, math.Inf(1)) / floats.Norm(p, 2) / largest / math.Sqrt(12)
				law *= floats.Norm(decoded.Data, 2) / floats.Norm(x.Data, 2)
				var squares, share float64
				for j, estimate := range estimates(c, nil, query, quantise.Cosine) {
					exact := floats.Dot(decoded.Row(j), query) / (floats.Norm(x.Row(j), 2) * floats.Norm(query, 2))
					_, variance := q.Theory(exact)
					squares += (estimate - exact) * (estimate - exact) / n
					share += (estimate - exact) * (estimate - exact) / variance / n
				}
				// Sums in float32 round, too.
				assert.InEpsilon(t, law, math.Sqrt(squares), 0.2, "d = %d, %v, query %d", d, o, i)
				switch {
				case largest == 127: // two digits less, and standard errors are at least 40 times as large
					bound *= 257.0 / 40
				case o.Bits <= 4:
					bound /= 10 // standard errors are larger by that
				case o.Scheme == quantise.LloydMax:
					bound *= 1.5
				}
				assert.Less(t, math.Sqrt(share), bound, "d = %d, %v, query %d", d, o, i)
			}
		}
	}
}
