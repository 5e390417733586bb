package store

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// rotatedSums are the sum of weights and the weighted sum of rotated values of a query over some
// tokens, both over exp(peak). The values are also over a power of two, the lift.
type rotatedSums struct {
	total, peak, lift float32
	values            []float32
}

type combined[T dense.Float] struct{ row, out []T }

// output writes the output of query i of a tile, which has the sums of elements, and of every so
// many of other sums. It returns false if the output is not finite.
func (c *combined[T]) output(dst []T, scores tiles.Scores, values *side[T], t *tiles.Tile[T], i int, sums []rotatedSums, every int) bool {
	more, total, peak := t.Sums(i)
	most, lift := peak, float32(1)
	for at := 0; at < len(sums); at += every {
		if s := &sums[at]; s.total != 0 {
			most, lift = max(most, float64(s.peak)), max(lift, s.lift)
		}
	}
	if math.IsInf(most, -1) {
		return false
	}
	c.row, c.out = scratch.Resize(c.row, values.order), scratch.Resize(c.out, len(dst))
	clear(c.row)
	var all T
	for at := 0; at < len(sums); at += every {
		s := &sums[at]
		if s.total == 0 {
			continue
		}
		factor := T(math.Exp(float64(s.peak) - most))
		all += factor * T(s.total)
		factor *= T(s.lift / lift)
		for l, v := range s.values {
			c.row[l] += factor * T(v)
		}
	}
	values.rotation.ApplyTransposedVec(c.out, c.row)
	factor := T(math.Exp(peak - most))
	vecmath.AddScaled(c.out, more, factor/T(lift))
	if all-all != 0 || !layout.Finite(dense.Of(1, len(c.out), c.out)) {
		return false
	}
	tiles.Output(scores, dst, c.out, all+factor*total, most)
	for l := 0; l < len(dst) && lift != 1; l++ {
		dst[l] = coded.Finite(dst[l] * T(lift)) // rounding to codes may exceed the largest number
	}
	return true
}
