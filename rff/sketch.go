package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/orf"
)

// sketch is a map whose features are products of projections,
//
//	φ_j(x) = g_j·Π_{t ≤ n_j} w_jtᵀx̃,
//
// where x̃ is x or x with a constant appended: PolynomialSketch, PolynomialOf, Maclaurin and
// TensorSketch. With complex w there are m/2 products, and the m features are their real parts,
// then their imaginary parts. The inner product of these is Re(φ(x)·φ(y)ᴴ). TensorSketch has one or
// two products with real w first.
type sketch[T dense.Float] struct {
	blockwise[T, sketchSpace[T]]
	pull  blockFunc[T, sketchSpace[T]]
	parts int // 1, or 2 for complex numbers
	real  int // features that are real nevertheless, which come first

	// x̃ = [scale·x, constant] if there is a constant, else x.
	scale, constant T

	// factors[t] has the projections for the features of degree above t, which come first: real
	// parts, then imaginary parts.
	factors []orf.Transposer[T]
	gains   []T // of each feature; nil if a factor contains them
}

// newSketch returns a sketch without factors yet.
func newSketch[T dense.Float](f frame, parts int) *sketch[T] {
	s := &sketch[T]{parts: parts}
	s.frame, s.rows, s.transform, s.pull = f, blockRows, s.features, s.gradient
	return s
}

func (f *sketch[T]) Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T] {
	return f.backward("dphi", dst, x, dphi, f.pull)
}

func (f *sketch[T]) CanBackward() error { return nil }

// sketchSpace is the workspace for a block of rows.
type sketchSpace[T dense.Float] struct {
	points, pulled, part []T
	factors, z           []T
}

// lift returns x̃.
func (f *sketch[T]) lift(s *sketchSpace[T], x dense.Matrix[T]) dense.Matrix[T] {
	if f.constant == 0 {
		return x
	}
	points := scratchMatrix(&s.points, x.Rows, f.in+1)
	for i := range x.Rows {
		to := points.Row(i)
		copy(to, x.Row(i))
		vecmath.Scale(to[:f.in], f.scale)
		to[f.in] = f.constant
	}
	return points
}

// features writes the features of a block of rows.
func (f *sketch[T]) features(s *sketchSpace[T], dst, x, _ dense.Matrix[T]) {
	points := f.lift(s, x)
	for t, w := range f.factors {
		n, _ := w.Shape()
		if t == 0 && n == f.out {
			w.Project(dst, points)
			continue
		}
		factor := scratchMatrix(&s.factors, x.Rows, n)
		w.Project(factor, points)
		for i := range x.Rows {
			if t == 0 {
				f.begin(dst.Row(i), factor.Row(i), x.Row(i))
			} else {
				f.multiply(dst.Row(i), factor.Row(i), 1)
			}
		}
	}
	for i := range x.Rows {
		if len(f.factors) == 0 {
			f.begin(dst.Row(i), nil, x.Row(i))
		}
		if f.gains != nil {
			vecmath.Multiply(dst.Row(i), f.gains)
		}
	}
}

// begin writes the first factor, and 1 for the features that have none.
func (f *sketch[T]) begin(phi, factor, x []T) {
	one := 1 + nothing(x)
	n, m := len(factor)/f.parts, len(phi)/f.parts
	for part := range f.parts {
		to := phi[part*m : (part+1)*m]
		copy(to, factor[part*n:(part+1)*n])
		for j := n; j < m; j++ {
			to[j] = one
		}
		one -= 1
	}
}

// multiply multiplies the first features of phi by a factor, or by its conjugate if sign is −1.
func (f *sketch[T]) multiply(phi, factor []T, sign T) {
	if f.parts == 1 {
		vecmath.Multiply(phi[:len(factor)], factor)
		return
	}
	r := f.real
	vecmath.Multiply(phi[:r], factor[:r])
	phi, factor = phi[r:], factor[r:]
	n, m := len(factor)/2, len(phi)/2
	vecmath.MultiplyComplex(phi[:n], phi[m:m+n], factor[:n], factor[n:], sign)
}

// nothing returns 0, or NaN if a number of x is NaN or infinite.
func nothing[T dense.Float](x []T) T {
	var zeros [64]T
	var zero T
	for len(x) > len(zeros) {
		zero += vecmath.Dot(x[:len(zeros)], zeros[:])
		x = x[len(zeros):]
	}
	return zero + vecmath.Dot(x, zeros[:])
}

// gradient writes the gradients with respect to a block of rows, for the gradients g with respect
// to their features.
//
// Let a complex gradient be the gradient with respect to the real part, plus i times the gradient
// with respect to the imaginary part. If a complex feature P = Π f_t has the gradient G, f_t has
// the gradient G·conj(Π_{s≠t} f_s).
func (f *sketch[T]) gradient(s *sketchSpace[T], dst, x, g dense.Matrix[T]) {
	points, n := f.lift(s, x), x.Rows
	pulled, part := scratchMatrix(&s.pulled, n, points.Cols), scratchMatrix(&s.part, n, points.Cols)
	clear(pulled.Data)

	// left is G times all factors before t, and z is left times all factors after t.
	p := len(f.factors)
	all := scratchMatrix(&s.factors, n*p, f.out)
	factor := func(t int) dense.Matrix[T] {
		m, _ := f.factors[t].Shape()
		return all.RowRange(t*n, (t+1)*n).ColRange(0, m)
	}
	for t, w := range f.factors {
		w.Project(factor(t), points)
	}
	rows := scratchMatrix(&s.z, 2*n, f.out)
	left, work := rows.RowRange(0, n), rows.RowRange(n, 2*n)
	for i := range n {
		copy(left.Row(i), g.Row(i))
		if f.gains != nil {
			vecmath.Multiply(left.Row(i), f.gains)
		}
	}
	for t, w := range f.factors {
		m, _ := w.Shape()
		z := work.ColRange(0, m)
		for i := range n {
			f.first(z.Row(i), left.Row(i))
			for later := t + 1; later < p; later++ {
				f.multiply(z.Row(i), factor(later).Row(i), -1)
			}
			f.multiply(left.Row(i), factor(t).Row(i), -1)
		}
		w.ProjectTransposed(part, z)
		for i := range n {
			vecmath.AddScaled(pulled.Row(i), part.Row(i), 1)
		}
	}
	for i := range n {
		to := dst.Row(i)
		copy(to, pulled.Row(i))
		scale := T(1)
		if f.constant != 0 {
			scale = f.scale
		}
		// A gradient that is constant or linear in x could hide a NaN or ±Inf of x or g.
		vecmath.Affine(to, to, scale, nothing(x.Row(i))+nothing(g.Row(i)))
	}
}

// first copies the features of phi that z has, the first ones.
func (f *sketch[T]) first(z, phi []T) {
	if len(z) == len(phi) {
		copy(z, phi)
		return
	}
	n, m := len(z)/f.parts, len(phi)/f.parts
	for part := range f.parts {
		copy(z[part*n:(part+1)*n], phi[part*m:][:n])
	}
}
