// Package randfeat is the root of a library for random-feature kernel
// approximation: kernels, feature maps, orthogonal frequencies, fast
// transforms, and the linear-time attention built on them.
//
// The code is in the folders below, each a package with an essay of its own:
//
//   - dense: Matrix, the row-major view that every package passes on
//   - hadamard, givens: fast orthogonal transforms, each useful alone
//   - orf: frequencies W, independent or orthogonal, behind one interface
//   - kernels: exact kernels and Gram matrices
//   - rff: feature maps φ with φ(x)ᵀφ(y) ≈ k(x, y), and exact ones
//   - performer: softmax attention, exact and in linear time
//   - semiseparable: Λ + tril(QKᵀ, −1), useful alone
//   - blas: gonum's BLAS interfaces on fast matrix products, useful alone
//   - validate: is it symmetric, definite, orthogonal, unbiased, how accurate
//   - examples: one runnable program a folder
//
// This package holds the text of README.md and nothing else.
package randfeat

import _ "embed"

// README is the text of README.md at the root of this module.
//
//go:embed README.md
var README string
