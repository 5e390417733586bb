package givens

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/limit"
	"github.com/seed-feabd252/randfeat/internal/planerot"
)

// Product is the rotation P = G_N ⋯ G₂·G₁ of R^d made of N plane rotations, G₁ applied first. It
// never changes after construction and may be shared by goroutines.
type Product[T dense.Float] struct {
	d     int
	turns []planerot.Turn[T] // arranged: rotations of different axes may change places
}

// Random draws a product of n rotations of R^d from src: the planes i < j uniform among the
// d·(d−1)/2, the angles uniform in [0, 2π), all independent. n = 0 stands for the default ⌈d·log₂
// d⌉, for which P·x is close to uniform on the sphere of its radius, for any fixed x. Products of
// the two element types drawn from equal sources have the same planes and angles.
//
// R¹ has no planes: for d = 1 the default is 0 rotations, the identity.
//
// It returns an error if d < 1 or d > 2³¹−1, if n < 0, if n > 0 while d = 1, if n rotations take
// more memory than the machine has, or if src is nil.
//
// Source: [Choromanski et al. 2018].
func Random[T dense.Float](d, n int, src rand.Source) (*Product[T], error) {
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
	if n == 0 {
		// An int of 32 bits does not count the rotations of every d.
		n = int(math.Min(math.Ceil(float64(d)*math.Log2(float64(d))), limit.Repeats))
	}
	if err := limit.Memory[planerot.Turn[T]](n); err != nil {
		return nil, fmt.Errorf("givens: d = %d, n = %d: %w", d, n, err)
	}
	rng := rand.New(src)
	p := &Product[T]{d: d, turns: make([]planerot.Turn[T], n)}
	for k := range p.turns {
		i, j := rng.IntN(d), rng.IntN(d-1)
		if j >= i {
			j++
		}
		g := rotation[T](min(i, j), max(i, j), 2*math.Pi*rng.Float64())
		p.turns[k] = planerot.Turn[T]{I: int32(g.i), J: int32(g.j), Cos: g.cos, Sin: g.sin}
	}
	planerot.Arrange(d, p.turns)
	return p, nil
}

// Dim returns the dimension d.
func (p *Product[T]) Dim() int { return p.d }

// Len returns the number N of rotations.
func (p *Product[T]) Len() int { return len(p.turns) }

// Apply replaces x by P·x in 6N operations. A NaN or ±Inf reaches every coordinate that the
// rotations mix with it; the others stay finite. It panics unless len(x) = d.
func (p *Product[T]) Apply(x []T) {
	p.checkVector(x)
	planerot.Apply(x, p.turns)
}

// ApplyInverse replaces x by P⁻¹·x = Pᵀ·x, which undoes Apply up to rounding. Cost and NaN as in
// Apply. It panics unless len(x) = d.
func (p *Product[T]) ApplyInverse(x []T) {
	p.checkVector(x)
	planerot.ApplyInverse(x, p.turns)
}

// ApplyRows writes P·x for every row x of the n×d matrix x into dst (n×d) and returns dst; a zero
// dst is allocated. Every row has the bits that Apply gives it. Cost: 6N operations a row, on
// vectors of many rows, and rows in parallel. dst may be x exactly. It panics if a shape does not
// fit. It allocates nothing but dst once scratch memory is there.
func (p *Product[T]) ApplyRows(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return p.rows(dst, x, false)
}

// ApplyInverseRows writes P⁻¹·x for every row x of x into dst, under the rules of ApplyRows.
func (p *Product[T]) ApplyInverseRows(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return p.rows(dst, x, true)
}

// Matrix returns P as a d×d matrix, orthogonal up to rounding, with determinant +1. Cost: 6N·d
// operations. It panics as dense.New does if d² elements are too many.
func (p *Product[T]) Matrix() dense.Matrix[T] {
	m := dense.New[T](p.d, p.d)
	for i := range p.d {
		m.Set(i, i, 1)
	}
	// Row i of P is Pᵀe_i, which is P⁻¹e_i.
	return p.ApplyInverseRows(m, m)
}

func (p *Product[T]) checkVector(x []T) {
	if len(x) != p.d {
		panic(fmt.Sprintf("givens: x has length %d, want %d", len(x), p.d))
	}
}
