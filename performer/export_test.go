package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/internal/linear"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/rff"
)

// Tests stand outside the package. This file names what they see of its inside.

const Block = block

// Inside is what stands behind a Linear.
type Inside[T dense.Float] struct {
	Query, Key rff.Map[T]
	Options    LinearOptions
	D, M       int
	Engine     *sums.Engine[T]
}

func InsideOf[T dense.Float](a Linear[T]) Inside[T] {
	l := linearOf(a)
	return Inside[T]{l.Query, l.Key, LinearOptions(l.Options), l.Engine.D, l.Engine.M, l.Engine}
}

func linearOf[T dense.Float](a Linear[T]) *linear.FeatureAttention[T] {
	return a.of.(*batch[T]).units[0].of.(*linear.FeatureAttention[T])
}

func NewLinearOf[T dense.Float](query, key rff.Map[T], o LinearOptions) (Linear[T], error) {
	a, err := linear.New(query, key, linear.Options(o))
	if err != nil {
		return Linear[T]{}, err
	}
	return Linear[T]{single[T](a)}, nil
}

func NewGradients[T dense.Float](q, k, v, dout dense.Matrix[T]) sums.HeadGradients[T] {
	return sums.HeadGradients[T]{
		DQ: dense.New[T](q.Rows, q.Cols), DK: dense.New[T](k.Rows, k.Cols), DV: dense.New[T](v.Rows, v.Cols),
		Q: q, K: k, V: v, DOut: dout,
	}
}

// Units returns the number of units of a Batch, the number of these in memory, and the head after
// the last unit.
func Units[T dense.Float](a Batch[T]) (count, kept, end int) {
	b := a.of.(*batch[T])
	return b.count, len(b.units), b.unit(b.count - 1).to
}

// Units returns the number of runs of heads that have one memory each.
func (s *State[T]) Units() int { return len(s.units) }

// SetLen changes what Len returns.
func (s *State[T]) SetLen(n int) { s.n = n }
