package rff

import "github.com/seed-feabd252/randfeat/dense"

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
	// dst must not overlap x or dphi unless the map says that it may be one of them. It panics if a
	// shape does not fit, and if CanBackward is an error.
	Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T]

	// CanBackward returns nil if the derivatives are known. Otherwise it returns an error that says
	// why they are not. The result never changes.
	CanBackward() error
}

// DifferentiableLog is a positive map that also has the derivatives of log φ. These do not overflow
// or underflow where derivatives of φ would.
type DifferentiableLog[T dense.Float] interface {
	LogMap[T]
	Differentiable[T]

	// LogBackward is Backward for LogTransform: if row i of dlog (n×out) is the gradient of a loss
	// with respect to log φ(x_i), row i of dst is its gradient with respect to x_i.
	LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T]
}
