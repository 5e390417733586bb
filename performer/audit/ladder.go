package audit

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

const (
	firstSize = 32 // the first of the default sizes

	// The largest factor from one tried size to the next. An error near 1 says little of far sizes.
	maxStep = 4

	// The error of features falls as size^(−½). The factor 1.2 allows for noise of errors.
	fallingRate = 1.2 / 2
)

type ladder[T dense.Float] struct {
	kind[T]
	work  []float64 // the cost of a call of each size
	next  int       // the index of the next size
	whole bool      // the attention computes all of its outputs

	scored []float64 // scored keys of a query with each size, after a sweep
}

// climb moves on to the next size that may be within the tolerance, after a trial of a size with an
// error. climb drops a kind whose largest size is not expected to be within the tolerance. An error
// above 1 counts as 1: denominators near zero or outputs without relation to exact attention cause
// it.
func (l *ladder[T]) climb(size int, err, tolerance float64) {
	err = min(err, 1)
	l.next++
	mayPass := func(next int) bool {
		return err*math.Pow(float64(size)/float64(next), fallingRate) <= tolerance
	}
	n := len(l.sizes)
	if l.next < n && !mayPass(l.sizes[n-1]) {
		l.drop()
	}
	for l.next+1 < n && l.sizes[l.next+1] <= maxStep*size && !mayPass(l.sizes[l.next]) {
		l.next++
	}
}

func (l *ladder[T]) drop() { l.next = len(l.sizes) }
