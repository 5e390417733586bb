package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Map is a feature map φ: R^in → R^out. φ(x)ᵀφ(y) equals or estimates a kernel. A Map never changes
// after construction, and goroutines may share a Map.
type Map[T dense.Float] interface {
	// Dims returns the dimensions of x and of φ(x).
	Dims() (in, out int)

	// Transform writes φ of every row of x (n×in) into dst (n×out) and returns it; a zero dst is
	// allocated. dst must not overlap x unless the map says that it may be x. Transform panics if a
	// shape does not fit.
	Transform(dst, x dense.Matrix[T]) dense.Matrix[T]

	// Kernel returns the kernel that φ(x)ᵀφ(y) estimates. If the map is Paired with another map ψ,
	// Kernel returns the kernel that φ(x)ᵀψ(y) estimates.
	Kernel() kernels.Kernel
}

// LogMap is a map whose features are positive. A LogMap also computes the logarithms of features,
// for attention. Logarithms neither overflow nor underflow where features would.
type LogMap[T dense.Float] interface {
	Map[T]

	// LogTransform writes log φ of every row of x (n×in) into dst (n×out) and returns it; a zero
	// dst is allocated. dst must not overlap x unless the map says that it may be x. A feature that
	// is exactly zero has the logarithm −Inf. LogTransform panics if a shape does not fit.
	LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T]
}

// Differentiable is a map that also turns gradients with respect to its features into gradients
// with respect to its points, for training through φ.
type Differentiable[T dense.Float] interface {
	Map[T]

	// Backward writes the vector–Jacobian products of Transform into dst (n×in) and returns it; a
	// zero dst is allocated. If row i of dphi (n×out) is the gradient of a loss with respect to
	// φ(x_i), row i of dst is its gradient with respect to x_i,
	//
	//	dst_i = J(x_i)ᵀ·dphi_i,  J_kj = ∂φ_k/∂x_j.
	//
	// dst must not overlap x or dphi unless the map says that it may be one of them. Backward
	// panics if a shape does not fit, and if CanBackward is an error.
	Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T]

	// CanBackward returns nil if the map has derivatives. Otherwise its error says why the map has
	// none. The result never changes.
	CanBackward() error
}

// DifferentiableLog is a positive map that also has the derivatives of log φ. Derivatives of
// log φ do not overflow or underflow where derivatives of φ would.
type DifferentiableLog[T dense.Float] interface {
	LogMap[T]
	Differentiable[T]

	// LogBackward is Backward for LogTransform: if row i of dlog (n×out) is the gradient of a loss
	// with respect to log φ(x_i), row i of dst is its gradient with respect to x_i.
	LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T]
}

// Paired is a map φ of queries with a partner ψ = Keys(), a map of keys: φ(x)ᵀψ(y) estimates
// Kernel. φ(x)ᵀφ(y) does not, unless φ and ψ are the same. ψ is Paired too, with the partner φ. The
// method Kernel of φ and of ψ returns the kernel that φ(x)ᵀψ(y) estimates. A map that is not Paired
// is its own partner.
type Paired[T dense.Float] interface {
	Map[T]

	// Keys returns ψ, which has the dimensions of φ.
	Keys() Map[T]
}

// Keys returns the map of keys for the map m of queries: m.Keys() if m is Paired, m itself
// otherwise.
func Keys[T dense.Float](m Map[T]) Map[T] {
	if p, ok := m.(Paired[T]); ok {
		return p.Keys()
	}
	return m
}
