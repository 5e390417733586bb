package rff

import (
	"reflect"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Map is a feature map φ: R^in → R^out with φ(x)ᵀφ(y) equal to, or an estimate
// of, a kernel. It never changes after construction and may be shared by
// goroutines.
type Map[T dense.Float] interface {
	// Dims returns the dimensions of x and of φ(x).
	Dims() (in, out int)

	// Transform writes φ of every row of x (n×in) into dst (n×out) and returns
	// it; a zero dst is allocated. dst must not overlap x unless the map says
	// that it may be x. It panics if a shape does not fit.
	Transform(dst, x dense.Matrix[T]) dense.Matrix[T]

	// Kernel returns what φ(x)ᵀφ(y) estimates, or φ(x)ᵀψ(y) for a map that is Paired
	// with another map ψ.
	Kernel() kernels.Kernel
}

// LogMap is a map whose features are positive. It also gives their logarithms,
// which neither overflow nor underflow where the features would; attention
// works on those.
type LogMap[T dense.Float] interface {
	Map[T]

	// LogTransform writes log φ of every row of x (n×in) into dst (n×out) and
	// returns it; a zero dst is allocated. dst must not overlap x unless the
	// map says that it may be x. A feature that is exactly zero has the
	// logarithm −Inf. It panics if a shape does not fit.
	LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T]
}

// Paired is a map φ, of queries, that goes with another one, of keys: φ(x)ᵀψ(y) with ψ =
// Keys() is the estimate of Kernel, and φ(x)ᵀφ(y) is none unless the two are the same. ψ
// is Paired too, and goes with φ: both name the kernel that they estimate together. A map
// that is not Paired is its own partner.
type Paired[T dense.Float] interface {
	Map[T]

	// Keys returns ψ, which has the dimensions of φ.
	Keys() Map[T]
}

// Keys returns the map of keys that goes with the map m of queries: m.Keys() if m is
// Paired, m itself otherwise.
func Keys[T dense.Float](m Map[T]) Map[T] {
	if p, ok := m.(Paired[T]); ok {
		return p.Keys()
	}
	return m
}

// isSymmetric reports whether m is its own map of keys.
func isSymmetric[T dense.Float](m Map[T]) bool {
	// A map of another's may hold what cannot be compared.
	keys := Keys(m)
	return reflect.ValueOf(m).Comparable() && reflect.ValueOf(keys).Comparable() && m == keys
}
