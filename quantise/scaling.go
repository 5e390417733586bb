package quantise

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// scaling is the power of two 2^exponent by which a query q is divided before its rotation, so that
// the sum of its squares neither overflows nor loses digits. exponent is 0 if the largest
// coordinate of q is between 2⁻¹⁰¹ and 2¹⁰⁰. Inner products are proportional to the divided query,
// and cosines do not change. Squared distances are ‖q‖² − (2xᵀq − ‖x‖²), and 2xᵀq − ‖x‖² ranks the
// rows.
type scaling struct {
	exponent int
	square   float64 // ‖q‖², which may be +Inf
	// up multiplies xᵀq of the divided query, and down multiplies ‖x‖². The products have the ratio
	// of xᵀq and ‖x‖² and do not overflow. One of the factors is 1.
	up, down float64
}

// scaled sets the scaling of a query and returns the divided query.
func (x *query[T]) scaled(query []T) []T {
	x.scaling = scaling{up: 1, down: 1}
	peak := largest(query)
	_, e := math.Frexp(peak)
	if peak-peak != 0 || e >= -100 && e <= 100 {
		return query
	}
	x.vector = scratch.Resize(x.vector, len(query))
	for i, v := range query {
		x.vector[i] = T(math.Ldexp(float64(v), -e))
	}
	square := math.Ldexp(2*vecmath.HalfSquaredNorm(x.vector), 2*e)
	x.scaling = scaling{e, square, math.Ldexp(1, min(e, 0)), math.Ldexp(1, min(-e, 0))}
	return x.vector
}

// row returns query i of queries, divided by the power of two.
func (x *query[T]) row(queries dense.Matrix[T], i int) []T {
	if x.exponent != 0 {
		return x.vector
	}
	return queries.Row(i)
}

// withSquare returns ‖q‖² + rest, the squared distance for rest = ‖x‖² − 2xᵀq, and +Inf if ‖q‖² is
// +Inf.
func (s *scaling) withSquare(rest float64) float64 {
	if math.IsInf(s.square, 1) {
		return s.square
	}
	return s.square + rest
}

// exactValue returns the value of an exact row from its score.
func (s *scaling) exactValue(by Measure, score float64) float64 {
	switch {
	case by == Cosine:
		return score
	case by == InnerProduct:
		return math.Ldexp(score, s.exponent)
	case s.exponent == 0:
		return -score
	}
	return s.withSquare(-math.Ldexp(score, max(s.exponent, 0)))
}
