package rff

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// Scheme has the functions h and f₁ … f_l of a feature map of your own for frequencies w₁ … w_m:
//
//	φ(x) = h(x)/√m · [f₁(w₁ᵀx) … f₁(w_mᵀx), …, f_l(w₁ᵀx) … f_l(w_mᵀx)].
//
// Several goroutines call the functions of a Scheme at once: H once for each point x, and F once
// for each projection wᵀx. The functions of a Scheme must not change or keep a point x.
type Scheme[T dense.Float] struct {
	// F has at least one function f: for each of m frequencies w, H(x)·f(wᵀx)/√m is a feature of x.
	// A value NaN or ±Inf of a function makes features NaN or ±Inf.
	F []func(t T) T

	// H is the factor h(x) of all features of a point x; a nil H stands for 1.
	H func(x []T) T

	// Kernel is the kernel of the map, nil for none. New does not check that inner products of
	// features estimate Kernel; package validate does.
	Kernel kernels.Kernel
}

// New returns the map from R^d to R^(l·m) of the l functions F of s and the frequencies w (m×d).
// The maps of Draw compute over slices and are several times faster than equal maps of New. The map
// of New has no derivatives, and CanBackward returns an error. New returns an error for an s
// without F or with a nil function.
func New[T dense.Float](s Scheme[T], w orf.Projection[T]) (Map[T], error) {
	return build[T](schemeRecipe[T]{s, w})
}

type schemeRecipe[T dense.Float] struct {
	s Scheme[T]
	w orf.Projection[T]
}

func newScheme[T dense.Float](r schemeRecipe[T]) (Map[T], error) {
	s := r.s
	if err := checkScheme(s); err != nil {
		return nil, err
	}
	e, err := engine[T]{}.over(r.w, len(s.F))
	if err != nil {
		return nil, err
	}
	e.tiler = nil // h sees a row once
	s.F = slices.Clone(s.F)
	m := e.frequencies()
	norm := T(1 / math.Sqrt(float64(m)))
	return newFeatures(e, s.Kernel, schemeLaw(s), func(phi, x []T, _, _ int) {
		c := norm
		if s.H != nil {
			c *= s.H(x)
		}
		t := phi[:m]
		// The first function comes last: it overwrites the projections.
		for k := len(s.F) - 1; k >= 0; k-- {
			fk, to := s.F[k], phi[k*m:(k+1)*m]
			for j, v := range t {
				to[j] = c * fk(v)
			}
		}
	}, nil), nil
}

func checkScheme[T dense.Float](s Scheme[T]) error {
	if len(s.F) == 0 {
		return errors.New("rff: Scheme.F is empty, want at least one function")
	}
	if i := slices.IndexFunc(s.F, func(f func(t T) T) bool { return f == nil }); i >= 0 {
		return fmt.Errorf("rff: Scheme.F[%d] is nil", i)
	}
	return nil
}

var errNoDerivatives = errors.New("rff: a map made by New has no derivatives")

func schemeLaw[T dense.Float](s Scheme[T]) mse.Law {
	f := make([]func(t float64) float64, len(s.F))
	for k, fk := range s.F {
		f[k] = func(t float64) float64 { return float64(fk(T(t))) }
	}
	return mse.OfScheme(func(x []float64) float64 {
		if s.H == nil {
			return 1
		}
		return float64(s.H(dense.Copy(dense.Matrix[T]{}, dense.Of(1, len(x), x)).Row(0)))
	}, f, 2*vecmath.Roundoff[T]())
}
