package conformance

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/orf"
)

// points is the number of points for a projection, more than a block of any implementation in orf.
const points = 70

// Projection checks whether w keeps the contract of orf.Projection, and the contract of
// orf.Transposer if w has the methods of orf.Transposer. Projection checks that
//
//   - Frequencies is m×d, finite, and a copy;
//   - Project is XWᵀ up to 16·(d'+16)·u·‖w_k‖‖x_i‖ with the unit roundoff u, where d' is the
//     smallest power of two that is at least d (for padded transforms), and ProjectTransposed is ZW
//     in the same way;
//   - a row of a result depends on its row of x alone, to the last bit, w does not change x, and it
//     writes every element of dst and no other element;
//   - goroutines may share w, NaN and ±Inf in a row of x lead to NaN or ±Inf in its row of the
//     result, and shapes that do not fit panic.
func Projection[T dense.Float](w orf.Projection[T]) error {
	var f faults
	if w == nil {
		return fmt.Errorf("conformance: the projection is nil")
	}
	m, d := w.Shape()
	if m < 1 || d < 1 {
		return fmt.Errorf("conformance: Dims is %d, %d, want at least 1, 1", m, d)
	}
	frequencies := w.Frequencies()
	if frequencies.Rows != m || frequencies.Cols != d {
		return fmt.Errorf("conformance: Frequencies is %d×%d, want %d×%d", frequencies.Rows, frequencies.Cols, m, d)
	}
	for k := range m {
		if !finite(frequencies.Row(k)) {
			return fmt.Errorf("conformance: frequency %d is not finite: %v", k, frequencies.Row(k))
		}
	}
	kept := frequencies.Clone()
	frequencies.Set(0, 0, frequencies.At(0, 0)+1)
	if !same(w.Frequencies(), kept) {
		f.add("Frequencies is not a copy")
	}

	order := 1
	for order < d {
		order *= 2
	}
	x := normal[T](points, d)
	project := operation[T]{"Project", d, m, w.Project}
	if y, ok := project.check(&f, x); ok {
		compareProducts(&f, "Project", y, x, kept, order)
	}
	if back, ok := w.(orf.Transposer[T]); ok {
		z := normal[T](points, m)
		transposed := operation[T]{"ProjectTransposed", m, d, back.ProjectTransposed}
		if y, ok := transposed.check(&f, z); ok {
			compareProducts(&f, "ProjectTransposed", y, z, dense.Transpose(dense.Matrix[T]{}, kept), max(order, m))
		}
	}
	return f.err()
}

// The tolerance is relative to the longest row of a.
func compareProducts[T dense.Float](f *faults, name string, y, x, a dense.Matrix[T], order int) {
	var longest float64
	for k := range a.Rows {
		longest = max(longest, inner(a.Row(k), a.Row(k)))
	}
	// A padded frequency is longer than its first d coordinates.
	longest = math.Sqrt(max(longest, 9*float64(order)))
	for i := range y.Rows {
		size := longest * math.Sqrt(inner(x.Row(i), x.Row(i)))
		tolerance := 16 * float64(order+16) * vecmath.Roundoff[T]() * size
		for k, v := range y.Row(i) {
			want := inner(a.Row(k), x.Row(i))
			if !(math.Abs(float64(v)-want) <= tolerance) {
				f.add("%s gives %v at row %d, column %d, the product with Frequencies %v", name, v, i, k, want)
				return
			}
		}
	}
}
