package givens

import "github.com/seed-feabd252/randfeat/dense"

// Rotations returns the rotations of p, the first one first.
func Rotations[T dense.Float](p *Product[T]) []Rotation[T] {
	gs := make([]Rotation[T], p.Len())
	for k, g := range p.turns {
		gs[k] = Rotation[T]{int(g.I), int(g.J), g.Cos, g.Sin}
	}
	return gs
}

// Angle returns the cosine and the sine of g.
func (g Rotation[T]) Angle() (cos, sin T) { return g.cos, g.sin }

// Turn is turn.
func Turn(u uint64) (cos, sin float64) { return turn(u) }
