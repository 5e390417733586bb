package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Map is a feature map φ: R^in → R^out, whose inner products φ(x)ᵀφ(y) equal or estimate a kernel.
// A Map never changes after construction, and goroutines may share a Map.
type Map[T dense.Float] interface {
	// Dims returns the dimension in of points x and the number out of features φ(x).
	Dims() (in, out int)

	// Transform writes the features of row i of x (n×in) into row i of dst (n×out) and returns dst.
	// Transform allocates a zero-value dst, and panics for shapes that do not fit. In Transform the
	// argument dst must not overlap x, unless a map documents otherwise.
	Transform(dst, x dense.Matrix[T]) dense.Matrix[T]

	// Kernel returns the kernel that φ(x)ᵀφ(y) estimates, or nil for none. For a map φ of queries
	// with a map ψ of keys, Kernel returns the kernel that φ(x)ᵀψ(y) estimates.
	Kernel() kernels.Kernel
}

// LogMap is a feature map with positive features that also computes the logarithms of features,
// which do not overflow or underflow where features would.
type LogMap[T dense.Float] interface {
	Map[T]

	// LogTransform writes the logarithms of the features of row i of x (n×in) into row i of dst
	// (n×out), −Inf for a feature 0, and returns dst. LogTransform allocates a zero-value dst,
	// panics if the shape of x or dst does not fit the feature map, and accepts the matrix x as dst
	// only if the feature map documents that x may be dst.
	LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T]
}

// Differentiable is a feature map φ that turns gradients of a loss with respect to features φ(x)
// into gradients with respect to points x.
type Differentiable[T dense.Float] interface {
	Map[T]

	// Backward computes the gradient of a loss with respect to row x_i of x, row i of dst, from the
	// gradient with respect to the features φ(x_i), row i of dphi:
	//
	//	dst_i = J(x_i)ᵀ·dphi_i,  J_kj = ∂φ_k/∂x_j.
	//
	// Backward returns dst; a zero-value dst is allocated. In Backward the argument dst must not
	// overlap x or dphi, unless a map documents otherwise. Backward panics if CanBackward returns
	// an error, and unless x is n×in, dphi n×out and dst n×in or zero.
	Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T]

	// CanBackward always returns nil, or always an error that says why the map has no derivatives.
	CanBackward() error
}

// DifferentiableLog is a map of positive features φ that also has the derivatives of log φ, which
// do not overflow or underflow where derivatives of φ would.
type DifferentiableLog[T dense.Float] interface {
	LogMap[T]
	Differentiable[T]

	// LogBackward computes the gradient with respect to row i of x from the gradient with respect
	// to the logarithms of features, row i of dlog, as Backward does for features.
	LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T]
}

// Paired is a map φ of queries with a map ψ of keys, which the method Keys returns: φ(x)ᵀψ(y)
// estimates the kernel that the method Kernel of φ and of ψ returns. Unless φ is also the map of
// keys, φ(x)ᵀφ(y) does not estimate the kernel. The method Keys of the map ψ returns φ. A feature
// map that is not Paired computes the features of queries and of keys alike.
type Paired[T dense.Float] interface {
	Map[T]

	Keys() Map[T]
}

// Keys returns the feature map for attention keys that belongs to the feature map m for queries:
// m.Keys() if m implements the interface Paired, and otherwise m itself.
func Keys[T dense.Float](m Map[T]) Map[T] {
	if p, ok := m.(Paired[T]); ok {
		return p.Keys()
	}
	return m
}
