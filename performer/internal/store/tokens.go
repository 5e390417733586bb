package store

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/door"
	features "github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// TokenStore is a Store behind an interface, so that importers do not compile it. Another of Check
// and Merge, and what Save returns, are of a Store of the same type.
type TokenStore[T dense.Float] interface {
	Append(k, v dense.Matrix[T])
	Attend(dst, q dense.Matrix[T])
	Step(dst, q, k, v dense.Matrix[T])
	TopK(keys []int, errors []float64) ([]int, []float64)
	Reset()
	Clone() TokenStore[T]
	Check(other TokenStore[T]) error
	Merge(other TokenStore[T])

	// Save returns what Restore needs, in the memory of an earlier result, which may be nil.
	Save(memory any) any
	Holds(from any, tokens int) bool
	Restore(from any, tokens int)

	Recipe() Recipe
	Inspect(from Recipe, tokens int) error
	Decode(from Recipe, tokens int)
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

// NewExact returns an empty store of keys and values.
func NewExact[T dense.Float](of Exact) (TokenStore[T], error) {
	return door.Choose[T, TokenStore[T]](new32, new64, of)
}

// NewSums returns an empty store of sums.
func NewSums[T dense.Float](of Sums[T]) (TokenStore[T], error) {
	return door.Choose[T, TokenStore[T]](new32, new64, of)
}

//go:noinline
func new32(of any) (any, error) { return newTokens[float32](of) }

//go:noinline
func new64(of any) (any, error) { return newTokens[float64](of) }

func newTokens[T dense.Float](of any) (*Store[T], error) {
	o, exact := of.(Exact)
	switch {
	case !exact:
		return newSumsStore(of.(Sums[T]))
	case o.KeyBits == 0:
		return newElements[T](o)
	}
	return newCodes[T](o)
}
