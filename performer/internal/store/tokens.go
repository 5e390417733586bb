package store

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/door"
	features "github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Tokens is a Store behind an interface, so that importers do not compile it.
type Tokens[T dense.Float] interface {
	Append(k, v dense.Matrix[T])
	Attend(dst, q dense.Matrix[T])
	Step(dst, q, k, v dense.Matrix[T])
	TopK(keys []int, errors []float64) ([]int, []float64)
	Reset()
	Clone() Tokens[T]
	Check(other Tokens[T]) error
	Merge(other Tokens[T])

	// Save returns what Restore needs, in the memory of an earlier result, which may be nil.
	Save(to any) any
	Holds(from any, tokens int) bool
	Restore(from any, tokens int)

	Recipe() Recipe
	Inspect(from Recipe, tokens int) error
	Decode(from Recipe, tokens int)
}

type stored[T dense.Float] struct{ *Store[T] }

func (s stored[T]) Clone() Tokens[T]             { return stored[T]{s.Store.Clone()} }
func (s stored[T]) Check(other Tokens[T]) error  { return s.Store.Check(other.(stored[T]).Store) }
func (s stored[T]) Merge(other Tokens[T])        { s.Store.Merge(other.(stored[T]).Store) }
func (s stored[T]) Holds(from any, n int) bool   { return s.Store.Holds(from.(*Saved[T]), n) }
func (s stored[T]) Restore(from any, tokens int) { s.Store.Restore(from.(*Saved[T]), tokens) }

func (s stored[T]) Save(to any) any {
	if to == nil {
		to = new(Saved[T])
	}
	s.Store.Save(to.(*Saved[T]))
	return to
}

// Exact has the keys and values of exact attention: elements, or codes of so many bits.
type Exact struct {
	KeyBits, ValueBits int            // 0 for elements
	Scores             []tiles.Scores // of each head of queries
	Places             Places
	TopK               []TopK // of each head of queries
	Heads, KeyHeads    int
	D, DV              int // dimensions of keys and values
}

// Sums has the sums of linear attention.
type Sums[T dense.Float] struct {
	Engine              *features.Engine[T]
	Heads, KeyHeads, DV int
}

// NewExact returns an empty store of exact attention.
func NewExact[T dense.Float](o Exact) (Tokens[T], error) {
	return door.Choose[T, Tokens[T]](new32, new64, o)
}

// NewSums returns an empty store of linear attention.
func NewSums[T dense.Float](o Sums[T]) (Tokens[T], error) {
	return door.Choose[T, Tokens[T]](new32, new64, o)
}

//go:noinline
func new32(args any) (any, error) { return newTokens[float32](args) }

//go:noinline
func new64(args any) (any, error) { return newTokens[float64](args) }

func newTokens[T dense.Float](args any) (s stored[T], err error) {
	switch o := args.(type) {
	case Sums[T]:
		s.Store, err = newSumsStore(o.Engine, o.Heads, o.KeyHeads, o.DV)
	case Exact:
		if o.KeyBits == 0 {
			s.Store, err = newElements[T](o.Scores, o.Places, o.TopK, o.Heads, o.KeyHeads, o.D, o.DV)
		} else {
			s.Store, err = newCodes[T](o.KeyBits, o.ValueBits, o.Scores, o.Places, o.TopK, o.Heads, o.KeyHeads, o.D, o.DV)
		}
	}
	return s, err
}
