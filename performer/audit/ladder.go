package audit

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

const (
	firstSize = 32 // the first of the default sizes

	// The largest factor from one tried size to the next. An error near 1 says little about sizes
	// far away.
	maxStep = 4

	// Bounds on the rate at which the error falls, for a kind without a known rate: after one size
	// firstRate, later rateFactor times the rate between the last two sizes, where a measured rate
	// below minRate counts as minRate. The error of landmarks falls faster and faster as their
	// number comes close to the number of different keys. On words, normal points and heads of a
	// trained transformer with the rate f from 32 to 128 landmarks, the rate from 128 to 512 was
	// 0.8·f to 2·f, or the error fell to zero.
	firstRate, rateFactor, minRate = 2, 2, 0.75

	// The bound on a known rate, relative to the rate.
	knownRateFactor = 1.2
)

// ladder is the state of a kind of attention in a search.
type ladder[T dense.Float] struct {
	kind[T]
	work  []float64 // the cost of a call of each size
	next  int       // the index of the next size
	whole bool      // the attention computes all of its outputs

	scored []float64 // scored keys of a query with each size, after a sweep

	lastSize  int // 0 before the first trial
	lastError float64
}

// climb moves on to the next size that may be within the tolerance, after a trial of a size with an
// error. If the largest size is not expected to be within the tolerance, climb drops the kind. An
// error above 1 counts as 1: denominators near zero or outputs without relation to exact attention
// cause it.
func (l *ladder[T]) climb(size int, err, tolerance float64) {
	err = min(err, 1)
	rate := float64(firstRate)
	if l.rate > 0 {
		rate = knownRateFactor * l.rate
	}
	if l.lastSize > 0 {
		measured := math.Log(l.lastError/err) / math.Log(float64(size)/float64(l.lastSize))
		if bound := max(rateFactor*measured, minRate); l.rate == 0 || bound < rate {
			rate = bound
		}
	}
	l.lastSize, l.lastError = size, err
	l.next++
	mayPass := func(next int) bool {
		return err*math.Pow(float64(size)/float64(next), rate) <= tolerance
	}
	n := len(l.sizes)
	if l.next < n && !mayPass(l.sizes[n-1]) {
		l.drop()
	}
	for l.next+1 < n && l.sizes[l.next+1] <= maxStep*size && !mayPass(l.sizes[l.next]) {
		l.next++
	}
}

// drop skips all remaining sizes.
func (l *ladder[T]) drop() { l.next = len(l.sizes) }
