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

// Product is the rotation P = G_N ⋯ G₂·G₁ of R^d made of N plane rotations, G₁ applied first. After
// construction it changes only in UnmarshalBinary. Goroutines may share it.
type Product[T dense.Float] struct {
	d     int
	turns []planerot.Turn[T] // arranged: rotations of different axes may change places
}

// Draw draws a product of n rotations of R^d from src: the planes i < j uniform among the
// d·(d−1)/2, the angles uniform in [0, 2π), all independent. n = 0 stands for the default ⌈d·log₂
// d⌉, for which P·x is close to uniform on the sphere of its radius, for any fixed x. Products of
// the two element types drawn from equal sources have the same planes and angles.
//
// A seed draws the same product in every version of this package and on every platform, and its
// results have the same bits.
//
// R¹ has no planes: for d = 1 the default is 0 rotations, the identity.
//
// It returns an error if d < 1 or d > 2³¹−1, if n < 0, if n > 0 while d = 1, if n rotations or a
// vector of R^d take more than 2⁴⁰ bytes, or if src is nil.
//
// Source: [Choromanski et al. 2018].
func Draw[T dense.Float](d, n int, src rand.Source) (*Product[T], error) {
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
		// An int of 32 bits does not count the rotations of every d.
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

// Dims returns the dimension d twice, as input and output.
func (p *Product[T]) Dims() (in, out int) { return p.d, p.d }

// Len returns the number N of rotations.
func (p *Product[T]) Len() int { return len(p.turns) }

// ApplyVec writes P·x into dst and returns dst; a nil dst is allocated. Cost: 6N operations, on the
// calling goroutine. A NaN or ±Inf reaches every coordinate that the rotations mix with it; the
// others stay finite. dst may be x, and must not overlap it otherwise. It panics unless x and dst
// have length d, and allocates nothing else.
func (p *Product[T]) ApplyVec(dst, x []T) []T {
	dst = p.vectors(dst, x)
	planerot.Apply(dst, p.turns)
	return dst
}

// ApplyTransposedVec writes Pᵀ·x, which is P⁻¹·x, into dst: it undoes ApplyVec up to rounding. The
// rules are those of ApplyVec.
func (p *Product[T]) ApplyTransposedVec(dst, x []T) []T {
	dst = p.vectors(dst, x)
	planerot.ApplyInverse(dst, p.turns)
	return dst
}

// Apply writes P·x for every row x of the n×d matrix x into dst (n×d) and returns dst; a zero dst
// is allocated. Every row has the bits that ApplyVec gives it. Cost: 6N operations per row, on
// vectors of many rows, and rows in parallel. dst may be x exactly. It panics if a shape does not
// fit. It allocates nothing but dst once scratch memory is there.
func (p *Product[T]) Apply(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return p.rows(dst, x, false)
}

// ApplyTransposed writes Pᵀ·x for every row x of x into dst, under the rules of Apply.
func (p *Product[T]) ApplyTransposed(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return p.rows(dst, x, true)
}

// Matrix returns P as a d×d matrix, orthogonal up to rounding, with determinant +1. Cost: 6N·d
// operations. It panics as dense.New does if d² elements are too many.
func (p *Product[T]) Matrix() dense.Matrix[T] {
	m := dense.New[T](p.d, p.d)
	for i := range p.d {
		m.Set(i, i, 1)
	}
	// Row i of P is Pᵀe_i.
	return p.ApplyTransposed(m, m)
}

// vectors returns dst with the elements of x. It panics unless both have length d.
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
