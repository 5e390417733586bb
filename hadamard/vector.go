package hadamard

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/compute/fwht"
)

// ApplyVec writes R·x, for the rotation R from R^d into R^d' and one vector x, into dst and returns
// dst, bit for bit as Apply does for a row of a matrix, on the calling goroutine. ApplyVec
// allocates only a nil dst, and panics unless x has length d and dst is nil or has length d'. The
// argument dst may begin with the first element of x, or must not overlap x.
func (r *Rotation[T]) ApplyVec(dst, x []T) []T {
	dst = r.vectors(dst, r.plan.order(), "x", x, r.in)
	r.apply(dst, x)
	return dst
}

// ApplyTransposedVec writes Rᵀ·y, for the rotation R from R^d into R^d' and one vector y, into dst
// and returns dst, bit for bit as ApplyTransposed does for a row of a matrix. ApplyTransposedVec
// allocates only a nil dst, and panics unless y has length d' and dst is nil or has length d. The
// argument dst may begin with the first element of y, or must not overlap y.
func (r *Rotation[T]) ApplyTransposedVec(dst, y []T) []T {
	dst = r.vectors(dst, r.in, "y", y, r.plan.order())
	if r.in == r.plan.order() {
		r.transpose(dst, y, dst)
		return dst
	}
	scratch := r.vector()
	r.transpose(dst, y, *scratch)
	r.scratch.Put(scratch)
	return dst
}

func (r *Rotation[T]) vectors(dst []T, n int, name string, x []T, want int) []T {
	r.made()
	if dst == nil {
		dst = make([]T, n)
	}
	if len(x) != want || len(dst) != n {
		panic(fmt.Sprintf("hadamard: dst has length %d and %s %d, want %d and %d for a rotation from R^%d into R^%d",
			len(dst), name, len(x), n, want, r.in, r.plan.order()))
	}
	return dst
}

func (r *Rotation[T]) apply(dst, x []T) {
	transformDiagonal(r.plan, dst, x, r.factors[0][:r.in])
	for _, f := range r.factors[1:] {
		transformDiagonal(r.plan, dst, dst, f)
	}
}

// transpose writes Rᵀ·y into dst. v is scratch of length d', which may be dst.
func (r *Rotation[T]) transpose(dst, y, v []T) {
	copy(v, y)
	for k := len(r.factors) - 1; k > 0; k-- {
		transformTransposed(r.plan, v)
		fwht.Multiply(v, v, r.factors[k])
	}
	transformTransposed(r.plan, v)
	fwht.Multiply(dst, v, r.factors[0])
}

func (r *Rotation[T]) vector() *[]T {
	s := r.scratch.Get()
	if *s == nil {
		*s = make([]T, r.plan.order())
	}
	return s
}
