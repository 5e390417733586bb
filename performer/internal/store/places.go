package store

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Places says how weights depend on the places of queries and keys: see tiles.Mask. Window or Chunk
// is 0.
type Places struct {
	Window, Sinks, Chunk int
	Slope                float64
}

// reach is the number of earlier tokens that a query sees, apart from sinks, or 0 for all tokens.
func (p Places) reach() int { return p.Window + max(p.Chunk-1, 0) }

func (p Places) drops() bool { return p.reach() > 0 }

// spare returns the number of tokens that a store which drops tokens can always take back.
func (p Places) spare() int { return max(p.reach()/16, Segment) }

func (p Places) first(token int) int {
	switch {
	case p.Window > 0:
		return max(token-p.Window, 0)
	case p.Chunk > 0:
		return token / p.Chunk * p.Chunk
	}
	return 0
}

func (p Places) seen(token int) int {
	low := p.first(token)
	return token + 1 - low + min(p.Sinks, low)
}

// needed returns the first of n tokens that later queries see if back tokens are taken back.
func (p Places) needed(n, back int) int {
	if !p.drops() {
		return 0
	}
	return max(n-1-back-p.reach(), 0)
}

func mask[T dense.Float](p Places, before int) tiles.Mask[T] {
	return tiles.Mask[T]{Causal: true, Window: p.Window, Sinks: p.Sinks, Chunk: p.Chunk, Slope: p.Slope, Before: before}
}

func (p Places) bounds() string {
	if p.Chunk > 0 {
		return fmt.Sprintf("Chunk = %d", p.Chunk)
	}
	return fmt.Sprintf("Window = %d and Sinks = %d", p.Window, p.Sinks)
}
