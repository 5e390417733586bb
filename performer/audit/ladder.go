package audit

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

const (
	firstSize = 32 // the first of the default sizes

	// The most by which a size exceeds the one that was tried before: an error that is nearly 1 says
	// little about sizes far away.
	mostLeap = 4

	// Falls of the error that are taken for possible, where a candidate does not know its own: after
	// one size, and relative to the fall between the last two sizes, which counts for leastFall at
	// least. Landmarks fall faster and faster as they become as many as what differs among keys.
	// Measured on words, normal points and heads of a trained transformer: where the fall from 32 to
	// 128 landmarks was f, that from 128 to 512 was 0.8·f to 2·f, or ended at zero.
	firstFall, moreFall, leastFall = 2, 2, 0.75

	// What is taken for possible relative to a fall that is known.
	knownFall = 1.2
)

// ladder is a candidate in a search.
type ladder[T dense.Float] struct {
	Candidate[T]
	sizes []int
	work  []float64 // of a call, for each size
	at    int       // the next size
	whole bool      // forms have to compute all of their outputs
	slow  float64   // how many times as long as predicted the last trial took, at least 1
	tried []point
}

// point is the error of a size.
type point struct {
	size  int
	error float64
}

// next moves the candidate on to the next size that may hold, or to the end if the largest one will
// not hold. Errors above 1 tell no more than 1: they are those of denominators near zero, or of
// outputs that have nothing to do with the truth.
func (l *ladder[T]) next(p point, tolerance float64) {
	p.error = min(p.error, 1)
	fall := float64(firstFall)
	if l.Fall > 0 {
		fall = knownFall * l.Fall
	}
	if n := len(l.tried); n > 0 {
		last := l.tried[n-1]
		seen := math.Log(last.error/p.error) / math.Log(float64(p.size)/float64(last.size))
		if most := max(moreFall*seen, leastFall); l.Fall == 0 || most < fall {
			fall = most
		}
	}
	l.tried = append(l.tried, p)
	l.at++
	holds := func(size int) bool {
		return p.error*math.Pow(float64(p.size)/float64(size), fall) <= tolerance
	}
	if n := len(l.sizes); l.at < n && !holds(l.sizes[n-1]) {
		l.drop()
	}
	for l.at+1 < len(l.sizes) && l.sizes[l.at+1] <= mostLeap*p.size && !holds(l.sizes[l.at]) {
		l.at++
	}
}

// drop leaves out all sizes that are left.
func (l *ladder[T]) drop() { l.at = len(l.sizes) }

// left returns the number of sizes that are left.
func (l *ladder[T]) left() int { return len(l.sizes) - l.at }
