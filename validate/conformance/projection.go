package conformance

import (
	"fmt"
	"math"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/projection"
	"github.com/seed-feabd252/randfeat/orf"
)

// points is the number of points for a projection, more than a block of any implementation in orf.
const points = 70

// Projection checks whether w keeps the contract of orf.Projection, and the contract of
// orf.Transposer if w has its methods. Projection checks that
//
//   - Frequencies is m×d, finite, and a copy;
//   - Project is XWᵀ up to 16·(d'+16)·u·‖w_k‖‖x_i‖ with the unit roundoff u, where d' is the
//     smallest power of two that is at least d (for padded transforms), and ProjectTransposed is ZW
//     in the same way;
//   - a row of a result depends on its row of x alone, to the last bit, w does not change x, and it
//     writes every element of dst and no other element;
//   - goroutines may share w, NaN and ±Inf in a row of x lead to NaN or ±Inf in its row of the
//     result, and shapes that do not fit panic;
//   - the tiles of a projection of package orf cover the result once, and finished tiles have the
//     bits of Project.
//
// Projection takes O((m+d)·d) memory and some dozens of projections of 70 points. Run it with the
// race detector as well (see the package documentation).
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
		if tiler, ok := w.(projection.Tiler[T]); ok {
			checkTiles(&f, "ProjectTiles", y, func(dst dense.Matrix[T], done matmul.Epilogue) { tiler.ProjectTiles(dst, x, done) })
		}
	}
	if back, ok := w.(orf.Transposer[T]); ok {
		z := normal[T](points, m)
		transposed := operation[T]{"ProjectTransposed", m, d, back.ProjectTransposed}
		if y, ok := transposed.check(&f, z); ok {
			compareProducts(&f, "ProjectTransposed", y, z, dense.Transpose(dense.Matrix[T]{}, kept), max(order, m))
			if tiler, ok := w.(projection.TransposedTiler[T]); ok {
				checkTiles(&f, "ProjectTransposedTiles", y, func(dst dense.Matrix[T], done matmul.Epilogue) {
					tiler.ProjectTransposedTiles(dst, z, done)
				})
			}
		}
	}
	return f.err()
}

// compareProducts compares y with x·aᵀ. The tolerance is relative to the longest row of a.
func compareProducts[T dense.Float](f *faults, name string, y, x, a dense.Matrix[T], order int) {
	var longest float64
	for k := range a.Rows {
		longest = max(longest, inner(a.Row(k), a.Row(k)))
	}
	// A padded frequency is longer than its first d coordinates.
	longest = math.Sqrt(max(longest, 9*float64(order)))
	for i := range y.Rows {
		size := longest * math.Sqrt(inner(x.Row(i), x.Row(i)))
		tolerance := 16 * float64(order+16) * roundoff[T]() * size
		for k, v := range y.Row(i) {
			want := inner(a.Row(k), x.Row(i))
			if !(math.Abs(float64(v)-want) <= tolerance) {
				f.add("%s gives %v at row %d, column %d, the product with Frequencies %v", name, v, i, k, want)
				return
			}
		}
	}
}

// checkTiles runs a projection by tiles, and compares each finished tile with want.
func checkTiles[T dense.Float](f *faults, name string, want dense.Matrix[T], run func(dst dense.Matrix[T], done matmul.Epilogue)) {
	dst := dense.New[T](want.Rows, want.Cols)
	t := &tiles[T]{dst: dst, want: want, covered: dense.New[T](want.Rows, want.Cols)}
	run(dst, t)
	for i := range t.covered.Rows {
		for j, n := range t.covered.Row(i) {
			if n != 1 {
				f.add("%s finishes row %d, column %d %v times", name, i, j, n)
				return
			}
		}
	}
	if t.wrong {
		f.add("%s finishes a tile before it has its values", name)
	}
}

// tiles is an epilogue that compares a tile, counts its elements and overwrites it with NaN.
type tiles[T dense.Float] struct {
	mu                 sync.Mutex
	dst, want, covered dense.Matrix[T]
	wrong              bool
}

// Finish checks the tile of rows lo to hi and columns from to to.
func (t *tiles[T]) Finish(lo, hi, from, to int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := lo; i < hi; i++ {
		for j := from; j < to; j++ {
			t.wrong = t.wrong || t.dst.At(i, j) != t.want.At(i, j)
			t.dst.Set(i, j, T(math.NaN()))
			t.covered.Set(i, j, t.covered.At(i, j)+1)
		}
	}
}
