package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

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
		m, _ := f.factors[t].Dims()
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
		m, _ := w.Dims()
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
