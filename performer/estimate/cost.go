package estimate

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/performer/internal/cost"
)

// ErrCost is the error that methods of [Unbiased] wrap if the predicted cost is above
// UnbiasedOptions.MaxCost, which is the cost of exact attention by default. The methods of Unbiased
// wrap ErrCost in an error value that names the predicted cost, MaxCost and the cost of exact
// attention.
var ErrCost = errors.New("the estimate costs too much")

// Measured in package performer on two processors with L = 16384, d = dv = 64 and float32.
const (
	addMACs   = 800 // the multiply-adds that take as long as one addition to a row of ratios
	pilotSlow = 10  // the time of a pilot over that of its multiply-adds and exponentials
)

// A replicate has one block of m₀ features for Y₀, and 2ⁿ blocks with the probability P(n).
const replicateBlocks = 1 + 2*(1-decay)/(1-2*decay)

type estimateCost struct {
	shape      cost.Shape
	replicates int
	exact      float64 // the cost of exact attention
	limit      float64 // MaxCost
}

func (u *Unbiased[T]) cost(q, k, v dense.Matrix[T]) estimateCost {
	s := cost.Shape{Queries: q.Rows, Keys: k.Rows, Dim: q.Cols, Values: v.Cols, Causal: u.opts.Causal, ElementSize: simd.Size[T]()}
	return estimateCost{shape: s, replicates: u.opts.Replicates, exact: s.Work(s.Exact()), limit: u.opts.MaxCost}
}

func (c estimateCost) estimate(m int) float64 {
	s := c.shape
	s.Features = m
	ratios := float64(s.Queries) * float64(s.Values+1)
	return float64(c.replicates) * replicateBlocks * (s.Work(s.Linear()) + addMACs*4/float64(s.ElementSize)*ratios)
}

func (c estimateCost) rounds(n int) float64 {
	s := c.shape
	queries := float64(min(s.Queries, pilotRows))
	if s.Causal {
		queries /= 2 // a query sees half of the keys on average
	}
	one := cost.Shape{Keys: s.Keys, Dim: s.Dim, Values: s.Values, Features: distributions * pilotSamples, ElementSize: 8}
	// The features of a pilot are float64: multiply-adds take twice as long.
	return float64(n) * queries * pilotSlow * one.Work(one.Linear()) * 8 / float64(s.ElementSize)
}

// check returns ErrCost if rounds of a pilot and all replicates with m₀ = m cost more than the
// limit.
func (c estimateCost) check(rounds, m int) error {
	if total := c.rounds(rounds) + c.estimate(m); total > c.limit*c.exact {
		return fmt.Errorf("estimate: %w: %d replicates with m₀ = %d take %.2g multiply-adds, pilot included; MaxCost = %.3g allows that times the %.2g of exact attention",
			ErrCost, c.replicates, m, total, c.limit, c.exact)
	}
	return nil
}
