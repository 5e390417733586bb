// Package rff has feature maps φ: R^d → R^D with φ(x)ᵀφ(y) equal or close to a kernel k(x, y).
// Features turn a method on the n×n Gram matrix of n points into a linear one on n×D features.
//
// # Where to begin
//
//   - a Gaussian kernel: [Gaussian] over orf.GramSchmidt, or orf.Hadamard in hundreds of dimensions
//   - attention: [ADERF], which [FitADERF] fits to queries and keys, or [SoftmaxPositive]
//   - queries and keys with means far from zero: [Centred]
//   - any kernel, from points: [Nystroem] or [Spectral]; a composed kernel: [Random] or [Sum]
//   - h(x)/√m·[f₁(w₁ᵀx) … f_l(w_mᵀx)] with functions of your own: [New]
//   - columns in units of their own: [Standardise], before a map by [Compose]
//   - gradients: [Differentiable], and of learnt functions [Gradients]; files: [Write], [Read]
//
// Draw makes the map of a Spec over frequencies of package orf:
//
//	w, err := orf.Draw[float64](orf.GramSchmidt{}, m, d, src)
//	phi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
//
// Maps never change: goroutines may share a map. Features of a point depend neither on other points
// nor on GOMAXPROCS, and are not all finite if a coordinate is NaN or infinite.
//
// The error of a function reports nil maps, kernels, frequencies and sources, NaN and infinite
// numbers, shapes that do not fit, and more than 2⁴⁰ bytes (2³⁰ on 32-bit systems), unless an
// argument documents a meaning. docs/maps.md has all maps with errors, derivatives and files;
// docs/references.md has the papers.
package rff
