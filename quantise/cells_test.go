package quantise

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
)

// At every edge, at its neighbours and at numbers all over the range, the bucket leads to the cell
// that a plain search finds.
func TestBucketsLeadToCells(t *testing.T) {
	for _, d := range []int{4, 64, 3072} {
		for _, n := range []int{2, 8, 128} {
			cells := codelaw.LloydMax(d, n)
			edges := make([]float32, n+1)
			for j, v := range cells.Edges {
				edges[j] = float32(v)
			}
			starts := startsOf(edges[:n])
			edges[n] = float32(math.Inf(1))
			y := []float32{0, math.SmallestNonzeroFloat32, 1, 1e30, math.MaxFloat32}
			for _, e := range edges[1:n] {
				y = append(y, e, math.Nextafter32(e, 0), math.Nextafter32(e, 1))
			}
			for i := range 5 * buckets {
				y = append(y, edges[n-1]*float32(i)/(4*buckets))
			}
			codes := make([]uint8, len(y))
			for _, sign := range []float32{1, -1} {
				for i := range y {
					y[i] *= sign
				}
				encodeCells(codes, y, edges, starts, buckets/edges[n-1])
				for i, v := range y {
					j := 0
					for j+1 < n && float32(math.Abs(float64(v))) >= edges[j+1] {
						j++
					}
					want := uint8(n + j)
					if v < 0 {
						want = uint8(n - 1 - j)
					}
					require.Equal(t, want, codes[i], "d = %d, %d cells, %v", d, n, v)
				}
			}
		}
	}
}
