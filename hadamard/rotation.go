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

// Rotation is the random isometry R = F_k ⋯ F₂·F₁ from R^d into R^d', where
// d' is an order ≥ d, F_i = (1/√d')·H·D_i, H is the Hadamard matrix of order d' and
// D_i is diagonal with independent uniform random signs. Vectors of R^d are
// padded with d' − d zeros. R keeps norms and inner products, and RᵀR = I.
//
// It holds k·d' signed scales and nothing else. It changes only in UnmarshalBinary, and goroutines
// may share it.
//
// Sources: [Ailon and Chazelle 2006] for one factor, [Yu et al. 2016] for
// three.
type Rotation[T dense.Float] struct {
	in   int
	plan plan
	// factors holds, for every factor in order, the diagonal of D_i times a
	// scale; the scales multiply to d'^(−k/2).
	factors [][]T
	scratch pool.Of[[]T] // vectors of R^d'
}

// RotationOptions selects a rotation. The zero value is three factors of the order
// FastOrder(d).
type RotationOptions struct {
	// Factors is the number k of factors. Zero means 3.
	Factors int

	// Order is the order d' ≥ d that vectors are padded to. Zero means FastOrder(d). NextOrder(d)
	// pads least, and may be hundreds of times slower: with d' = h·2^k a factor takes k + h/4 + 2
	// additions per coordinate, k alone for h = 1. For d = 500 = h these are 127, for
	// FastOrder(500) = 512 they are 9.
	Order int

	// Multiple is a power of two that divides the order; zero means 1. With Order zero, the order
	// is the smallest multiple ≥ d that is about as fast as any, as FastOrder(d) is without it.
	// With 64 the signs of a rotated vector fill whole words, and its coordinates whole vector
	// registers and cache lines: for d = 150 the order is 192 where FastOrder is 160, for d = 300
	// it is 320 either way.
	Multiple int
}

// NewRotation draws a Rotation on R^d from src, one bit per sign. Rotations of the two element
// types drawn from equal sources have the same signs.
//
// A seed draws the same rotation in every version of this package and on every platform: source
// word j of factor i has the signs of coordinates 64j to 64j + 63, its lowest bit first, and 1
// stands for −1. The default options are a part of this promise, and Apply has the same bits too.
//
// It returns an error if d < 1, if no order ≥ d fits in an int, if opts.Factors is negative, if
// opts.Multiple is no power of two, if opts.Order is no order, less than d or no multiple of
// opts.Multiple, if the scales take more than 2⁴⁰ bytes, or if src is nil.
func NewRotation[T dense.Float](d int, opts RotationOptions, src rand.Source) (*Rotation[T], error) {
	factors, order, multiple := cmp.Or(opts.Factors, 3), opts.Order, cmp.Or(opts.Multiple, 1) // 3 as in orf.Hadamard
	if d < 1 {
		return nil, fmt.Errorf("hadamard: d = %d, want at least 1", d)
	}
	if multiple < 1 || multiple&(multiple-1) != 0 {
		return nil, fmt.Errorf("hadamard: Multiple = %d, want a power of two, or 0 for 1", multiple)
	}
	if order == 0 {
		ok := false
		if order, ok = fastOrder(d, multiple); !ok {
			return nil, fmt.Errorf("hadamard: d = %d, want one with an order ≥ d that fits in an int", d)
		}
	}
	switch {
	case order%multiple != 0:
		return nil, fmt.Errorf("hadamard: Order = %d, want a multiple of Multiple = %d", order, multiple)
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

// scale returns the scale of factor i of several in order n. Two factors share
// 1/n, as a power of two near 1/√n, which rounds nothing, and the rest, which is a
// power of two if n is one. Only a last factor without a partner has the scale
// 1/√n.
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

// signs returns n times ±s, the signs taken from the bits of successive words, lowest first.
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

// Dims returns the dimension d of the input and the order d' of the output.
func (r *Rotation[T]) Dims() (in, out int) { return r.in, r.plan.order() }

// Apply writes R·x for every row x of the n×d matrix x into the rows of dst (n×d') and returns dst;
// a zero dst is allocated. Signs and scale are applied as a row is read, and the padding is written
// in dst alone. Cost: k times a Transform of order d' and k·d' multiplications per row, rows in
// parallel. Apply allocates dst if it is zero, and nothing else. The result for a row does not
// depend on the other rows. If a row holds NaN or ±Inf, no element of its result is finite.
//
// dst may be x exactly when d = d', and must not overlap it otherwise. It
// panics if a shape does not fit.
func (r *Rotation[T]) Apply(dst, x dense.Matrix[T]) dense.Matrix[T] {
	r.check("x", x, r.in)
	y := dense.Ensure(dst, x.Rows, r.plan.order())
	if alone(r.plan, len(r.factors), x.Rows) {
		r.applyRows(y, x, 0, x.Rows)
		return y
	}
	b := newBatch(r.plan, len(r.factors), y, x)
	b.rotation = r
	b.run((*applying[T])(b))
	return y
}

func (r *Rotation[T]) applyRows(dst, x dense.Matrix[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		r.apply(dst.Row(i), x.Row(i))
	}
}

// ApplyTransposed writes Rᵀ·y for every row y of the n×d' matrix y into the rows of dst (n×d) and
// returns dst; a zero dst is allocated. It undoes Apply up to rounding; for a y outside the image
// of R it gives the x for which R·x is nearest to y. Cost, parallelism, allocation and the rule for
// NaN and ±Inf are as in Apply.
//
// dst may be y exactly when d = d', and must not overlap it otherwise. It
// panics if a shape does not fit.
func (r *Rotation[T]) ApplyTransposed(dst, y dense.Matrix[T]) dense.Matrix[T] {
	r.check("y", y, r.plan.order())
	x := dense.Ensure(dst, y.Rows, r.in)
	if alone(r.plan, len(r.factors), y.Rows) {
		r.transposeRows(x, y, 0, y.Rows)
		return x
	}
	b := newBatch(r.plan, len(r.factors), x, y)
	b.rotation = r
	b.run((*transposing[T])(b))
	return x
}

func (r *Rotation[T]) transposeRows(dst, y dense.Matrix[T], lo, hi int) {
	scratch := r.vector()
	for i := lo; i < hi; i++ {
		r.transpose(dst.Row(i), y.Row(i), *scratch)
	}
	r.scratch.Put(scratch)
}

func (r *Rotation[T]) check(name string, m dense.Matrix[T], cols int) {
	r.made()
	m.Check()
	if m.Cols != cols {
		panic(fmt.Sprintf("hadamard: %s is %d×%d, want n×%d for a rotation from R^%d into R^%d",
			name, m.Rows, m.Cols, cols, r.in, r.plan.order()))
	}
}

// made panics if no constructor has made r.
func (r *Rotation[T]) made() {
	if len(r.factors) == 0 {
		panic("hadamard: the Rotation is zero, want one of NewRotation")
	}
}
