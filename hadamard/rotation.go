package hadamard

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// Rotation is a random isometry R = F_k ⋯ F₁ from R^d into R^d' of factors F_i = (1/√d')·H·D_i,
// where H is the Hadamard matrix Matrix(d') of an order d' ≥ d and D_i is a diagonal matrix of
// independent random signs [Ailon and Chazelle 2006], [Yu et al. 2016]. A Rotation from R^d into
// R^d' pads vectors with d' − d zeros, and keeps norms and inner products: RᵀR = I. A Rotation of k
// factors holds k·d' numbers. A Rotation never changes, and goroutines may share a Rotation.
type Rotation[T dense.Float] struct {
	in   int
	plan plan
	// factors[i] is the diagonal of D_i times a scale. The product of the scales is d'^(−k/2).
	factors [][]T
	scratch pool.Of[[]T] // vectors of R^d'
}

// RotationOptions selects a Rotation of R^d: zero fields mean 3 factors of order FastOrder(d).
type RotationOptions struct {
	// Factors is the number k of factors of a rotation; zero means 3.
	Factors int

	// Order is the order of the Hadamard matrix, the length to which vectors of R^d are padded with
	// zeros. An Order of 0 stands for FastOrder(d). NextOrder(d) pads least, but may be hundreds of
	// times slower.
	Order int
}

// NewRotation draws the random signs of a Rotation of R^d from src, equal in float32 and float64
// for one seed. For each factor, word j drawn from src has the signs of coordinates 64j to 64j +
// 63, lowest bit first; a bit 1 means −1. NewRotation returns an error for d < 1, a d for which no
// order fits in an int, negative opts.Factors, an opts.Order that is less than d or no order of a
// Hadamard matrix, signs that take more than 2⁴⁰ bytes, and a nil src.
func NewRotation[T dense.Float](d int, opts RotationOptions, src rand.Source) (*Rotation[T], error) {
	factors, order := cmp.Or(opts.Factors, 3), opts.Order // 3 as in orf.Hadamard
	if d < 1 {
		return nil, fmt.Errorf("hadamard: d = %d, want at least 1", d)
	}
	if order == 0 {
		ok := false
		if order, ok = fastOrder(d); !ok {
			return nil, fmt.Errorf("hadamard: d = %d, want one with an order ≥ d that fits in an int", d)
		}
	}
	switch {
	case order < d:
		return nil, fmt.Errorf("hadamard: Order = %d, want at least d = %d", order, d)
	case !isOrder(order):
		return nil, errors.New(noOrder("Order", order))
	case factors < 1:
		return nil, fmt.Errorf("hadamard: Factors = %d, want at least 1, or 0 for 3", factors)
	case src == nil:
		return nil, errors.New("hadamard: src is nil")
	}
	if err := cmp.Or(limit.Memory[T](factors, order), limit.Memory[[]T](factors)); err != nil {
		return nil, fmt.Errorf("hadamard: d = %d, Order = %d, Factors = %d: %w", d, order, factors, err)
	}
	r := &Rotation[T]{in: d, plan: planOf("Order", order), factors: make([][]T, factors)}
	for i := range r.factors {
		r.factors[i] = signs(order, scale[T](order, i, factors), src.Uint64)
	}
	return r, nil
}

// scale returns the scale of factor i of order n. The scales of factors 2j and 2j+1 have the
// product 1/n: the first is a power of two near 1/√n, which rounds nothing, and the second is the
// quotient, a power of two if n is one. Only a last factor without a partner has the scale 1/√n.
func scale[T dense.Float](n, i, factors int) T {
	half := bits.Len(uint(n)) / 2
	switch {
	case i == factors-1 && i%2 == 0:
		return T(math.Sqrt(1 / float64(n)))
	case i%2 == 0:
		return T(math.Ldexp(1, -half))
	default:
		return T(math.Ldexp(1, half) / float64(n))
	}
}

// signs returns n elements ±s. The signs are the bits of successive words, lowest bit first.
func signs[T dense.Float](n int, s T, next func() uint64) []T {
	x := make([]T, n)
	var word uint64
	for j := range x {
		if j%64 == 0 {
			word = next()
		}
		x[j] = s
		if word>>(j%64)&1 == 1 {
			x[j] = -s
		}
	}
	return x
}

// Dims returns the dimension of the vectors to rotate and the dimension of the rotated vectors.
func (r *Rotation[T]) Dims() (in, out int) { return r.in, r.plan.order() }

// Len returns the number k of factors whose product is the rotation.
func (r *Rotation[T]) Len() int { return len(r.factors) }

// Apply writes R·x_i, for the rotation R from R^d into R^d' and every row x_i of x (n×d), into row
// i of dst (n×d') and returns dst. Apply allocates only a zero-value dst, and panics for shapes
// that do not fit. For a rotation from R^d into R^d, dst may be exactly x; another dst must not
// overlap x. If a row of x has a NaN or ±Inf, no element of the rotated row is finite. With k
// factors, Apply takes k calls of Transform of length d' for each row, on several goroutines.
func (r *Rotation[T]) Apply(dst, x dense.Matrix[T]) dense.Matrix[T] {
	r.check("x", x, r.in)
	y := dense.Ensure(dst, x.Rows, r.plan.order())
	rowsTransform[T]{plan: r.plan, rotation: r, dst: y, src: x}.run(len(r.factors))
	return y
}

// ApplyTransposed writes Rᵀ·y, for the rotation R from R^d into R^d' and every row y of an n×d'
// matrix, into the rows of dst (n×d) and returns dst. ApplyTransposed has the cost and the panics
// of Apply, allocates only a zero-value dst, and undoes Apply up to rounding. For a y outside the
// image of R, Rᵀ·y is the x for which R·x is nearest to y. If row i of y has a NaN or ±Inf, no
// element of row i of the result is finite. For a rotation from R^d into R^d itself, dst may be
// exactly y; a dst that is not y must not overlap y.
func (r *Rotation[T]) ApplyTransposed(dst, y dense.Matrix[T]) dense.Matrix[T] {
	r.check("y", y, r.plan.order())
	x := dense.Ensure(dst, y.Rows, r.in)
	rowsTransform[T]{plan: r.plan, rotation: r, transposed: true, dst: x, src: y}.run(len(r.factors))
	return x
}

func (r *Rotation[T]) check(name string, m dense.Matrix[T], cols int) {
	r.made()
	m.Check()
	if m.Cols != cols {
		panic(fmt.Sprintf("hadamard: %s is %d×%d, want n×%d for a rotation from R^%d into R^%d",
			name, m.Rows, m.Cols, cols, r.in, r.plan.order()))
	}
}

func (r *Rotation[T]) made() {
	if len(r.factors) == 0 {
		panic("hadamard: the Rotation is zero, want one of NewRotation")
	}
}
