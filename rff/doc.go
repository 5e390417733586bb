// Package rff has feature maps φ: R^d → R^D with φ(x)ᵀφ(y) equal or close to a kernel k(x, y).
//
// # Where to begin
//
//   - a Gaussian kernel: [Gaussian] over orf.GramSchmidt, or orf.Hadamard in hundreds of dimensions
//   - attention: [SDERF], which [FitSDERF] fits to queries and keys, or [SoftmaxPositive]
//   - queries and keys with means far from zero: [Centred]
//   - any kernel, from points: [Nystroem] or [Spectral]; a composed kernel: [Random] or [Sum]
//   - h(x)/√m·[f₁(w₁ᵀx) … f_l(w_mᵀx)] with functions of your own: [New]
//   - columns in units of their own, PCA: [Standardise], [PCA], before a map by [Compose]
//   - gradients: [Differentiable], and of learnt functions [Gradients]; files: [Write], [Read]
//
// Draw makes the map of a Spec over frequencies of package orf:
//
//	w, err := orf.Draw[float64](orf.GramSchmidt{}, m, d, src)
//	phi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
//
// Maps never change: goroutines may share a map. The features of a point do not depend on other
// points or on GOMAXPROCS. A NaN or infinite coordinate makes features of the point NaN or
// infinite. The error of a function reports nil maps, kernels, frequencies and sources, NaN and
// infinite numbers, shapes that do not fit, and more than 2⁴⁰ bytes (2³⁰ on 32-bit systems), unless
// an argument documents a meaning.
package rff
