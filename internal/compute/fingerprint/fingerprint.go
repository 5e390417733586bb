// Package fingerprint compares feature maps by their values.
package fingerprint

import (
	"errors"
	"math"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
)

// Print identifies feature maps by their values. It holds a mark for each feature of queries,
// followed by a mark for each feature of keys. A mark is a combination of the values of the feature
// at a few fixed points. Marks of implementations that round differently are close to each other,
// unlike hashes. The zero value is ready to use, and goroutines may share it.
type Print struct {
	once  sync.Once
	marks []float64
}

// Marks returns the marks of the m features of each of the maps, for points of dimension d. The
// first call computes the marks, and later calls must have the same arguments.
func Marks[T dense.Float](p *Print, d, m int, maps ...func(dst, x dense.Matrix[T]) dense.Matrix[T]) []float64 {
	p.once.Do(func() { p.marks = marks(d, m, maps) })
	return p.marks
}

// markPoints is the number of points. The coefficients of the points are powers of ½.
const markPoints = 4

func marks[T dense.Float](d, m int, maps []func(dst, x dense.Matrix[T]) dense.Matrix[T]) []float64 {
	points := dense.New[T](markPoints, d)
	// The steps of the sequence are irrational, so that no symmetry of W makes a product zero.
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

func bounded(x float64) float64 {
	const bound = 1 << 10
	if x != x {
		return bound
	}
	return min(max(x, -bound), bound)
}

// Check returns an error unless x and y are marks of the same maps in T, to rounding. One
// feature in 16 of queries, and one in 16 of keys, may differ, because rounding changes a cosine of
// a large frequency by much, and a sign near its edge entirely.
func Check[T dense.Float](x, y []float64) error {
	m := len(x) / 2
	if !similar[T](x[:m], y[:m]) || !similar[T](x[m:], y[m:]) {
		return errors.New("the features differ from those that the state belongs to")
	}
	return nil
}

// similar reports whether marks agree relative to |x_f| + min(1, mean |x|).
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
		// The negation makes NaN differ.
		if !(math.Abs(v-y[f]) <= tolerance*(math.Abs(v)+least)) {
			different++
		}
	}
	return different <= len(x)/16
}
