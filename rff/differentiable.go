package rff

import "github.com/seed-feabd252/randfeat/dense"

// Differentiable is a map that also takes gradients with respect to its features
// back to gradients with respect to its points: what training through φ needs.
type Differentiable[T dense.Float] interface {
	Map[T]

	// Backward writes the vector–Jacobian products of Transform into dst (n×in)
	// and returns it; a zero dst is allocated. Where row i of dphi (n×out) is the
	// gradient of a loss with respect to φ(x_i), row i of dst is that with respect
	// to x_i,
	//
	//	dst_i = J(x_i)ᵀ·dphi_i,  J_kj = ∂φ_k/∂x_j.
	//
	// dst must not overlap x or dphi unless the map says that it may be one of
	// them. It panics if a shape does not fit, and if CanBackward is an error.
	Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T]

	// CanBackward returns nil if the derivatives are known, and an error that
	// says why not otherwise. It is always the same.
	CanBackward() error
}

// DifferentiableLog is a positive map that also has the derivatives of log φ.
// They do not overflow or underflow where those of φ would.
type DifferentiableLog[T dense.Float] interface {
	LogMap[T]
	Differentiable[T]

	// LogBackward is Backward for LogTransform: where row i of dlog (n×out) is the
	// gradient of a loss with respect to log φ(x_i), row i of dst is that with
	// respect to x_i.
	LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T]
}

// Backward writes J(x_i)ᵀ·dphi_i, with the Jacobian J of φ, into the rows of dst
// (n×in), for x (n×in) and dphi (n×out), and returns it; a zero dst is allocated.
// dst must not overlap x or dphi, except that Identity allows it to be either. A
// row of dst depends on its rows of x and dphi alone, not on the others nor on
// GOMAXPROCS.
//
// Every constructor but New gives its map the derivatives; WithDerivatives gives
// them to a map made by New. φ of Angular and of ArcCosine of order 0 has the
// derivative 0 wherever it has one, and that is what dst is: nothing can be
// learnt through it. Where the ramp of ArcCosine of order 1 has its kink, at
// wᵀx = 0, the derivative counts as the mean ½ of those on its sides, which is a
// subgradient. AdditiveChiSquare has an infinite derivative at coordinates 0, which
// counts as 0.
//
// The cost is at most that of Transform, of projecting n rows back and O(n·out);
// DotProduct projects back alone, and Identity, Quadratic, Taylor and AdditiveChiSquare
// are O(n·out).
// A workspace for 64 rows a goroutine is kept for later calls, and nothing is
// allocated then. It panics if a shape does not fit and if CanBackward is an error.
func (f *Features[T]) Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T] {
	if err := f.CanBackward(); err != nil {
		panic(err.Error())
	}
	return f.back.run("dphi", dst, x, dphi)
}

// CanBackward returns nil, or an error for a map made by New until WithDerivatives
// has given its derivatives.
func (f *Features[T]) CanBackward() error {
	if f.back == nil {
		return errNoDerivatives
	}
	return nil
}

// Backward writes J(x_i)ᵀ·dphi_i, with the Jacobian J of φ, into the rows of dst
// (n×in), for x (n×in) and dphi (n×out), and returns it; a zero dst is allocated.
// dst must not overlap x or dphi, except that ELU allows it to be either. A row of
// dst depends on its rows of x and dphi alone, not on the others nor on GOMAXPROCS.
//
// It is LogBackward of φ·dphi, where φ overflows and underflows as in Transform.
// The cost is that of Transform, of projecting n rows back and O(n·out). A
// workspace for 64 rows a goroutine is kept for later calls, and nothing is
// allocated then. It panics if a shape does not fit.
func (f *Positive[T]) Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T] {
	if f.image != nil {
		return f.image.backward("dphi", dst, x, dphi, false)
	}
	return f.back.run("dphi", dst, x, dphi)
}

// LogBackward writes J(x_i)ᵀ·dlog_i, with the Jacobian J of log φ, into the rows
// of dst (n×in), for x (n×in) and dlog (n×out), and returns it: for SoftmaxPositive
//
//	√s·Wᵀ·dlog_i − s·x_i·Σ_k dlog_ik,
//
// for SoftmaxHyperbolic the same with the difference of the halves of dlog_i
// behind Wᵀ, for those of the Gaussian kernel with 1/ℓ for √s and 2/ℓ² for s, for ELU
// dlog_ij/(1 + x_ij) where x_ij ≥ 0 and dlog_ij below. No exponential is taken and nothing
// is projected but dlog, so that the cost is that of projecting n rows back and O(n·out).
// Generalised projects x too, unless it is Exponential without ε. All else is as for
// Backward.
func (f *Positive[T]) LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T] {
	if f.image != nil {
		return f.image.backward("dlog", dst, x, dlog, true)
	}
	return f.logBack.run("dlog", dst, x, dlog)
}

// CanBackward returns nil.
func (f *Positive[T]) CanBackward() error { return nil }
