package estimate

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

const (
	dampingRows = 16 // the most queries that damping reads

	// maxPhi bounds φ, so that a‖w‖² and √(1−4a) stay in the range of float32.
	maxPhi = 1 << 20
)

// damping returns the a of rff.SoftmaxOptimal for queries q and keys k, from the exact attention
// P_ij of up to 16 queries at equal distances. Let φ be the mean over i of Σ_j
// P_ij·Scale·‖q_i+k_j‖²/d. The fourth moment of the estimate φ(q)ᵀφ(k) with one frequency, at
// Scale·‖q+k‖² = φ·d, is proportional to
//
//	(1+s)^(2d)·(1+4s)^(−d/2)·exp(8φd·(1+s)/(1+4s)),  s = −4a.
//
// Its minimum is at s·(1+4s) = 4φ·(1+s) (derived). E‖Δ‖² consists of fourth moments. rff.OptimalA
// minimises second moments, with 2 in place of each 4 in the last formula. damping skips queries
// that see NaN or ±Inf, and returns zero if there is no other query.
func (u *Unbiased[T]) damping(q, k dense.Matrix[T]) float64 {
	var sum, n float64
	rows := min(q.Rows, dampingRows)
	for r := range rows {
		o := u.exactRow((2*r+1)*q.Rows/(2*rows), q, k)
		var p float64
		for j, w := range o.weights {
			p += w * o.norms[j]
		}
		if p <= math.MaxFloat64 {
			sum += max(p, 0)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return leastFourthMoment(min(sum/n/float64(u.opts.Dim), maxPhi))
}

// leastFourthMoment returns a = −s/4 where s ≥ 0 and s·(1+4s) = 4φ·(1+s).
func leastFourthMoment(phi float64) float64 {
	half := 4*phi - 1
	root := math.Hypot(half, 8*math.Sqrt(phi))
	if half > 0 {
		return -(root + half) / 32
	}
	return -2 * phi / (root - half) // the same number without cancellation
}
