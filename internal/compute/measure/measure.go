// Package measure compares two vectors, with the same bits on every processor.
package measure

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// The measures, which are those of package quantise.
const (
	InnerProduct = iota
	Cosine
	SquaredDistance
)

// Of returns a measure of two vectors of the same length. The sums are in float64.
func Of[T dense.Float](measure int, x, y []T) float64 {
	var xy, xx, yy, distance float64
	for i, v := range x {
		a, b := float64(v), float64(y[i])
		xy += float64(a * b)
		xx += float64(a * a)
		yy += float64(b * b)
		distance += float64((a - b) * (a - b))
	}
	switch {
	case measure == InnerProduct:
		return xy
	case measure == SquaredDistance:
		return distance
	case xx == 0 || yy == 0:
		return 0
	}
	norms := math.Sqrt(xx) * math.Sqrt(yy)
	if xx == yy {
		norms = xx // so that equal vectors have the cosine 1
	}
	return max(-1, min(1, xy/norms))
}
