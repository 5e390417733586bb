package rff

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/pool"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Directional is a map that applies another to directions: Homogeneous makes it. It
// never changes after construction and may be shared by goroutines.
type Directional[T dense.Float] struct {
	features Map[T]
	keys     *Directional[T]
	in, out  int

	passes pool.Of[directionalPass[T]]
	spaces pool.Of[directionalSpace[T]]
}

// Homogeneous returns the map that gives the features ψ = m of a direction the length
// of its point,
//
//	φ(x) = ‖x‖·ψ(x/‖x‖),  φ(0) = 0,
//
// of the dimensions of m. It has the kernel kernels.Homogeneous of that of m,
// ‖x‖‖y‖·K(x/‖x‖, y/‖y‖): patches of an image are compared by their pattern and weigh as
// much as their contrast [Mairal et al. 2014].
//
// An error reports a nil m.
func Homogeneous[T dense.Float](m Map[T]) (*Directional[T], error) {
	if m == nil {
		return nil, fmt.Errorf("rff: m is nil, want a map")
	}
	f := directional(m)
	if f.keys = f; !isSymmetric(m) {
		f.keys = directional(Keys(m))
		f.keys.keys = f
	}
	return f, nil
}

func directional[T dense.Float](m Map[T]) *Directional[T] {
	in, out := m.Dims()
	return &Directional[T]{features: m, in: in, out: out}
}

// Keys returns the map that f is Paired with: Homogeneous of the map of keys of m.
func (f *Directional[T]) Keys() Map[T] { return f.keys }

// Dims returns the dimensions of x and of φ(x).
func (f *Directional[T]) Dims() (in, out int) { return f.in, f.out }

// Transform writes φ of every row of x (n×in) into dst (n×out) and returns it; a
// zero dst is allocated. dst must not overlap x. A row of dst depends on its row of
// x alone, where that holds for m, and is NaN where that has NaN or ±Inf. Norms are
// computed in float64. The cost is that of m and O(n·(in + out)). It panics if a
// shape does not fit.
func (f *Directional[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	checkPoints(x, f.in)
	dst = dense.Ensure(dst, x.Rows, f.out)
	inBlocks(&f.passes, directionalPass[T]{Directional: f, dst: dst, x: x}, x.Rows, affineRows)
	return dst
}

// Kernel returns kernels.Homogeneous of the kernel of m; nil if that is not known.
func (f *Directional[T]) Kernel() kernels.Kernel {
	k := f.features.Kernel()
	if k == nil {
		return nil
	}
	return kernels.Homogeneous{K: k}
}

// String returns the map of directions, and the dimensions.
func (f *Directional[T]) String() string {
	return describe(fmt.Sprintf("Homogeneous(%v)", f.features), f.in, f.out)
}

// directionalPass is one Transform.
type directionalPass[T dense.Float] struct {
	*Directional[T]
	dst, x dense.Matrix[T]
}

// directionalSpace holds the directions of a block of rows and their lengths.
type directionalSpace[T dense.Float] struct {
	directions []T
	lengths    [affineRows]float64
}

func (p *directionalPass[T]) Piece(i int) {
	lo := i * affineRows
	hi := min(lo+affineRows, p.x.Rows)
	s := p.spaces.Get()
	u := scratchMatrix(&s.directions, hi-lo, p.in)
	for i := range u.Rows {
		s.lengths[i] = direction(u.Row(i), p.x.Row(lo+i))
	}
	dst := p.dst.RowRange(lo, hi)
	p.features.Transform(dst, u)
	for i, r := range s.lengths[:u.Rows] {
		if r == 0 {
			clear(dst.Row(i)) // ψ(0) may be anything
			continue
		}
		vecmath.Scale(dst.Row(i), T(r))
	}
	p.spaces.Put(s)
}

// direction writes x/‖x‖ into u, or 0, and returns ‖x‖: NaN, and NaN in all of u, where x
// is not finite.
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
