package hadamard

import "github.com/seed-feabd252/randfeat/dense"

// What tests see of the inside.
var (
	CoreOrder = coreOrder
	Effort    = effort
)

// Alone reports whether one goroutine applies r to so many rows.
func Alone[T dense.Float](r *Rotation[T], rows int) bool { return alone(r.plan, len(r.factors), rows) }
