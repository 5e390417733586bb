package givens

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/planerot"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Product is the rotation P = G_N ⋯ G₂·G₁ of R^d, a product of N plane rotations of which G₁ is
// applied first. A Product never changes, and goroutines may share a Product.
type Product[T dense.Float] struct {
	d int
	// in the order of planerot.Arrange, which exchanges rotations that commute
	turns []planerot.Turn[T]
}

// RandomProduct draws a product of n independent plane rotations of R^d, with randomness from src
// [Choromanski et al. 2018]. The planes are uniform among the d·(d−1)/2 pairs of axes of R^d, and
// the angles are uniform in [0, 2π). In RandomProduct, n = 0 means ⌈d·log₂ d⌉ plane rotations. With
// one seed of src, RandomProduct draws equal planes and angles in float32 and float64.
// RandomProduct returns an error for d < 1 or d > 2³¹−1, n < 0, n > 0 with d = 1, rotations or a
// vector that take more than 2⁴⁰ bytes, and a nil src.
func RandomProduct[T dense.Float](d, n int, src rand.Source) (*Product[T], error) {
	switch {
	case d < 1:
		return nil, fmt.Errorf("givens: d = %d, want at least 1", d)
	case int64(d) > math.MaxInt32:
		return nil, fmt.Errorf("givens: d = %d, want at most %d", d, math.MaxInt32)
	case n < 0:
		return nil, fmt.Errorf("givens: n = %d, want at least 0", n)
	case n > 0 && d == 1:
		return nil, fmt.Errorf("givens: n = %d, want 0 for d = 1, which has no planes", n)
	case src == nil:
		return nil, errors.New("givens: src is nil")
	}
	if err := limit.Memory[T](d); err != nil {
		return nil, fmt.Errorf("givens: d = %d: %w", d, err)
	}
	if n == 0 {
		// ⌈d·log₂ d⌉ may overflow an int of 32 bits.
		n = int(math.Min(math.Ceil(float64(d)*math.Log2(float64(d))), limit.Repeats))
	}
	if err := limit.Memory[planerot.Turn[T]](n); err != nil {
		return nil, fmt.Errorf("givens: d = %d, n = %d: %w", d, n, err)
	}
	p := &Product[T]{d: d, turns: make([]planerot.Turn[T], n)}
	for k := range p.turns {
		i, j := below(uint64(d), src), below(uint64(d-1), src)
		if j >= i {
			j++
		}
		cos, sin := turn(src.Uint64())
		p.turns[k] = planerot.Turn[T]{I: int32(min(i, j)), J: int32(max(i, j)), Cos: T(cos), Sin: T(sin)}
	}
	planerot.Arrange(d, p.turns)
	return p, nil
}

// Dims returns (d, d) for a product of rotations of R^d.
func (p *Product[T]) Dims() (in, out int) { return p.d, p.d }

// Len returns the number N of plane rotations in the product.
func (p *Product[T]) Len() int { return len(p.turns) }

// ApplyVec writes P·x, for the product P of N plane rotations, into dst and returns dst; a nil dst
// is allocated. The argument dst may be x; a dst that is not x must not overlap x. For a product of
// N rotations of R^d, ApplyVec takes 6N operations, on the calling goroutine, and panics unless x
// has length d and dst is nil or has length d.
func (p *Product[T]) ApplyVec(dst, x []T) []T {
	dst = p.vectors(dst, x)
	planerot.Apply(dst, p.turns)
	return dst
}

// ApplyTransposedVec writes Pᵀ·x = P⁻¹·x, for the product P of plane rotations, into dst and
// returns dst. ApplyTransposedVec undoes ApplyVec up to rounding. ApplyTransposedVec allocates a
// nil dst, has the cost and the panics of ApplyVec, and accepts the slice x as dst.
func (p *Product[T]) ApplyTransposedVec(dst, x []T) []T {
	dst = p.vectors(dst, x)
	planerot.ApplyInverse(dst, p.turns)
	return dst
}

// Apply writes P·x, for the product P of N plane rotations and every row x of an n×d matrix, into
// dst (n×d) and returns dst; a zero-value dst is allocated. The argument dst may be exactly the
// matrix x. Row i of dst is bit for bit the result of ApplyVec for row i of x. Apply takes 6N
// operations a row for N plane rotations, on several goroutines. For a product of rotations of R^d,
// Apply panics unless x is n×d and dst is n×d or the zero value.
func (p *Product[T]) Apply(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return p.rows(dst, x, false)
}

// ApplyTransposed writes Pᵀ·x, for the product P of plane rotations and every row x of an n×d
// matrix, into dst (n×d) and returns dst. ApplyTransposed allocates a zero-value dst, has the cost
// and the panics of Apply, and accepts exactly the matrix x as dst.
func (p *Product[T]) ApplyTransposed(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return p.rows(dst, x, true)
}

// Matrix returns the product of the plane rotations as a d×d matrix. For a product of N rotations
// of R^d, Matrix takes 6N·d operations, and panics if d² elements are too many for memory.
func (p *Product[T]) Matrix() dense.Matrix[T] {
	m := dense.New[T](p.d, p.d)
	for i := range p.d {
		m.Set(i, i, 1)
	}
	// Row i of P is Pᵀe_i.
	return p.ApplyTransposed(m, m)
}

func (p *Product[T]) vectors(dst, x []T) []T {
	if dst == nil {
		dst = make([]T, p.d)
	}
	if len(x) != p.d || len(dst) != p.d {
		panic(fmt.Sprintf("givens: dst has length %d and x %d, want %d", len(dst), len(x), p.d))
	}
	copy(dst, x)
	return dst
}
