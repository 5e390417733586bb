package nystroem

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// Set holds landmarks: the log-features log φ_z(x) = s·zᵀx − a_z and the factor of G. A landmark
// that others span, and room for further landmarks, has log-features of −Inf. A Set is the Features
// and the Mixer of an engine. A Set never changes unless it belongs to a [Choice], so goroutines
// may share it.
type Set[T dense.Float] struct {
	Scale   float64
	Means   *Means[T]         // nil if points are not centred
	points  scratch.Buffer[T] // r×d
	packed  matmul.Packed[T]  // transposed
	offsets []T               // −a_z, or −Inf
	halves  []float64         // a_z, and the logarithm of the factor of a centred key

	own []own // landmarks that are keys, in ascending order of keys

	gram, wide scratch.Buffer[float64] // r×r, r×d
	diagonal   []float64
	columns    []float64 // memory of share
	shares     []float64 // 1/Σ_g G_fg
	factor     triangular.Factor[float64]
}

// own says which key a landmark is.
type own struct{ key, landmark int }

var (
	_ sums.Features[float32] = (*Set[float32])(nil)
	_ sums.Mixer[float64]    = (*Set[float64])(nil)
)

// At returns the set of the finite landmarks z. The error reports a landmark whose squared norm is
// beyond the range of T.
func At[T dense.Float](scale float64, z dense.Matrix[T], means *Means[T]) (*Set[T], error) {
	l := &Set[T]{Scale: scale, Means: means}
	points := l.prepare(z.Rows, z.Cols)
	for i := range z.Rows {
		l.centreKey(points.Row(i), z.Row(i))
		if half := T(scale * vecmath.HalfSquaredNorm(points.Row(i))); half-half != 0 {
			return nil, fmt.Errorf("performer: z[%d] has a squared norm outside the range of %T", i, half)
		}
	}
	l.build(z.Rows)
	return l, nil
}

// prepare allocates memory for r landmarks of dimension d.
func (l *Set[T]) prepare(r, d int) dense.Matrix[T] {
	l.points.Shape(r, d)
	l.offsets, l.halves = scratch.Resize(l.offsets, r), scratch.Resize(l.halves, r)
	return l.points.Rows(r)
}

// build computes the features and the factor. The first n of the points are landmarks.
func (l *Set[T]) build(n int) {
	r := len(l.offsets)
	points := l.points.Rows(r)
	for i := n; i < r; i++ {
		clear(points.Row(i))
	}
	matmul.PackT(&l.packed, points)
	l.wide.Shape(r, points.Cols)
	l.gram.Shape(r, r)
	l.diagonal = scratch.Resize(l.diagonal, r)
	z, g := l.wide.Rows(n), l.gram.Rows(r)
	dense.Copy(z, points.RowRange(0, n))
	layout.Zero(g)
	live := g.RowRange(0, n).ColRange(0, n)
	matmul.MulT(l.Scale, z, z, 0, live)
	for i := range r {
		l.halves[i], l.offsets[i], l.diagonal[i] = 0, T(math.Inf(-1)), 1
		if i < n {
			l.halves[i] = g.Row(i)[i] / 2
		}
	}
	for i := range n {
		row := g.Row(i)[:i+1]
		for j, x := range row {
			row[j] = math.Exp(min(x-l.halves[i]-l.halves[j], 0))
		}
	}
	factorise(live, l.diagonal[:n])
	for i := range n {
		if l.diagonal[i] == 0 {
			l.diagonal[i] = 1
			continue
		}
		// The weight exp(a_z) of a landmark that is a key meets φ_z, which has the rounded a_z.
		l.offsets[i] = T(-l.halves[i])
		l.halves[i] = l.logFactor(points.Row(i)) - float64(l.offsets[i])
	}
	l.share(g, l.diagonal)
	l.factor.Set(g, l.diagonal)
}

// share sets the shares to 1/Σ_g G_fg, from the lower triangle and the diagonal of the factor of G.
func (l *Set[T]) share(factor dense.Matrix[float64], diagonal []float64) {
	n := len(diagonal)
	l.columns, l.shares = scratch.Resize(l.columns, n), scratch.Resize(l.shares, n)
	columns := l.columns
	clear(columns)
	for i := range n {
		for j, x := range factor.Row(i)[:i] {
			columns[j] += x
		}
		columns[i] += diagonal[i]
	}
	for i := range n {
		sum := diagonal[i] * columns[i]
		for j, x := range factor.Row(i)[:i] {
			sum += x * columns[j]
		}
		l.shares[i] = 1 / max(sum, 1) // the diagonal of G is 1, and no element is negative
	}
}

// leastPivot is the residual, from 0 to 1, up to which other landmarks span a landmark to rounding.
const leastPivot = 0x1p-40

// factorise replaces the lower triangle of the matrix G, whose diagonal is 1, by its Cholesky
// factor, and sets diagonal to the diagonal of the factor. A row whose residual is a rounding error
// gets the diagonal 0, and zeros in its row and column: the result is the factor without this row
// and column.
func factorise(g dense.Matrix[float64], diagonal []float64) {
	const panel = 32
	n := g.Rows
	for at := 0; at < n; at += panel {
		end := min(at+panel, n)
		if at > 0 {
			matmul.MulT(-1, g.RowRange(at, n).ColRange(0, at), g.RowRange(at, end).ColRange(0, at), 1, g.RowRange(at, n).ColRange(at, end))
		}
		for j := at; j < end; j++ {
			pivot := g.Row(j)
			left := pivot[j]
			for _, x := range pivot[at:j] {
				left -= x * x
			}
			if left <= leastPivot {
				diagonal[j] = 0
				clear(pivot[:j])
				for i := j + 1; i < n; i++ {
					g.Row(i)[j] = 0
				}
				continue
			}
			root := math.Sqrt(left)
			diagonal[j] = root
			for i := j + 1; i < n; i++ {
				row := g.Row(i)
				x := row[j]
				for l, y := range pivot[at:j] {
					x -= y * row[at+l]
				}
				row[j] = x / root
			}
		}
	}
}

// logTransform writes log φ of the rows of x into dst and returns dst; a zero dst is allocated.
func (l *Set[T]) logTransform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = dense.Ensure(dst, x.Rows, len(l.offsets))
	matmul.MulPacked(T(l.Scale), x, &l.packed, 0, dst, nil)
	for i := range dst.Rows {
		vecmath.AffineEach(dst.Row(i), 1, l.offsets, 0)
	}
	return dst
}

// Hide sets the log-features of keys that are landmarks to −Inf in a block that begins with key
// number lo.
func (l *Set[T]) Hide(logs dense.Matrix[T], lo int) {
	at, _ := slices.BinarySearchFunc(l.own, lo, func(o own, key int) int { return cmp.Compare(o.key, key) })
	for ; at < len(l.own) && l.own[at].key < lo+logs.Rows; at++ {
		layout.Fill(logs.Row(l.own[at].key-lo), T(math.Inf(-1)))
	}
}
