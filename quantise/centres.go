package quantise

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// The first centre of a quantiser is the origin.
type centre[T dense.Float] struct {
	vector  []T
	rotated []T     // R·c
	square  float64 // ‖c‖²
}

func (q *quantiser[T]) WithCentres(centres dense.Matrix[T]) (Quantiser[T], error) {
	if q.bands != nil {
		return nil, errors.New("quantise: a quantiser of Learn has no centres")
	}
	centres.Check()
	if centres.Rows < 1 || centres.Cols != q.in {
		return nil, fmt.Errorf("quantise: centres are %d×%d, want K×%d with K ≥ 1", centres.Rows, centres.Cols, q.in)
	}
	if err := limit.Memory[float64](centres.Rows+1, q.out); err != nil {
		return nil, fmt.Errorf("quantise: %d centres of dimension %d: %w", centres.Rows, q.in, err)
	}
	for i := range centres.Rows {
		if norm := math.Sqrt(2 * vecmath.HalfSquaredNorm(centres.Row(i))); !(norm <= 0x1p100) {
			return nil, fmt.Errorf("quantise: centre %d has the norm %.3g, want up to 2¹⁰⁰", i, norm)
		}
	}
	vectors := dense.New[T](centres.Rows+1, q.in)
	dense.Copy(vectors.RowRange(1, vectors.Rows), centres)
	r := &quantiser[T]{coder: q.coder, layout: q.layout.withClusters(vectors.Rows), centres: make([]centre[T], vectors.Rows), nearest: newNearest(vectors)}
	rotated := q.rotation.Apply(dense.Matrix[T]{}, vectors)
	for i := range r.centres {
		v := vectors.Row(i)
		r.centres[i] = centre[T]{v, rotated.Row(i), 2 * vecmath.HalfSquaredNorm(v)}
	}
	return r, nil
}

// share returns t = yᵀc/‖c‖², which minimises ‖y − tc‖, and 1 − t. For the origin t is 0.
func (c *centre[T]) share(y []T) (t, short float64) {
	if c.square == 0 {
		return 0, 1
	}
	for i, v := range c.vector {
		short += float64((float64(v) - float64(y[i])) * float64(v))
	}
	short /= c.square
	if t = 1 - short; math.Abs(t) >= 0x1p-10 {
		return t, short
	}
	// y is short or nearly orthogonal to c, and the difference 1 − short has lost digits of t.
	t = 0
	for i, v := range c.vector {
		t += float64(float64(v) * float64(y[i]))
	}
	return t / c.square, short
}

// nearest finds the nearest of several vectors. It subtracts the mean of the vectors from all of
// them, because a large mean would cost the products digits.
type nearest[T dense.Float] struct {
	mean    []T
	vectors dense.Matrix[T] // the vectors minus the mean
	half    []float64       // half of their squared norms
	norms   []float64
}

func newNearest[T dense.Float](vectors dense.Matrix[T]) *nearest[T] {
	n := &nearest[T]{make([]T, vectors.Cols), vectors.Clone(), make([]float64, vectors.Rows), make([]float64, vectors.Rows)}
	mean := make([]float64, vectors.Cols)
	for i := 1; i < vectors.Rows; i++ {
		for j, v := range vectors.Row(i) {
			mean[j] += float64(v) / float64(vectors.Rows-1)
		}
	}
	for j, v := range mean {
		n.mean[j] = T(v)
	}
	for i := range vectors.Rows {
		row := n.vectors.Row(i)
		vecmath.AddScaled(row, n.mean, -1)
		n.half[i] = vecmath.HalfSquaredNorm(row)
		n.norms[i] = math.Sqrt(2 * n.half[i])
	}
	return n
}

const assignRows = 256

// rounding returns a bound of the rounding error of half of the squared distance between a vector
// of the given norm and vector c, computed by a product in T or by SquaredDistance.
func (n *nearest[T]) rounding(norm float64, c int) float64 {
	sum := norm + n.norms[c]
	return float64(len(n.mean)+8) * sum * (vecmath.Roundoff[T]()*n.norms[c] + 0x1p-53*sum)
}

// assign returns the number of the nearest centre of each row of x, the first one of equals. A
// matrix product selects the centres that may be nearest, and SquaredDistance decides, because the
// last bits of the product differ between processors. A row gets the origin if rounding makes its
// centre farther than the origin, or if ‖x−c‖‖c‖ is neither 0 nor between 2⁻¹²⁵ and 2¹²⁵.
func (q *quantiser[T]) assign(ctx context.Context, x dense.Matrix[T]) []uint32 {
	labels := make([]uint32, x.Rows)
	n := q.nearest
	parallel.Rows(x.Rows, assignRows, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		y, products := dense.New[T](hi-lo, q.in), dense.New[T](hi-lo, len(q.centres))
		dense.Copy(y, x.RowRange(lo, hi))
		for i := range y.Rows {
			vecmath.AddScaled(y.Row(i), n.mean, -1)
		}
		matmul.MulT(1, y, n.vectors, 0, products)
		for i := range y.Rows {
			row, norm, least := x.Row(lo+i), math.Sqrt(2*vecmath.HalfSquaredNorm(y.Row(i))), math.Inf(-1)
			for c, v := range products.Row(i) {
				if low := float64(v) - n.half[c] - n.rounding(norm, c); low > least {
					least = low
				}
			}
			labels[lo+i] = q.nearestOf(row, func(c int) bool {
				return float64(products.Row(i)[c])-n.half[c]+n.rounding(norm, c) >= least
			})
		}
	})
	return labels
}

func (q *quantiser[T]) nearestOf(row []T, may func(c int) bool) uint32 {
	r, at := math.Inf(1), 0
	for c := range q.centres {
		if !may(c) {
			continue
		}
		if square := vecmath.SquaredDistance(row, q.centres[c].vector); square < r {
			r, at = square, c
		}
	}
	if q.fits(row, at, r) {
		return uint32(at)
	}
	return 0
}

// fits reports whether a row may have its nearest centre, at the squared distance r: float32 must
// represent (x−c)ᵀc.
func (q *quantiser[T]) fits(row []T, centre int, r float64) bool {
	product := r * q.centres[centre].square
	return r <= 2*vecmath.HalfSquaredNorm(row) && (r == 0 || r >= 0x1p-200 && product >= 0x1p-250 && product <= 0x1p250)
}
