package kernels

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

// Pullback is the kernel k(x, y) = K(a(x), a(y)), which is K after centring, scaling, whitening or
// a projection of points by the affine map a(x) = A·(x − c) + b from R^d to R^r, where c is the
// field Centre and b the field Offset.
type Pullback struct {
	K Kernel
	// A is the r×d matrix of a(x) = A·(x − c) + b, at least 1×1.
	A dense.Matrix[float64]
	// Centre is the vector c ∈ R^d in a(x) = A·(x − c) + b; nil means 0.
	Centre []float64
	// Offset is the vector b ∈ R^r in a(x) = A·(x − c) + b; nil means 0.
	Offset []float64
}

// Eval takes O(r·d) time for an r×d matrix A, and panics if shapes of fields and x, y do not fit.
func (k Pullback) Eval(x, y []float64) float64 {
	must(k.checkShapes())
	z := make([]float64, 2*k.A.Rows)
	ax, ay := z[:k.A.Rows], z[k.A.Rows:]
	moved := make([]float64, k.A.Cols)
	k.at(ax, x, moved)
	k.at(ay, y, moved)
	return k.K.Eval(ax, ay)
}

// At returns A·(x − Centre) + Offset, and panics if shapes of fields and x do not fit.
func (k Pullback) At(x []float64) []float64 {
	k.K = DotProduct{}
	must(k.checkShapes())
	z := make([]float64, k.A.Rows)
	k.at(z, x, make([]float64, k.A.Cols))
	return z
}

func (k Pullback) at(dst, x, moved []float64) {
	if len(x) != k.A.Cols {
		panic(fmt.Sprintf("kernels: x has length %d, Pullback.A is %d×%d", len(x), k.A.Rows, k.A.Cols))
	}
	copy(moved, x)
	if k.Centre != nil {
		floats.Sub(moved, k.Centre)
	}
	for i := range dst {
		dst[i] = floats.Dot(k.A.Row(i), moved)
	}
	if k.Offset != nil {
		floats.Add(dst, k.Offset)
	}
}

func (k Pullback) check() error {
	if err := k.checkShapes(); err != nil {
		return err
	}
	for i := range k.A.Rows {
		if err := allFinite(fmt.Sprintf("Pullback.A[%d]", i), k.A.Row(i)); err != nil {
			return err
		}
	}
	return cmp.Or(allFinite("Pullback.Centre", k.Centre), allFinite("Pullback.Offset", k.Offset))
}

func (k Pullback) checkShapes() error {
	switch {
	case k.K == nil:
		return errors.New("kernels: Pullback.K is nil")
	case k.A.Rows < 1 || k.A.Cols < 1:
		return fmt.Errorf("kernels: Pullback.A is %d×%d, want at least 1×1", k.A.Rows, k.A.Cols)
	case k.Centre != nil && len(k.Centre) != k.A.Cols:
		return fmt.Errorf("kernels: Pullback.Centre has length %d, A is %d×%d", len(k.Centre), k.A.Rows, k.A.Cols)
	case k.Offset != nil && len(k.Offset) != k.A.Rows:
		return fmt.Errorf("kernels: Pullback.Offset has length %d, A is %d×%d", len(k.Offset), k.A.Rows, k.A.Cols)
	}
	if err := k.A.Validate(); err != nil {
		return fmt.Errorf("kernels: Pullback.A: %w", err)
	}
	return nil
}

func allFinite(name string, v []float64) error {
	if j := slices.IndexFunc(v, func(e float64) bool { return math.IsNaN(e - e) }); j >= 0 {
		return fmt.Errorf("kernels: %s[%d] = %v, want a finite number", name, j, v[j])
	}
	return nil
}

// String returns the kernel K and the shape of the matrix A.
func (k Pullback) String() string {
	return fmt.Sprintf("Pullback{K: %v, A: %d×%d}", k.K, k.A.Rows, k.A.Cols)
}

// gramPullback computes in float64. If one is set, y is x.
func gramPullback[T dense.Float](dst dense.Matrix[T], k Pullback, x, y dense.Matrix[T], one bool) dense.Matrix[T] {
	ax, ay := k.image(inFloat64(x)), dense.Matrix[float64]{}
	if !one {
		ay = k.image(inFloat64(y))
	}
	if exact, ok := any(dst).(dense.Matrix[float64]); ok {
		Gram(exact, k.K, ax, ay)
		return dst
	}
	return dense.Copy(dst, Gram(dense.Matrix[float64]{}, k.K, ax, ay))
}

func (k Pullback) image(x dense.Matrix[float64]) dense.Matrix[float64] {
	ax := dense.New[float64](x.Rows, k.A.Rows)
	parallel.Rows(x.Rows, gramRows, func(lo, hi int) {
		moved := make([]float64, k.A.Cols)
		for i := lo; i < hi; i++ {
			k.at(ax.Row(i), x.Row(i), moved)
		}
	})
	return ax
}
