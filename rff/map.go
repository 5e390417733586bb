package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Map is a feature map φ: R^in → R^out. φ(x)ᵀφ(y) equals or estimates a kernel. It never changes
// after construction and may be shared by goroutines.
type Map[T dense.Float] interface {
	// Dims returns the dimensions of x and of φ(x).
	Dims() (in, out int)

	// Transform writes φ of every row of x (n×in) into dst (n×out) and returns it; a zero dst is
	// allocated. dst must not overlap x unless the map says that it may be x. It panics if a shape
	// does not fit.
	Transform(dst, x dense.Matrix[T]) dense.Matrix[T]

	// Kernel returns what φ(x)ᵀφ(y) estimates, or φ(x)ᵀψ(y) for a map that is Paired with another
	// map ψ.
	Kernel() kernels.Kernel
}

// LogMap is a map whose features are positive. It also gives the logarithms of features, for
// attention: these neither overflow nor underflow where features would.
type LogMap[T dense.Float] interface {
	Map[T]

	// LogTransform writes log φ of every row of x (n×in) into dst (n×out) and returns it; a zero
	// dst is allocated. dst must not overlap x unless the map says that it may be x. A feature that
	// is exactly zero has the logarithm −Inf. It panics if a shape does not fit.
	LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T]
}
