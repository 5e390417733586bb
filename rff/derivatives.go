package rff

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
)

var errNoDerivatives = errors.New("rff: a map made by New has no derivatives until WithDerivatives gives them")

// WithDerivatives returns a copy of f, a map made by New(w, h, f…), that also has
// the derivatives of these functions: dh(dst, x) writes the gradient of h at x into
// dst, of the same length, and df[k](t) is the derivative of f[k] at t. dh is nil
// where h is. For the gradient g = [g₁, …, g_l] of a loss with respect to φ(x), that
// with respect to x is then
//
//	1/√m · Σ_i (h(x)·Σ_k f_k′(w_iᵀx)·g_ki·w_i + Σ_k f_k(w_iᵀx)·g_ki·∇h(x)).
//
// The functions are called from several goroutines at once, h and dh once a row
// and f and df once a projection. dh must write all of dst, and must not change x
// or keep either. It is not checked that they are the derivatives.
//
// It panics if f was not made by New, if one of dh and h is nil and the other is
// not, if there are not as many df as f, or if one is nil.
func (f *Features[T]) WithDerivatives(dh func(dst, x []T), df ...func(t T) T) *Features[T] {
	s := f.scheme
	switch {
	case s == nil:
		panic(fmt.Sprintf("rff: %v was not made by New and has its derivatives", f))
	case dh == nil && s.h != nil:
		panic("rff: dh is nil, want the gradient of h")
	case dh != nil && s.h == nil:
		panic("rff: dh is given for a nil h")
	case len(df) != len(s.f):
		panic(fmt.Sprintf("rff: %d derivatives df, want %d", len(df), len(s.f)))
	}
	for i, d := range df {
		if d == nil {
			panic(fmt.Sprintf("rff: df[%d] is nil", i))
		}
	}
	g := *f
	g.back = s.pullback(f.engine, dh, append([]func(T) T(nil), df...))
	return &g
}

// Scheme returns the functions that New was given, which make the features
// h(x)/√m·[f_k(w_iᵀx)], with h nil for 1, and no f if f was not made by New.
func (f *Features[T]) Scheme() (h func(x []T) T, fs []func(t T) T) {
	if f.scheme == nil {
		return nil, nil
	}
	return f.scheme.h, slices.Clone(f.scheme.f)
}

// scheme is what New was given.
type scheme[T dense.Float] struct {
	h func(x []T) T
	f []func(t T) T
}

// pullback returns the derivative of the general scheme.
func (s *scheme[T]) pullback(e engine[T], dh func(dst, x []T), df []func(t T) T) *pullback[T] {
	m := e.frequencies()
	norm := T(1 / math.Sqrt(float64(m)))
	if dh == nil {
		return throughZ(e, m, func(z, _, g []T) (a, b T) {
			for i, t := range z {
				z[i] = 0
				for k, dfk := range df {
					z[i] += dfk(t) * g[k*m+i]
				}
			}
			return norm, 0
		}, scaled[T])
	}
	// z is as long as x too, for ∇h(x).
	return throughZ(e, max(m, e.in), func(z, x, g []T) (a, b T) {
		for i, t := range z[:m] {
			z[i] = 0
			for k, dfk := range df {
				z[i] += dfk(t) * g[k*m+i]
				b += s.f[k](t) * g[k*m+i]
			}
		}
		return norm * s.h(x), norm * b
	}, func(dx, x, z []T, a, b T) {
		direction := z[:len(x)]
		dh(direction, x)
		radial(dx, direction, nil, a, b)
	})
}
