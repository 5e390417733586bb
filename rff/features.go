package rff

import (
	"fmt"
	"math"
	"reflect"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// Features is a map that is computed row by row: the general scheme
//
//	φ(x) = h(x)/√m · [f₁(w₁ᵀx) … f₁(w_mᵀx), …, f_l(w₁ᵀx) … f_l(w_mᵀx)]
//
// that New builds, its named special cases, SoftmaxHybrid, the explicit maps Identity,
// Quadratic, Taylor and AdditiveChiSquare, and SkewedChiSquare. It never changes after
// construction and may be shared by goroutines.
type Features[T dense.Float] struct {
	engine[T]
	name   string
	kernel kernels.Kernel
	row    rowFunc[T]
	scheme *scheme[T]   // nil unless made by New
	back   *pullback[T] // nil if the derivatives are not known

	partner   *Features[T] // nil if the map is its own
	estimator Estimator
}

// New returns the general scheme for the frequencies w (m×d): R^d → R^(l·m),
// where l ≥ 1 is the number of functions f. A nil h stands for 1.
//
// The functions are called once a row (h) and once a projection (f), from
// several goroutines at once; h must not change or keep its argument. What they
// return reaches the features as it is, NaN and ±Inf included. The named
// constructors compute over slices and are several times faster than the same
// map written with New.
//
// The map does not know its kernel, and Kernel returns nil, until Estimating
// names it; Theory of package validate computes the kernel and the mean squared error over
// independent rows. The map does not know its derivatives until WithDerivatives gives them.
//
// New panics if w is nil or too large for memory, if no f is given, or if one is nil.
func New[T dense.Float](w orf.Projection[T], h func(x []T) T, f ...func(T) T) *Features[T] {
	e, err := newEngine(w, len(f))
	if err != nil {
		panic(err.Error())
	}
	if len(f) == 0 {
		panic("rff: New with no f, want at least one function")
	}
	for i, fi := range f {
		if fi == nil {
			panic(fmt.Sprintf("rff: f[%d] is nil", i))
		}
	}
	f = append([]func(T) T(nil), f...)
	e.tiler = nil // h sees a row once
	m := e.frequencies()
	norm := T(1 / math.Sqrt(float64(m)))
	return &Features[T]{engine: e, name: "New()", scheme: &scheme[T]{h: h, f: f}, row: func(phi, x []T, _, _ int) {
		c := norm
		if h != nil {
			c *= h(x)
		}
		t := phi[:m]
		// The first function comes last: it overwrites the projections.
		for k := len(f) - 1; k >= 0; k-- {
			fk, to := f[k], phi[k*m:(k+1)*m]
			for j, v := range t {
				to[j] = c * fk(v)
			}
		}
	}}
}

// Estimating returns a copy of f, and of the map of keys that goes with it, that names k as
// its kernel. It is not checked that f estimates k; package validate does that. The error of
// another kernel is another one: Estimator then has FormUnknown.
func (f *Features[T]) Estimating(k kernels.Kernel) *Features[T] {
	g := f.naming(k)
	if f.partner != nil {
		g.partner = f.partner.naming(k)
		g.partner.partner = g
	}
	return g
}

// naming returns a copy of f that names k as its kernel.
func (f *Features[T]) naming(k kernels.Kernel) *Features[T] {
	g := *f
	if g.kernel = k; !reflect.DeepEqual(k, f.kernel) {
		g.estimator = Estimator{}
	}
	return &g
}

// Dims returns the dimensions of x and of φ(x).
func (f *Features[T]) Dims() (in, out int) { return f.in, f.out }

// Transform writes φ of every row of x (n×in) into dst (n×out) and returns it;
// a zero dst is allocated. dst must not overlap x, except that Identity allows
// it to be x. A row of dst depends on its row of x alone, not on the others nor
// on GOMAXPROCS. It panics if a shape does not fit. The cost is that of
// projecting n rows and O(n·out), where nothing but dst is written.
func (f *Features[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return f.run(dst, x, f.row)
}

// Keys returns the map ψ of keys that goes with f as the map φ of queries: that with
// other signs for SoftmaxHybrid, f itself otherwise. f.Keys().Keys() is f.
func (f *Features[T]) Keys() Map[T] {
	if f.partner != nil {
		return f.partner
	}
	return f
}

// Kernel returns what φ(x)ᵀψ(y) estimates, where ψ is f.Keys(): nil for a map made by New
// until Estimating has named it.
func (f *Features[T]) Kernel() kernels.Kernel { return f.kernel }

// String returns the constructor with its parameters, and the dimensions.
func (f *Features[T]) String() string { return describe(f.name, f.in, f.out) }

// describe returns name: R^in → R^out.
func describe(name string, in, out int) string {
	return fmt.Sprintf("%s: R^%d → R^%d", name, in, out)
}
