package hadamard

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/parallel"
)

// Rotation is the random isometry R = F_k ⋯ F₂·F₁ from R^d into R^d', where
// d' is the next power of two ≥ d, F_i = (1/√d')·H·D_i, H is the Hadamard
// matrix of order d' and D_i is diagonal with independent uniform random signs.
// Vectors of R^d are padded with d' − d zeros. R keeps norms and inner
// products, and RᵀR = I.
//
// It holds k·d' signed scales and nothing else, never changes after
// construction, and may be shared by goroutines.
//
// Sources: [Ailon and Chazelle 2006] for one factor, [Yu et al. 2016] for
// three.
type Rotation[T dense.Float] struct {
	in, out int
	// factors holds, for every factor in order, the diagonal of D_i times a
	// scale; the scales multiply to d'^(−k/2).
	factors [][]T
}

// NewRotation draws a Rotation of blocks factors on R^d from src, one bit a
// sign. Rotations of the two element types drawn from equal sources have the
// same signs. It returns an error if d < 1, if no power of two ≥ d fits in an
// int, if blocks < 1 or if src is nil.
func NewRotation[T dense.Float](d, blocks int, src rand.Source) (*Rotation[T], error) {
	switch {
	case d < 1:
		return nil, fmt.Errorf("hadamard: d = %d, want at least 1", d)
	case d > math.MaxInt/2+1:
		return nil, fmt.Errorf("hadamard: d = %d, want at most %d", d, math.MaxInt/2+1)
	case blocks < 1:
		return nil, fmt.Errorf("hadamard: blocks = %d, want at least 1", blocks)
	case src == nil:
		return nil, errors.New("hadamard: src is nil")
	}
	log := bits.Len(uint(d - 1))
	r := &Rotation[T]{in: d, out: 1 << log, factors: make([][]T, blocks)}
	for i := range r.factors {
		r.factors[i] = signs(r.out, scale[T](log, i, blocks), src)
	}
	return r, nil
}

// scale returns the scale of factor i of blocks in order 2^log. √d' is a power
// of two when log is even. When it is odd, two factors share 1/d' as 2^−⌊log/2⌋
// and 2^−⌈log/2⌉, and only a factor left over has a scale that is rounded, so
// that R as a whole is scaled with at most one rounding.
func scale[T dense.Float](log, i, blocks int) T {
	if log%2 == 1 && i == blocks-1 && blocks%2 == 1 {
		return T(math.Sqrt(math.Ldexp(1, -log)))
	}
	return T(math.Ldexp(1, -(log+i%2)/2))
}

// signs returns n times ±s, the signs taken from the bits of successive words
// of src, lowest first.
func signs[T dense.Float](n int, s T, src rand.Source) []T {
	x := make([]T, n)
	var word uint64
	for j := range x {
		if j%64 == 0 {
			word = src.Uint64()
		}
		x[j] = s
		if word>>(j%64)&1 == 1 {
			x[j] = -s
		}
	}
	return x
}

// Dims returns the dimension d of the input and the dimension d' of the output,
// the next power of two.
func (r *Rotation[T]) Dims() (in, out int) { return r.in, r.out }

// Apply writes R·x for every row x of the n×d matrix x into the rows of dst
// (n×d') and returns dst; a zero dst is allocated. Cost: k·d'·(log₂ d' + 1)
// operations a row, rows in parallel. A row's result does not depend on the
// others. If a row holds NaN or ±Inf, no element of its result is finite.
//
// dst may be x exactly when d = d', and must not overlap it otherwise. It
// panics if a shape does not fit.
func (r *Rotation[T]) Apply(dst, x dense.Matrix[T]) dense.Matrix[T] {
	r.check("x", x, r.in)
	dst = dense.Ensure(dst, x.Rows, r.out)
	parallel.Rows(x.Rows, grain(r.out), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			y := dst.Row(i)
			multiply(y[:r.in], x.Row(i), r.factors[0])
			clear(y[r.in:])
			transform(y)
			for _, f := range r.factors[1:] {
				multiply(y, y, f)
				transform(y)
			}
		}
	})
	return dst
}

// ApplyTransposed writes Rᵀ·y for every row y of the n×d' matrix y into the
// rows of dst (n×d) and returns dst; a zero dst is allocated. It undoes Apply
// up to rounding; of a y that is not R of anything it gives the x for which
// R·x is nearest. Cost, parallelism and what becomes of NaN and ±Inf are those
// of Apply.
//
// dst may be y exactly when d = d', and must not overlap it otherwise. It
// panics if a shape does not fit.
func (r *Rotation[T]) ApplyTransposed(dst, y dense.Matrix[T]) dense.Matrix[T] {
	r.check("y", y, r.out)
	dst = dense.Ensure(dst, y.Rows, r.in)
	parallel.Rows(y.Rows, grain(r.out), func(lo, hi int) {
		scratch := make([]T, r.out)
		for i := lo; i < hi; i++ {
			copy(scratch, y.Row(i))
			for k := len(r.factors) - 1; k > 0; k-- {
				transform(scratch)
				multiply(scratch, scratch, r.factors[k])
			}
			transform(scratch)
			multiply(dst.Row(i), scratch, r.factors[0])
		}
	})
	return dst
}

func (r *Rotation[T]) check(name string, m dense.Matrix[T], cols int) {
	m.Check()
	if m.Cols != cols {
		panic(fmt.Sprintf("hadamard: %s is %d×%d, want n×%d for a rotation from R^%d into R^%d",
			name, m.Rows, m.Cols, cols, r.in, r.out))
	}
}

// multiply sets dst[i] = x[i]·f[i].
func multiply[T dense.Float](dst, x, f []T) {
	x, f = x[:len(dst)], f[:len(dst)]
	for i := range dst {
		dst[i] = x[i] * f[i]
	}
}
