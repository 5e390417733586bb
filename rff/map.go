package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Map is a feature map φ: R^in → R^out. Inner products φ(x)ᵀφ(y) of a Map equal or estimate a
// kernel. A Map never changes after construction, and goroutines may share a Map.
type Map[T dense.Float] interface {
	// Dims returns the dimensions of points x and of their features φ(x).
	Dims() (in, out int)

	// Transform writes the features φ of every row of x (n×in) into dst (n×out) and returns dst; a
	// zero-value dst is allocated. dst must not overlap x, unless the documentation of a map says
	// that dst may be x. Transform panics unless x is n×in and dst n×out or the zero value.
	Transform(dst, x dense.Matrix[T]) dense.Matrix[T]

	// Kernel returns the kernel that φ(x)ᵀφ(y) estimates. If a map φ is Paired with another map ψ,
	// Kernel returns the kernel that φ(x)ᵀψ(y) estimates.
	Kernel() kernels.Kernel
}

// LogMap is a feature map whose features are positive. A LogMap also computes the logarithms of
// features, for attention. Logarithms neither overflow nor underflow where features would.
type LogMap[T dense.Float] interface {
	Map[T]

	// LogTransform writes the logarithms of the features φ of every row of x (n×in) into dst
	// (n×out) and returns dst; a zero-value dst is allocated. In LogTransform dst must not overlap
	// x, unless the documentation of a map says that dst may be x. A feature that is exactly zero
	// has the logarithm −Inf. LogTransform panics unless x is n×in and dst n×out or the zero value.
	LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T]
}

// Differentiable is a feature map φ that also turns gradients with respect to features φ(x) into
// gradients with respect to points x, for training through φ.
type Differentiable[T dense.Float] interface {
	Map[T]

	// Backward writes the vector–Jacobian products of Transform into dst (n×in) and returns dst; a
	// zero-value dst is allocated. If row i of dphi (n×out) is the gradient of a loss with respect
	// to φ(x_i), row i of dst is the gradient of the loss with respect to x_i,
	//
	//	dst_i = J(x_i)ᵀ·dphi_i,  J_kj = ∂φ_k/∂x_j.
	//
	// dst must not overlap x or dphi, unless the documentation of a map allows it. Backward panics
	// if CanBackward returns an error, and unless x is n×in, dphi n×out and dst n×in or zero.
	Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T]

	// CanBackward returns nil if the map has derivatives. The error of CanBackward says why a map
	// has no derivatives. The result never changes.
	CanBackward() error
}

// DifferentiableLog is a map of positive features φ that also has the derivatives of log φ.
// Derivatives of log φ do not overflow or underflow where derivatives of φ would.
type DifferentiableLog[T dense.Float] interface {
	LogMap[T]
	Differentiable[T]

	// LogBackward is Backward for LogTransform: if row i of dlog (n×out) is the gradient of a loss
	// with respect to log φ(x_i), row i of dst is the gradient of the loss with respect to x_i.
	LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T]
}

// Paired is a map φ of queries with a partner ψ = Keys(), a map of keys: φ(x)ᵀψ(y) estimates the
// kernel that the method Kernel returns. Unless the map φ of queries equals the partner ψ,
// φ(x)ᵀφ(y) does not estimate the kernel. The partner ψ of a Paired map φ is itself Paired, with
// the partner φ. The method Kernel of φ and of ψ returns the kernel that φ(x)ᵀψ(y) estimates. A
// feature map that is not Paired is its own partner.
type Paired[T dense.Float] interface {
	Map[T]

	// Keys returns the partner ψ of φ, the map of keys, which has the dimensions of φ.
	Keys() Map[T]
}

// Keys returns the map of keys for the map m of queries: m.Keys() if m is Paired, else m.
func Keys[T dense.Float](m Map[T]) Map[T] {
	if p, ok := m.(Paired[T]); ok {
		return p.Keys()
	}
	return m
}
