package quantise

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// scaling is a power of two by which a query q is divided before its rotation. Sums of its squares would
// overflow or lose digits otherwise. Queries whose largest coordinate is from 2⁻¹⁰¹ to 2¹⁰⁰ stay as they
// are. Inner products are in proportion to the divided query, and cosines are the same. Squared distances
// are ‖q‖² − (2xᵀq − ‖x‖²), and rows are ranked by the second term.
type scaling struct {
	exponent int
	square   float64 // ‖q‖², which may be +Inf
	// The factors of xᵀq for the divided query and of ‖x‖², for numbers of the same order that do not
	// overflow. One of the factors is 1.
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

// row returns query i of queries, divided.
func (x *query[T]) row(queries dense.Matrix[T], i int) []T {
	if x.exponent != 0 {
		return x.vector
	}
	return queries.Row(i)
}

// withSquare returns a squared distance from ‖x‖² − 2xᵀq. It is +Inf if ‖q‖² is.
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
