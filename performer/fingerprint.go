package performer

import (
	"errors"
	"math"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
)

// fingerprint tells maps apart by their own numbers: for each feature of the queries,
// then of the keys, a mark, which is a combination of its values at a few fixed
// points. Implementations that round differently give marks that are close, which a
// hash of the numbers would not be.
type fingerprint struct {
	once  sync.Once
	marks []float64
}

// of returns the marks of a, which are computed when they are first asked for.
func (p *fingerprint) of(a markable) []float64 {
	p.once.Do(func() { p.marks = a.computeMarks() })
	return p.marks
}

type markable interface{ computeMarks() []float64 }

// markPoints is the number of points: a power of ½ is the coefficient of each.
const markPoints = 4

// computeMarks returns the marks of the (log-)features that sums are made of.
func (a *Attention[T]) computeMarks() []float64 {
	return marksOf(a.d, a.m, a.mapQueries, a.mapKeys)
}

// marksOf returns the marks of m features of points of dimension d, of each of the maps.
func marksOf[T dense.Float](d, m int, maps ...func(dst, x dense.Matrix[T])) []float64 {
	points := dense.New[T](markPoints, d)
	// A sequence with irrational steps: no symmetry of W makes a product with it zero.
	for i := range points.Data {
		_, fraction := math.Modf(float64(i+1) * math.Phi)
		points.Data[i] = T((2*fraction - 1) / math.Sqrt(float64(d)))
	}
	marks := make([]float64, 0, len(maps)*m)
	features := dense.New[T](markPoints, m)
	for _, mapRows := range maps {
		mapRows(features, points)
		for f := range m {
			mark := 0.0
			for i := range markPoints {
				mark = mark/2 + bounded(float64(features.At(i, f)))
			}
			marks = append(marks, mark)
		}
	}
	return marks
}

// bounded returns x, or a number in place of what has no difference.
func bounded(x float64) float64 {
	const bound = 1 << 10
	if x != x {
		return bound
	}
	return min(max(x, -bound), bound)
}

// checkMarks returns an error unless these are the marks of a, to rounding, but for one
// feature in 16: large frequencies leave little of a cosine, and nothing of a sign that
// is at its edge.
func (a *Attention[T]) checkMarks(marks []float64) error {
	own := a.fingerprint.of(a)
	if !similar[T](own[:a.m], marks[:a.m]) || !similar[T](own[a.m:], marks[a.m:]) {
		return errors.New("performer: the features differ from those that the state belongs to")
	}
	return nil
}

// similar reports whether marks agree, relative to themselves or, where they are small,
// to their mean size or 1.
func similar[T dense.Float](x, y []float64) bool {
	tolerance := 0x1p-14
	if _, double := any(T(0)).(float64); double {
		tolerance = 0x1p-40
	}
	mean := 0.0
	for _, v := range x {
		mean += math.Abs(v) / float64(len(x))
	}
	least := min(mean, 1)
	different := 0
	for f, v := range x {
		// Written so that NaN differs.
		if !(math.Abs(v-y[f]) <= tolerance*(math.Abs(v)+least)) {
			different++
		}
	}
	return different <= len(x)/16
}
