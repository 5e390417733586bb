package quantise

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
)

// Measure is the function of a row and a query by which searches rank rows, such as Cosine.
type Measure int

const (
	InnerProduct Measure = iota // xᵀy
	// xᵀy/(‖x‖‖y‖), and 0 if a norm is 0; exact values are in [−1, 1]
	Cosine
	SquaredDistance // ‖x − y‖² = ‖x‖² + ‖y‖² − 2xᵀy
)

// Estimate is an estimated Value of a Measure and the standard error StdErr, the root mean squared
// error over random rotations, computed with the estimate in place of the true value. For an
// estimate c of a cosine by a quantiser of New, StdErr² is, apart from roundings, v·max(1 − c²,
// 12v), where v is the mean squared error at the cosine 0. The floor 12v² holds because c near 1
// tells little of 1 − ρ² for the true cosine ρ. A StdErr of 0 means that the Value is exact. If the
// argument miss of Prepare is above 0, the true value is below Low with at most the probability
// miss, and likewise above High. If the argument miss of Prepare is 0, Low and High are 0.
type Estimate struct{ Value, StdErr, Low, High float64 }

// Hit is a row in the result of a search: the number ID of the row, and an Estimate.
type Hit struct {
	ID int // the number of the row
	Estimate
}

func sortHits(hits []Hit, by Measure) {
	sign := 1
	if by == SquaredDistance {
		sign = -1
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		switch {
		case a.Value > b.Value:
			return -sign
		case a.Value < b.Value:
			return sign
		}
		return cmp.Compare(a.ID, b.ID)
	})
}

func exactly[T dense.Float](by Measure, x, y []T) float64 {
	var xy, xx, yy, distance float64
	for i, v := range x {
		a, b := float64(v), float64(y[i])
		xy += float64(a * b)
		xx += float64(a * a)
		yy += float64(b * b)
		distance += float64((a - b) * (a - b))
	}
	switch {
	case by == InnerProduct:
		return xy
	case by == SquaredDistance:
		return -distance
	case xx == 0 || yy == 0:
		return 0
	}
	norms := math.Sqrt(xx) * math.Sqrt(yy)
	if xx == yy {
		norms = xx // so that equal vectors have the cosine 1
	}
	return max(-1, min(1, xy/norms))
}
