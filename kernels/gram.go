package kernels

import (
	"fmt"
	"reflect"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

const gramRows = 64

// Gram writes the n×p Gram matrix G_ij = k(x_i, y_j) of the rows of x (n×d) and of y (p×d) into dst
// and returns dst; a zero dst is allocated. The argument dst must not overlap x or y. With the zero
// Matrix as y, Gram writes the n×n Gram matrix of the rows of x, exactly symmetric, with
// k.Eval(x_i, x_i) on the diagonal. If a coordinate of row x_i or y_j is NaN or infinite, element
// (i, j) is NaN or ±Inf. Gram panics if Check fails for k, and for shapes that do not fit.
//
// Gram calls Eval in float64, from several goroutines at once, for Laplacian, ELU, kernels of your
// own, and a Boxes or Pullback inside a Sum, Product or Scaled. A Pullback or Boxes that is not
// inside another kernel transforms each point once. For other kernels, Gram costs one matrix
// product in T and O(1) for each element.
//
// For points of R^d and the unit roundoff u of T, Gram computes ‖x−y‖² with a relative error of at
// most 32·(d+2)·u, and the angle between x and y with an error of at most 8·(d+2)·u: Gram calls
// Eval for pairs of points that would be less accurate by the matrix product. A Gaussian kernel by
// Gram has an error of at most 12·(d+3)·u, and Softmax with Gamma = γ a relative error of up to
// γ·d·u·‖x‖‖y‖. The result of Gram does not depend on GOMAXPROCS.
func Gram[T dense.Float](dst dense.Matrix[T], k Kernel, x, y dense.Matrix[T]) dense.Matrix[T] {
	must(Check(k))
	x.Check()
	one := y.Rows == 0 && y.Cols == 0 && y.Data == nil
	if one {
		y = x
	}
	y.Check()
	if x.Cols != y.Cols {
		panic(fmt.Sprintf("kernels: x is %d×%d, y is %d×%d: columns differ", x.Rows, x.Cols, y.Rows, y.Cols))
	}
	dst = dense.Ensure(dst, x.Rows, y.Rows)
	if p, ok := k.(Pullback); ok {
		return gramPullback(dst, p, x, y, one)
	}
	if b, ok := k.(Boxes); ok {
		return gramOfPlaces(dst, b.places(inFloat64(x)), b.places(inFloat64(y)))
	}
	xs := newPoints(x)
	ys := xs
	if !one {
		ys = newPoints(y)
	}
	parallel.Rows(x.Rows, gramRows, func(lo, hi int) {
		if !one {
			newBlock(xs.rows(lo, hi), ys).fill(dst.RowRange(lo, hi), k)
			return
		}
		b := newBlock(xs.rows(lo, hi), ys.rows(lo, y.Rows))
		b.fill(dst.RowRange(lo, hi).ColRange(lo, y.Rows), k)
		mirror(dst, lo, hi)
		for i := lo; i < hi; i++ {
			p := xs.exact.Row(i)
			dst.Row(i)[i] = T(k.Eval(p, p))
		}
	})
	return dst
}

// mirror copies rows lo ≤ i < hi right of the diagonal to their places below the diagonal.
func mirror[T dense.Float](dst dense.Matrix[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		row := dst.Row(i)
		for j := i + 1; j < len(row); j++ {
			dst.Data[j*dst.Stride+i] = row[j]
		}
	}
}

// byProduct is a kernel that is a function of xᵀy, ‖x‖² and ‖y‖².
type byProduct interface {
	Kernel

	// fromProducts overwrites g[j] = xᵀy_j by k(x, y_j), where xx is ‖x‖² and yy[j] is ‖y_j‖², or
	// by NaN where these numbers do not have enough digits.
	fromProducts(g []float64, xx float64, yy []float64)
}

// asByProduct returns a byProduct of this package only, because a user's type that embeds one has
// fromProducts too, but may have another Eval.
func asByProduct(k Kernel) (byProduct, bool) {
	p, ok := k.(byProduct)
	return p, ok && reflect.TypeOf(k).PkgPath() == reflect.TypeFor[Gaussian]().PkgPath()
}

type points[T dense.Float] struct {
	given   dense.Matrix[T]
	exact   dense.Matrix[float64] // given in float64
	squares []float64             // ‖x_i‖²
}

func inFloat64[T dense.Float](x dense.Matrix[T]) dense.Matrix[float64] {
	if same, ok := any(x).(dense.Matrix[float64]); ok {
		return same
	}
	return dense.Copy(dense.Matrix[float64]{}, x)
}

func newPoints[T dense.Float](x dense.Matrix[T]) points[T] {
	p := points[T]{given: x, exact: inFloat64(x), squares: make([]float64, x.Rows)}
	for i := range p.squares {
		p.squares[i] = floats.Dot(p.exact.Row(i), p.exact.Row(i))
	}
	return p
}

func (p points[T]) rows(lo, hi int) points[T] {
	p.given, p.exact, p.squares = p.given.RowRange(lo, hi), p.exact.RowRange(lo, hi), p.squares[lo:hi]
	return p
}
