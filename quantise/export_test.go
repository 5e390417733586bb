package quantise

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
)

// GaussianLevels gives a quantiser of the scheme LloydMax the levels of its limit for large d'. Its
// theory stays that of the right levels.
func GaussianLevels[T float32 | float64](public Quantiser[T]) {
	q := public.(*quantiser[T])
	q.theory()
	const large = 4_000_000
	limit := codelaw.LloydMax(large, len(q.edges))
	ratio := math.Sqrt(large / float64(q.out))
	for j := range limit.Levels {
		limit.Levels[j] *= ratio
		limit.Edges[j] *= ratio
	}
	n := len(q.edges)
	for j := range n {
		q.edges[j] = float32(limit.Edges[j])
		for k := 0; k < len(q.levels); k += 2 * n {
			q.levels[k+n+j], q.levels[k+n-1-j] = float32(limit.Levels[j]), float32(-limit.Levels[j])
		}
	}
	q.starts = startsOf(q.edges)
}

// DropCorrection replaces the division by sᵀu by that by ‖s‖.
func DropCorrection[T float32 | float64](public Codes[T]) {
	c := public.(*codes[T])
	for _, b := range c.rows().clusters[0].blocks {
		for i := range b.numbers[ratios] {
			square := float64(c.q.elements) * c.q.unit * c.q.unit
			if v := b.numbers[variances]; v != nil {
				square = (1 + float64(v[i])) / math.Pow(float64(b.numbers[ratios][i]), 2)
			}
			b.numbers[ratios][i] = float32(1 / math.Sqrt(square))
		}
	}
}

// Label returns the number of the centre of a row, 0 for none.
func Label[T float32 | float64](c Codes[T], row int) int { return c.(*codes[T]).rows().label(row) }

// DropCentreProducts forgets the products of rows with their centres.
func DropCentreProducts[T float32 | float64](c Codes[T]) {
	for _, one := range c.(*codes[T]).rows().clusters {
		for _, b := range one.blocks {
			clear(b.numbers[centreProducts])
		}
	}
}

// ShrinkCentres takes rotated centres that are too short, as if t were too small.
func ShrinkCentres[T float32 | float64](q Quantiser[T]) {
	for _, c := range q.(*quantiser[T]).centres {
		for i := range c.rotated {
			c.rotated[i] *= 0.98
		}
	}
}

// SumOfSquares reads x on all processors and returns the sum of its squares.
func SumOfSquares(x []float64) float64 {
	const piece = 1 << 15
	sums := make([]float64, (len(x)+piece-1)/piece)
	parallel.Rows(len(x), piece, func(lo, hi int) { sums[lo/piece] = vecmath.Dot(x[lo:hi], x[lo:hi]) })
	return vecmath.Sum(sums)
}

// Staged reports whether a search for k rows takes two stages.
func Staged[T float32 | float64](public Codes[T], query *Query, k int) bool {
	c := public.(*codes[T])
	s := c.q.begin(query.by)
	defer s.end()
	s.addSegment(c)
	s.addQuery(query, k)
	return s.findStaged()
}
