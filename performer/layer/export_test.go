package layer

import "github.com/seed-feabd252/randfeat/dense"

// Rotary and Angles are what tests see of rotary positions.
type (
	Rotary[T dense.Float] = rotary[T]
	Angles[T dense.Float] = angles[T]
)

// NewRotary returns rotary positions for heads of d coordinates.
func NewRotary[T dense.Float](d int, o RotaryOptions) (*Rotary[T], error) { return newRotary[T](d, o) }

// TurnBack turns gradients with respect to rotated rows back.
func (a angles[T]) TurnBack(dx dense.Matrix[T]) { a.turn(dx, -1) }

// Dims returns the dimensions of the rows of queries, keys, values and outputs.
func (l *MultiHead[T]) Dims() (query, key, value, out int) { return l.dims() }
