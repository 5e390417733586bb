// Package instance keeps the compiler from compiling generic code again in every package that uses
// it.
//
// Go compiles a generic function in each package that calls it, with all generic functions that it
// calls in turn. Where that is much code, the exported function is a shell that calls an instance
// which its own package has compiled:
//
//	func Draw[T dense.Float](m int) []T { return instance.Of(&drawBoth, Draw[T])(m) }
//
//	var drawBoth = instance.Both{draw[float32], draw[float64]}
//
//	func draw[T dense.Float](m int) []T { … }
//
// A package that mentions a generic type compiles all methods of the type, also unexported ones, and
// those of the types of its fields. Such methods are shells, too, or a field is an interface: what
// stands behind an interface is compiled where a value is put into it.
//
// A call through a shell takes three nanoseconds more, and about 20 with four matrices, which are
// copied again. Small functions and inner loops have no shell. Inside the package, code that the instances run calls draw and not Draw: Go initialises no
// variable with functions that refer to it.
package instance

// Both has a generic function for float32 and for float64.
type Both [2]any

// Of returns the function of both that has the type of shell, the generic function that calls Of.
func Of[F any](both *Both, shell F) F {
	f, ok := both[0].(F)
	if !ok {
		f = both[1].(F)
	}
	return f
}
