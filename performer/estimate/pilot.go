package estimate

import (
	"context"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Pilot says which number of features m₀ suits [Unbiased], and by what terms of the
// variance.
type Pilot struct {
	// Features is m₀, a power of two from 8 to 4096.
	Features int

	// Variance is that of Y₀, and Correction that of Δ_N/P(N), both summed over all
	// outputs. The variance of a replicate is their sum.
	Variance, Correction float64

	// Settled is false if 4096 features are too few, or if nothing can be said. What
	// Estimate returns is unbiased all the same, but its standard errors miss exact attention
	// more often than they should.
	Settled bool

	// Reason says why it is not Settled.
	Reason string
}

const (
	leastPilot  = 8 // features
	pilotLevels = 10
	mostPilot   = leastPilot << (pilotLevels - 1)
	pilotDepth  = 16 // terms of the sum over n for the last of them

	// hopeless is a Correction/Variance with 4096 features that more rounds do not mend.
	hopeless = 100

	// mostRadius bounds Scale·‖x‖², so that logarithms of features are resolved.
	mostRadius = 1e7
)

// Pilot returns the least m₀ of 8, 16, 32, …, 4096 at which the second term of the
// variance of a replicate,
//
//	Var(Y₀) + Σ_n E‖Δ_n‖²/P(n),
//
// does not exceed the first. Trials of replicates would not tell: with few features a rare
// frequency carries the variance, and no affordable number of trials meets it. Both terms
// are expectations over frequencies w ~ N(0, I), and Pilot computes them from frequencies
// that it draws where the expectations come from: near √Scale·(q_i+k_j)/√(1−4a), with the
// probability of exact attention for j. A round draws 18 frequencies for each of 32 queries,
// the 8 longest and 24 of all lengths; m₀/8 rounds are averaged. Orthogonal frequencies have
// somewhat less variance than the independent ones that Pilot assumes.
//
// For 64 tokens of R^8 with elements N(0, σ²), and 200 seeds of the source, m₀ is 8 at σ =
// 0.5, 32 at 0.8 (16 and 64 at 4 seeds each) and 512 at 1.1 (1024 at 4 seeds). The sum of
// the terms is 1.3 times the variance of replicates with orthogonal frequencies.
//
// Pilot draws from the source of u, and is independent of what is drawn later: estimates
// stay unbiased. It maps Lk keys to 72·m₀ features, sees 4·m₀ queries with exact
// attention, and sorts queries by length. With 32 replicates and as many keys as queries
// that is less than a quarter of the multiply-adds of Estimate, and on two processors half
// of its time for thousands of tokens, as much for 64. It holds O((Lq+Lk)·(d+dv)) memory
// until it returns.
//
// Pilot refuses with [ErrCost] as soon as its rounds so far ask for an m₀ with which its other
// rounds and Estimate would cost more than MaxCost allows. The Pilot beside the error says what
// these rounds say.
//
// Shapes and errors are those of Estimate.
func (u *Unbiased[T]) Pilot(ctx context.Context, q, k, v dense.Matrix[T]) (Pilot, error) {
	if err := ended(ctx); err != nil {
		return Pilot{}, err
	}
	u.check(q, k, v)
	p := Pilot{Features: leastPilot}
	if q.Rows == 0 || k.Rows == 0 || v.Cols == 0 {
		p.Settled = true
		return p, nil
	}
	radius := u.opts.Scale * max(longest(q), longest(k))
	if all := radius + longest(v); math.IsNaN(all) || math.IsInf(all, 1) {
		p.Variance, p.Correction = math.NaN(), math.NaN()
		p.Reason = "there is NaN or ±Inf in q, k or v, or a norm beyond the range of float64"
		return p, nil
	}
	if radius > mostRadius {
		p.Features, p.Variance, p.Correction = mostPilot, math.NaN(), math.NaN()
		p.Reason = fmt.Sprintf("Scale·‖x‖² = %.3g for a query or key, whose features are resolved up to %.0g", radius, mostRadius)
		return p, nil
	}
	cost := u.cost(q, k, v)
	if err := cost.check(1, p.Features); err != nil {
		return p, err
	}
	l := u.newLaw(q, k, v)
	for l.rounds < p.Features/leastPilot && !(p.Correction > hopeless*p.Variance) {
		if err := l.round(ctx); err != nil {
			return p, err
		}
		p = l.choose()
		u.progress(0)
		if err := cost.check(p.Features/leastPilot, p.Features); err != nil {
			return p, err
		}
	}
	if !p.Settled {
		p.Reason = fmt.Sprintf("with m₀ = %d the correction has %.3g times the variance of the ratio, want at most 1: "+
			"queries and keys are too long for d = %d", p.Features, p.Correction/p.Variance, u.d)
	}
	return p, nil
}

// choose returns the least m₀ whose correction is at most its variance, or 4096.
func (l *law[T]) choose() (p Pilot) {
	rounds := float64(l.rounds)
	for level, variance := range l.variances {
		p = Pilot{Features: leastPilot << level, Variance: variance / rounds}
		terms := l.squares[level:]
		for n, square := range terms {
			p.Correction += square / probability(n+1) / rounds
		}
		// Later Δ add up to what is missing: the sum of their terms is least if they are
		// in proportion to P(n).
		p.Correction += l.rest / math.Pow(decay, float64(len(terms))) / rounds
		if p.Settled = p.Correction <= p.Variance; p.Settled {
			break
		}
	}
	return p
}

// longest returns the largest squared norm of a row, NaN if there is one among them.
func longest[T dense.Float](x dense.Matrix[T]) float64 {
	var most float64
	for i := range x.Rows {
		most = max(most, 2*vecmath.HalfSquaredNorm(x.Row(i)))
	}
	return most
}
