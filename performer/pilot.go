package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// Pilot says which number of features m₀ suits [Unbiased], and what was measured
// for it.
type Pilot struct {
	// Features is m₀, a power of two.
	Features int

	// Variance is that of Y₀, and Correction that of Δ_N/P(N), both summed over all
	// outputs. The variance of a replicate is their sum.
	Variance, Correction float64

	// Settled is false if no number of features up to 4096 is enough for the norms of
	// these queries and keys, or if there is a NaN among them: a variance that is measured then says little, and far
	// too little if a rare feature carries it.
	Settled bool
}

const (
	pilotPairs = 16 // of blocks, at each number of features
	leastPilot = 8  // features
	mostPilot  = 4096

	// leastFall is the factor by which E‖Δ₁‖² has to fall when features are doubled.
	leastFall = 3
)

// Pilot measures the terms of the variance of a replicate,
//
//	Var(Y₀) + Σ_n E‖Δ_n‖²/P(n) ≈ Var(Y₀) + E‖Δ₁‖²·Σ_n (1/4r)^(n−1)/(1−r) = Var(Y₀) + 5.3·E‖Δ₁‖²,
//
// for m = 8, 16, 32, …, each on 16 pairs of blocks, and returns the first m at which the
// second term does not exceed the first and E‖Δ₁‖² falls at least by the factor 3 from m
// to 2m. (It tends to 4; at less than 1/r = 2.8 the terms of the sum would not fall.) It
// takes about 128·m₀ features, draws from the source of u, and is independent of what is
// drawn later: estimates stay unbiased.
//
// With large norms a rare feature carries much of the variance, which 16 pairs do not
// see: features then are more than was needed for what they show, and the variance of
// replicates is still several times the one that is returned. The standard errors of
// Estimate are the better guide.
//
// Shapes and errors are those of Estimate.
func (u *Unbiased[T]) Pilot(q, k, v dense.Matrix[T]) (Pilot, error) {
	u.check(q, k, v)
	p := Pilot{Features: leastPilot}
	if q.Rows == 0 || k.Rows == 0 || v.Cols == 0 {
		p.Settled = true
		return p, nil
	}
	u.damped = u.damping(q, k)
	variance, square, err := u.trial(leastPilot, q, k, v)
	if err != nil {
		return p, err
	}
	for m := leastPilot; ; m *= 2 {
		const sum = 1 / (1 - decay) / (1 - 1/(4*decay))
		nextVariance, nextSquare, err := u.trial(2*m, q, k, v)
		if err != nil {
			return p, err
		}
		p = Pilot{Features: m, Variance: variance, Correction: sum * square}
		p.Settled = p.Correction <= p.Variance && nextSquare*leastFall <= square
		if p.Settled || m >= mostPilot || math.IsNaN(variance) {
			return p, nil
		}
		variance, square = nextVariance, nextSquare
	}
}

// trial returns estimates of Var(Y₀) and E‖Δ₁‖² for m₀ = m.
func (u *Unbiased[T]) trial(m int, q, k, v dense.Matrix[T]) (variance, square float64, err error) {
	for _, y := range []*dense.Matrix[float64]{&u.a, &u.b, &u.ab} {
		*y = sized(*y, q.Rows, v.Cols)
	}
	for range pilotPairs {
		if err := u.halves(1, m, q, k, v); err != nil {
			return 0, 0, err
		}
		for i, a := range u.a.Data {
			b := u.b.Data[i]
			delta := u.ab.Data[i] - (a+b)/2
			variance += (a - b) * (a - b) / 2
			square += delta * delta
		}
	}
	return variance / pilotPairs, square / pilotPairs, nil
}
