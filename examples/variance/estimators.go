package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// estimator is a kernel with features over any projection.
type estimator struct {
	kernel, features string
	title            string
	make             maker
}

// maker makes a map. x and y are the pairs, for maps that are fitted to samples.
type maker func(w orf.Projection[float64], x, y dense.Matrix[float64]) (rff.Map[float64], error)

// over is the maker of maps that need frequencies alone.
func over[M rff.Map[float64]](f func(w orf.Projection[float64]) (M, error)) maker {
	return func(w orf.Projection[float64], _, _ dense.Matrix[float64]) (rff.Map[float64], error) {
		return f(w)
	}
}

// scaled is the maker of maps that need frequencies and a scale or length-scale of 1.
func scaled[M rff.Map[float64]](f func(w orf.Projection[float64], scale float64) (M, error)) maker {
	return over(func(w orf.Projection[float64]) (M, error) { return f(w, 1) })
}

// fitted is the maker of maps that are fitted to samples.
func fitted[M rff.Map[float64]](f func(w orf.Projection[float64], x, y dense.Matrix[float64], scale float64) (M, error)) maker {
	return func(w orf.Projection[float64], x, y dense.Matrix[float64]) (rff.Map[float64], error) {
		return f(w, x, y, 1)
	}
}

// damped is the maker of optimal features, with the a that is best for x and y.
func damped[M rff.Map[float64]](f func(w orf.Projection[float64], scale, a float64) (M, error)) maker {
	return func(w orf.Projection[float64], x, y dense.Matrix[float64]) (rff.Map[float64], error) {
		a, err := rff.OptimalA(x, y, 1)
		if err != nil {
			return nil, err
		}
		return f(w, 1, a)
	}
}

var estimators = []estimator{
	{"gaussian", "trig", "Gaussian, [cos, sin]", scaled(rff.Gaussian[float64])},
	{"gaussian", "positive", "Gaussian, exp", scaled(rff.GaussianPositive[float64])},
	{"gaussian", "hyperbolic", "Gaussian, exp(±)", scaled(rff.GaussianHyperbolic[float64])},
	{"gaussian", "optimal", "Gaussian, optimal exp", damped(rff.GaussianOptimal[float64])},
	{"softmax", "trig", "softmax, [cos, sin]", scaled(rff.SoftmaxTrig[float64])},
	{"softmax", "positive", "softmax, exp (FAVOR+)", scaled(rff.SoftmaxPositive[float64])},
	{"softmax", "hyperbolic", "softmax, exp(±)", scaled(rff.SoftmaxHyperbolic[float64])},
	{"softmax", "optimal", "softmax, optimal exp (FAVOR++)", damped(rff.SoftmaxOptimal[float64])},
	{"softmax", "saderf", "softmax, SADERF (FAVOR#)", fitted(rff.SADERF[float64])},
	{"softmax", "sderf", "softmax, SDERF (FAVOR#)", fitted(rff.SDERF[float64])},
	{"softmax", "aderf", "softmax, ADERF (FAVOR#)", fitted(rff.ADERF[float64])},
	{"dot", "linear", "dot product, linear", over(rff.DotProduct[float64])},
	{"angular", "sign", "angular, sign", over(rff.Angular[float64])},
	{"arc-cosine", "relu", "arc-cosine, ramp", over(func(w orf.Projection[float64]) (rff.Map[float64], error) { return rff.ArcCosine(w, 1) })},
}

// frequencies is a way to draw them.
type frequencies struct {
	name, title string
	ensemble    orf.Ensemble
}

// The first of them is what the others are compared with.
var projections = []frequencies{
	{"iid", "iid", orf.IID{}},
	{"gram-schmidt", "Gram–Schmidt", orf.GramSchmidt{}},
	{"simplex", "simplex", orf.Simplex{}},
	{"hadamard", "Hadamard", orf.Hadamard{}},
	{"givens", "Givens", orf.Givens{}},
	{"halton", "Halton", orf.Halton{}},
}

// names returns the distinct names that name gives the elements of a list, in order.
func names[E any](list []E, name func(E) string) []string {
	var all []string
	for _, e := range list {
		if n := name(e); !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// pick returns the elements whose name is in a list separated by commas, all of them for "".
func pick[E any](flag, list string, from []E, name func(E) string) ([]E, error) {
	if list == "" {
		return from, nil
	}
	known := names(from, name)
	var picked []E
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if !slices.Contains(known, item) {
			return nil, fmt.Errorf("-%s %s: want some of %s", flag, item, strings.Join(known, ", "))
		}
		for _, e := range from {
			if name(e) == item {
				picked = append(picked, e)
			}
		}
	}
	return picked, nil
}

func kernelOf(e estimator) string       { return e.kernel }
func featuresOf(e estimator) string     { return e.features }
func projectionOf(f frequencies) string { return f.name }
