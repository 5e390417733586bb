package rff

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Homogeneous returns the map that applies ψ = m to the direction of a point and multiplies the
// features by its length,
//
//	φ(x) = ‖x‖·ψ(x/‖x‖),  φ(0) = 0,
//
// with the dimensions of m. Its kernel is kernels.Homogeneous of the kernel of m, ‖x‖‖y‖·K(x/‖x‖,
// y/‖y‖): patches of an image are compared by their pattern and weigh as much as their contrast
// [Mairal et al. 2014].
//
// If a row of the Transform of m depends on its row of x alone, the same holds here. The features
// of a row with NaN or ±Inf are NaN. Norms are computed in float64. The cost is the cost of m and
// O(n·(in + out)).
//
// An error reports a nil m.
func Homogeneous[T dense.Float](m Map[T]) (Map[T], error) {
	return build[Map[T]](homogeneousRecipe[T]{m})
}

// homogeneousRecipe is what Homogeneous is made of.
type homogeneousRecipe[T dense.Float] struct{ Of Map[T] }

func newHomogeneous[T dense.Float](r homogeneousRecipe[T]) (Map[T], error) {
	if r.Of == nil {
		return nil, fmt.Errorf("rff: m is nil, want a map")
	}
	return wrapped(r.Of, homogeneous[T]), nil
}

// homogeneous returns the map of m, without its keys.
func homogeneous[T dense.Float](m Map[T]) Map[T] {
	in, out := m.Dims()
	f := &homogeneousMap[T]{features: m}
	f.frame = frame{name: fmt.Sprintf("Homogeneous(%v)", m), in: in, out: out, fitted: fitted(m), recipe: homogeneousRecipe[T]{m}}
	if k := m.Kernel(); k != nil {
		f.kernel = kernels.Homogeneous{K: k}
	}
	f.law = lawOf(m).Through("Homogeneous", func(x []float64) []float64 {
		u := make([]float64, len(x))
		direction(u, x)
		return u
	}, func(x []float64) float64 { return direction(make([]float64, len(x)), x) })
	f.rows, f.transform = affineRows, f.block
	return f
}

// homogeneousMap is the map of Homogeneous.
type homogeneousMap[T dense.Float] struct {
	blockwise[T, homogeneousSpace[T]]
	features Map[T]
}

// homogeneousSpace holds the directions of a block of rows and their lengths.
type homogeneousSpace[T dense.Float] struct {
	directions []T
	lengths    [affineRows]float64
}

// block writes the features of a block of rows.
func (f *homogeneousMap[T]) block(s *homogeneousSpace[T], dst, x, _ dense.Matrix[T]) {
	u := scratchMatrix(&s.directions, x.Rows, f.in)
	for i := range u.Rows {
		s.lengths[i] = direction(u.Row(i), x.Row(i))
	}
	f.features.Transform(dst, u)
	for i, r := range s.lengths[:u.Rows] {
		if r == 0 {
			clear(dst.Row(i)) // ψ(0) may be anything
			continue
		}
		vecmath.Scale(dst.Row(i), T(r))
	}
}

// direction writes x/‖x‖ into u, or 0, and returns ‖x‖: NaN, and NaN in all of u, where x is not
// finite.
func direction[T dense.Float](u, x []T) float64 {
	var peak float64
	for _, v := range x {
		peak = max(peak, math.Abs(float64(v))) // NaN if one is
	}
	if peak == 0 {
		clear(u)
		return 0
	}
	if math.IsInf(peak, 1) {
		peak = math.NaN()
	}
	var sum float64
	for _, v := range x {
		t := float64(v) / peak
		sum += t * t
	}
	root := math.Sqrt(sum)
	for i, v := range x {
		u[i] = T(float64(v) / peak / root)
	}
	return peak * root
}
