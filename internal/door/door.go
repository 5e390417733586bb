// Package door leads from generic functions to instances that their own package has compiled. An
// importer of a package compiles all methods of each generic type that a generic function mentions,
// except behind a call of Choose.
package door

import "github.com/seed-feabd252/randfeat/dense"

// Choose returns the result of f32 or f64, of the function for T. Both functions stand in the
// package of the caller, which marks them //go:noinline. Their result is an R if their error is
// nil.
func Choose[T dense.Float, R any](f32, f64 func(args any) (any, error), args any) (none R, _ error) {
	f := f64
	if _, single := any(*new(T)).(float32); single {
		f = f32
	}
	r, err := f(args)
	if err != nil {
		return none, err
	}
	return r.(R), nil
}
