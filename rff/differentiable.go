package rff

import "github.com/seed-feabd252/randfeat/dense"

// Differentiable is a map that also takes gradients with respect to its features back to gradients
// with respect to its points: what training through φ needs.
type Differentiable[T dense.Float] interface {
	Map[T]

	// Backward writes the vector–Jacobian products of Transform into dst (n×in) and returns it; a
	// zero dst is allocated. Where row i of dphi (n×out) is the gradient of a loss with respect to
	// φ(x_i), row i of dst is that with respect to x_i,
	//
	//	dst_i = J(x_i)ᵀ·dphi_i,  J_kj = ∂φ_k/∂x_j.
	//
	// dst must not overlap x or dphi unless the map says that it may be one of them. It panics if a
	// shape does not fit, and if CanBackward is an error.
	Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T]

	// CanBackward returns nil if the derivatives are known, and an error that says why not
	// otherwise. It is always the same.
	CanBackward() error
}

// DifferentiableLog is a positive map that also has the derivatives of log φ. These do not overflow
// or underflow where derivatives of φ would.
type DifferentiableLog[T dense.Float] interface {
	LogMap[T]
	Differentiable[T]

	// LogBackward is Backward for LogTransform: where row i of dlog (n×out) is the gradient of a
	// loss with respect to log φ(x_i), row i of dst is that with respect to x_i.
	LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T]
}
