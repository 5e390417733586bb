package estimate

import (
	"context"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

type pilot struct {
	features int

	// variance is that of Y₀, and correction the mean square of Δ, summed over the output.
	variance, correction float64

	// settled is false if 4096 features are too few, or no prediction is possible, for the reason.
	settled bool
	reason  string
}

const (
	minFeatures    = 8
	pilotLevels    = 10
	maxFeatures    = minFeatures << (pilotLevels - 1)
	pilotDepth     = 16  // the terms of the sum over n for maxFeatures
	hopeless       = 100 // the Correction/Variance with maxFeatures at which Pilot ends early
	maxSquaredNorm = 1e7 // the largest Scale·‖x‖² at which logarithms of features are accurate
)

// Pilot returns the smallest number m₀ out of 8, 16, 32, …, 4096 for which an estimate Y₀ of
// attention with m₀ features varies at least as much as the random correction Δ of the bias of Y₀:
// E‖Δ‖² ≤ Var(Y₀). Pilot estimates the variance of estimates and the mean square of corrections of
// their bias by importance sampling, as docs/laws.md of this module describes. Estimate uses no
// random numbers that Pilot has used, so that estimates with the number of features from Pilot stay
// unbiased.
//
// To find a number m₀ of features, Pilot computes 72·m₀ random features of each key and exact
// attention of 4·m₀ queries, and sorts the queries by norm. For q (Lq×d), k (Lk×d) and v (Lk×dv),
// Pilot holds O((Lq+Lk)·(d+dv)) memory until it returns.
//
// If 4096 features are too few, or if NaN, ±Inf or large norms prevent a prediction, Pilot returns
// 4096 or 8 features, and an error that says why. With too few features, estimates are unbiased,
// but more than 5.4 % are farther than 2 standard errors from exact attention.
//
// Pilot returns [ErrCost], and the number of features found so far, as soon as Pilot and Estimate
// with so many features would cost more than UnbiasedOptions.MaxCost. Pilot panics for arguments q,
// k, v and ctx for which [Unbiased.Estimate] panics, and returns the error of ctx if ctx ends.
func (u *Unbiased[T]) Pilot(ctx context.Context, q, k, v dense.Matrix[T]) (features int, err error) {
	p, err := u.pilot(ctx, q, k, v)
	if err == nil && !p.settled {
		err = fmt.Errorf("estimate: %s", p.reason)
	}
	return p.features, err
}

func (u *Unbiased[T]) pilot(ctx context.Context, q, k, v dense.Matrix[T]) (pilot, error) {
	if err := contextError(ctx); err != nil {
		return pilot{}, err
	}
	u.check(q, k, v)
	p := pilot{features: minFeatures}
	if q.Rows == 0 || k.Rows == 0 || v.Cols == 0 {
		p.settled = true
		return p, nil
	}
	radius := u.opts.Scale * max(longest(q), longest(k))
	if all := radius + longest(v); math.IsNaN(all) || math.IsInf(all, 1) {
		p.variance, p.correction = math.NaN(), math.NaN()
		p.reason = "there is NaN or ±Inf in q, k or v, or a norm beyond the range of float64"
		return p, nil
	}
	if radius > maxSquaredNorm {
		p.features, p.variance, p.correction = maxFeatures, math.NaN(), math.NaN()
		p.reason = fmt.Sprintf("Scale·‖x‖² = %.3g for a query or key, whose features are resolved up to %.0g", radius, maxSquaredNorm)
		return p, nil
	}
	cost := u.cost(q, k, v)
	if err := cost.check(1, p.features); err != nil {
		return p, err
	}
	l := u.newPilotRun(q, k, v)
	for l.rounds < p.features/minFeatures && !(p.correction > hopeless*p.variance) {
		if err := l.round(ctx); err != nil {
			return p, err
		}
		p = l.choose()
		if err := cost.check(p.features/minFeatures, p.features); err != nil {
			return p, err
		}
	}
	if !p.settled {
		p.reason = fmt.Sprintf("with m₀ = %d the correction has %.3g times the variance of the ratio, want at most 1: "+
			"queries and keys are too long for d = %d", p.features, p.correction/p.variance, u.opts.Dim)
	}
	return p, nil
}

func (l *pilotRun[T]) choose() (p pilot) {
	rounds := float64(l.rounds)
	for level, variance := range l.variances {
		p = pilot{features: minFeatures << level, variance: variance / rounds}
		terms := l.squares[level:]
		for n, square := range terms {
			p.correction += square / probability(n+1) / rounds
		}
		// The sum of the terms of later Δ_n is smallest if they are proportional to P(n).
		p.correction += l.rest / math.Pow(decay, float64(len(terms))) / rounds
		if p.settled = p.correction <= p.variance; p.settled {
			break
		}
	}
	return p
}

func longest[T dense.Float](x dense.Matrix[T]) float64 {
	var norm float64
	for i := range x.Rows {
		norm = max(norm, 2*vecmath.HalfSquaredNorm(x.Row(i)))
	}
	return norm
}
