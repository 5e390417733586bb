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
	spec             specifier
}

// specifier returns the features. x and y are the pairs, for features that are fitted to samples.
type specifier func(x, y dense.Matrix[float64]) (rff.Spec, error)

// fixed is the specifier of features that need no samples.
func fixed(s rff.Spec) specifier {
	return func(_, _ dense.Matrix[float64]) (rff.Spec, error) { return s, nil }
}

// fitted is the specifier of features that are fitted to samples.
func fitted[S rff.Spec](fit func(x, y dense.Matrix[float64], scale float64) (S, error)) specifier {
	return func(x, y dense.Matrix[float64]) (rff.Spec, error) { return fit(x, y, 1) }
}

// damped is the specifier of optimal features, with the a that is best for x and y.
func damped(spec func(a float64) rff.Spec) specifier {
	return func(x, y dense.Matrix[float64]) (rff.Spec, error) {
		a, err := rff.OptimalA(x, y, 1)
		return spec(a), err
	}
}

var estimators = []estimator{
	{"gaussian", "trig", "Gaussian, [cos, sin]", fixed(rff.Gaussian{LengthScale: 1})},
	{"gaussian", "positive", "Gaussian, exp", fixed(rff.GaussianOptimal{LengthScale: 1})},
	{"gaussian", "hyperbolic", "Gaussian, exp(±)", fixed(rff.GaussianHyperbolic{LengthScale: 1})},
	{"gaussian", "optimal", "Gaussian, optimal exp", damped(func(a float64) rff.Spec { return rff.GaussianOptimal{LengthScale: 1, A: a} })},
	{"softmax", "trig", "softmax, [cos, sin]", fixed(rff.SoftmaxTrig{Scale: 1})},
	{"softmax", "positive", "softmax, exp (FAVOR+)", fixed(rff.SoftmaxPositive{Scale: 1})},
	{"softmax", "hyperbolic", "softmax, exp(±)", fixed(rff.SoftmaxHyperbolic{Scale: 1})},
	{"softmax", "optimal", "softmax, optimal exp (FAVOR++)", damped(func(a float64) rff.Spec { return rff.SoftmaxOptimal{Scale: 1, A: a} })},
	{"softmax", "saderf", "softmax, SADERF (FAVOR#)", fitted(rff.FitSADERF[float64])},
	{"softmax", "sderf", "softmax, SDERF (FAVOR#)", fitted(rff.FitSDERF[float64])},
	{"softmax", "aderf", "softmax, ADERF (FAVOR#)", fitted(rff.FitADERF[float64])},
	{"dot", "linear", "dot product, linear", fixed(rff.DotProduct{})},
	{"angular", "sign", "angular, sign", fixed(rff.Angular{})},
	{"arc-cosine", "relu", "arc-cosine, ramp", fixed(rff.ArcCosine{})},
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
