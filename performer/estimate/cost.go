package estimate

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/performer/internal/cost"
)

// ErrCost is the error of an [Unbiased] that would cost more than its MaxCost allows: more than
// exact attention, unless MaxCost is set. The error names both costs; errors.Is finds ErrCost in it.
var ErrCost = errors.New("the estimate costs too much")

// Measured in package performer on two processors, L = 16384, d = dv = 64, with float32: how many
// multiply-adds take as long as adding a number to the sums of a row, and how much longer a pilot
// takes than its multiply-adds and exponentials would, which it computes for one query at a time.
const (
	addMACs   = 800
	pilotSlow = 10
)

// replicateBlocks is the mean number of blocks of m₀ features of a replicate: one for Y₀, and 2ⁿ
// with the probability P(n).
const replicateBlocks = 1 + 2*(1-decay)/(1-2*decay)

// estimateCost is what calls of an Unbiased cost for queries, keys and values, in multiply-adds of
// the type of these.
type estimateCost struct {
	shape      cost.Shape
	replicates int
	exact      float64 // of exact attention
	most       float64 // MaxCost
}

// cost returns the costs of calls for q, k and v.
func (u *Unbiased[T]) cost(q, k, v dense.Matrix[T]) estimateCost {
	s := cost.Shape{Queries: q.Rows, Keys: k.Rows, Dim: q.Cols, Values: v.Cols, Projected: true, Causal: u.opts.Causal, ElementSize: frame.ElementSize[T]()}
	return estimateCost{shape: s, replicates: u.opts.Replicates, exact: s.Work(s.Exact()), most: u.opts.MaxCost}
}

// estimate returns the mean cost of all replicates with m₀ = m.
func (c estimateCost) estimate(m int) float64 {
	s := c.shape
	s.Features = m
	sums := float64(s.Queries) * float64(s.Values+1)
	return float64(c.replicates) * replicateBlocks * (s.Work(s.Linear()) + addMACs*4/float64(s.ElementSize)*sums)
}

// rounds returns the cost of n rounds of a pilot.
func (c estimateCost) rounds(n int) float64 {
	s := c.shape
	queries := float64(min(s.Queries, pilotRows))
	if s.Causal {
		queries /= 2 // which see half of the keys on average
	}
	one := cost.Shape{Keys: s.Keys, Dim: s.Dim, Values: s.Values, Features: laws * pilotSamples, Projected: true, ElementSize: 8}
	// The features of a pilot are float64, and a multiply-add takes twice as long as in float32.
	return float64(n) * queries * pilotSlow * one.Work(one.Linear()) * 8 / float64(s.ElementSize)
}

// check returns an error if so many rounds of a pilot and all replicates with m₀ = m cost too much.
func (c estimateCost) check(rounds, m int) error {
	if total := c.rounds(rounds) + c.estimate(m); total > c.most*c.exact {
		return fmt.Errorf("estimate: %w: %d replicates with m₀ = %d take %.2g multiply-adds, pilot included; MaxCost = %.3g allows that times the %.2g of exact attention",
			ErrCost, c.replicates, m, total, c.most, c.exact)
	}
	return nil
}
