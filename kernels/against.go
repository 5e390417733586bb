package kernels

import (
	"fmt"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// Fixed is a kernel k with fixed points y_j, such as landmarks, that are prepared for Gram matrices
// k(x_i, y_j) with many points x_i. A Fixed never changes, and goroutines may share a Fixed.
type Fixed interface {
	// Points returns the fixed points, which the caller must not change, as rows of a matrix.
	Points() dense.Matrix[float64]

	// Gram writes k(x_i, y_j) for the n rows x_i of x and the p fixed points y_j into dst (n×p),
	// bit for bit as the function Gram does, and returns dst; a zero dst is allocated. The argument
	// dst must not overlap x, and Gram panics for shapes that do not fit. Gram allocates nothing
	// after the first calls, unless the kernel is or contains Boxes or Pullback.
	Gram(dst, x dense.Matrix[float64]) dense.Matrix[float64]
}

// Against prepares Gram matrices of the kernel k with the rows of y (p×d) as fixed points, and
// copies y. Against returns an error if Check returns one for k.
func Against(k Kernel, y dense.Matrix[float64]) (Fixed, error) {
	if err := Check(k); err != nil {
		return nil, err
	}
	return newAgainst(k, y), nil
}

type against struct {
	k      Kernel
	y      points[float64]
	packed matmul.Packed[float64] // Yᵀ
	places dense.Matrix[float64]  // of y, for Boxes

	passes pool.Of[againstPass]
	blocks pool.Of[againstBlock]
}

func newAgainst(k Kernel, y dense.Matrix[float64]) *against {
	a := &against{k: k, y: newPoints(y.Clone())}
	matmul.PackT(&a.packed, a.y.given)
	if b, ok := k.(Boxes); ok && y.Cols == b.Thresholds.Rows {
		a.places = b.places(a.y.given)
	}
	return a
}

func (a *against) Points() dense.Matrix[float64] { return a.y.given }

func (a *against) Gram(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	x.Check()
	if x.Cols != a.y.given.Cols { // Gram would compare x with itself for an empty y
		panic(fmt.Sprintf("kernels: x is %d×%d, y is %d×%d: columns differ", x.Rows, x.Cols, a.y.given.Rows, a.y.given.Cols))
	}
	if _, ok := a.k.(Pullback); ok {
		return Gram(dst, a.k, x, a.y.given)
	}
	dst = dense.Ensure(dst, x.Rows, a.y.given.Rows)
	if b, ok := a.k.(Boxes); ok {
		return gramOfPlaces(dst, b.places(x), a.places)
	}
	p := a.passes.Get()
	*p = againstPass{against: a, dst: dst, x: x}
	parallel.Do((x.Rows+gramRows-1)/gramRows, p)
	*p = againstPass{}
	a.passes.Put(p)
	return dst
}

type againstPass struct {
	*against
	dst, x dense.Matrix[float64]
}

type againstBlock struct {
	gramBlock[float64]
	squares [gramRows]float64
}

func (p *againstPass) Piece(i int) {
	lo := i * gramRows
	hi := min(lo+gramRows, p.x.Rows)
	b := p.blocks.Get()
	b.y = p.y
	b.products.packed, b.products.known = &p.packed, dense.Matrix[float64]{}
	x := p.x.RowRange(lo, hi)
	b.x = points[float64]{given: x, exact: x, squares: b.squares[:x.Rows]}
	for i := range x.Rows {
		b.squares[i] = floats.Dot(x.Row(i), x.Row(i))
	}
	b.fill(p.dst.RowRange(lo, hi), p.k)
	b.x = points[float64]{}
	p.blocks.Put(b)
}
