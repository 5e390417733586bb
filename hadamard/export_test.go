package hadamard

import "github.com/seed-feabd252/randfeat/dense"

// What tests see of the inside.
var (
	CoreOrder  = coreOrder
	Effort     = effort
	PrimePower = primePower
	Power      = power
	Character  = character
	Minus      = minus
)

// Scale is scale.
func Scale[T dense.Float](n, i, factors int) T { return scale[T](n, i, factors) }

// Alone reports whether one goroutine applies r to so many rows.
func Alone[T dense.Float](r *Rotation[T], rows int) bool { return alone(r.plan, len(r.factors), rows) }

// Factors returns the signed scales of r.
func Factors[T dense.Float](r *Rotation[T]) [][]T { return r.factors }
