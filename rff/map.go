package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Map is a feature map φ: R^in → R^out. Inner products φ(x)ᵀφ(y) of a Map equal or estimate a
// kernel. A Map never changes after construction, and goroutines may share a Map.
type Map[T dense.Float] interface {
	// Dims returns the dimension in of points x and the number out of features φ(x).
	Dims() (in, out int)

	// Transform of a map from R^in to R^out writes the features of row i of x (n×in) into row i of
	// dst (n×out) and returns dst; a zero-value dst is allocated, and Transform panics for other
	// shapes. In Transform the argument dst must not overlap x, unless the documentation of a map
	// says that dst may be x.
	Transform(dst, x dense.Matrix[T]) dense.Matrix[T]

	// Kernel returns the kernel that inner products φ(x)ᵀφ(y) of features estimate, or nil for
	// none. For a map φ of queries with a map ψ of keys, Kernel returns the kernel that φ(x)ᵀψ(y)
	// estimates.
	Kernel() kernels.Kernel
}

// LogMap is a feature map whose features are positive. A LogMap also computes logarithms of
// features, for attention, which do not overflow or underflow where features would.
type LogMap[T dense.Float] interface {
	Map[T]

	// LogTransform of a map from R^in to R^out writes the logarithms of features of row i of x
	// (n×in) into row i of dst (n×out) and returns dst; a zero-value dst is allocated, and
	// LogTransform panics for other shapes. In LogTransform the argument dst must not overlap x,
	// unless the documentation of a map says that dst may be x. LogTransform writes −Inf for a
	// feature that is zero.
	LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T]
}

// Differentiable is a feature map φ that also turns gradients of a loss with respect to features
// φ(x) into gradients with respect to points x, for training through φ.
type Differentiable[T dense.Float] interface {
	Map[T]

	// Backward computes the gradient of a loss with respect to row x_i of x, row i of dst, from the
	// gradient with respect to the features φ(x_i), row i of dphi:
	//
	//	dst_i = J(x_i)ᵀ·dphi_i,  J_kj = ∂φ_k/∂x_j.
	//
	// Backward returns dst; a zero-value dst is allocated. In Backward the argument dst must not
	// overlap x or dphi, unless the documentation of a map allows an overlap. For a map from R^in
	// to R^out, Backward panics if CanBackward returns an error, and unless x is n×in, dphi n×out
	// and dst n×in or zero.
	Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T]

	// CanBackward returns nil if the map has derivatives, or an error that says why not. The result
	// never changes.
	CanBackward() error
}

// DifferentiableLog is a map of positive features φ that also has the derivatives of log φ.
// Derivatives of log φ do not overflow or underflow where derivatives of the features φ would.
type DifferentiableLog[T dense.Float] interface {
	LogMap[T]
	Differentiable[T]

	// LogBackward is Backward for LogTransform: if row i of dlog is the gradient of a loss with
	// respect to logarithms of features of row x_i of x, row i of dst is the gradient with respect
	// to x_i.
	LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T]
}

// Paired is a map φ of queries with a map ψ of keys, which the method Keys returns: φ(x)ᵀψ(y)
// estimates the kernel that the method Kernel of φ and of ψ returns. Unless the map φ of queries is
// also the map of keys, φ(x)ᵀφ(y) does not estimate the kernel. The map of keys of a Paired map φ
// is Paired too, and the method Keys of the map of keys returns φ. A feature map that is not Paired
// serves for queries and keys.
type Paired[T dense.Float] interface {
	Map[T]

	// Keys returns the map of keys, which has the dimensions of the map of queries.
	Keys() Map[T]
}

// Keys returns the map of keys for the map m of queries: m.Keys() if m is Paired, else m.
func Keys[T dense.Float](m Map[T]) Map[T] {
	if p, ok := m.(Paired[T]); ok {
		return p.Keys()
	}
	return m
}
