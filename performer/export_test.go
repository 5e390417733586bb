package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/rff"
)

// Tests stand outside the package. This file names what they see of its inside.

const (
	Block       = block
	MostDoubled = mostDoubled
)

// Inside is what stands behind a Linear.
type Inside[T dense.Float] struct {
	Query, Key rff.Map[T]
	Options    LinearOptions
	D, M       int
	Engine     *sums.Engine[T]
}

func InsideOf[T dense.Float](a Linear[T]) Inside[T] {
	l := a.(*linear[T])
	return Inside[T]{l.query, l.key, l.opts, l.d, l.m, l.engine}
}

func NewLinearOf[T dense.Float](query, key rff.Map[T], o LinearOptions) (Linear[T], error) {
	a, err := newLinearOf(query, key, o)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func NewGradients[T dense.Float](q, k, v, dout dense.Matrix[T]) sums.Gradients[T] {
	return newGradients(dense.Matrix[T]{}, dense.Matrix[T]{}, dense.Matrix[T]{}, q, k, v, dout)
}

// Units returns the number of units of a Batch, the number of these in memory, and the head after
// the last unit.
func Units[T dense.Float](a Batch[T]) (count, kept, end int) {
	b := a.(*batch[T])
	return b.count, len(b.units), b.unit(b.count - 1).to
}

// ChoiceFor returns the rows of k that are landmarks, and the scale of the products of points.
func ChoiceFor[T dense.Float](a Landmarks[T], k dense.Matrix[T]) (rows []int, scale float64) {
	l := a.(*landmarks[T])
	_, c := l.engineFor(k)
	defer l.release(c)
	return c.choice.Chosen(), c.choice.Scale
}

// Columns returns the matrix of which the fields of f are columns.
func (f Fractions[T]) Columns() dense.Matrix[T] { return f.columns }

// Size returns the number of bytes of a marshalled state of so many tokens.
func (s *State[T]) Size(tokens int) int { return s.size(tokens) }

// Units returns the number of runs of heads that have one memory each.
func (s *State[T]) Units() int { return len(s.units) }

// SetLen changes what Len returns.
func (s *State[T]) SetLen(n int) { s.n = n }
