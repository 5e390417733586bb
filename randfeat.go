// Package randfeat is the root of a library for kernel methods, attention and vector search on large
// data: kernels, feature maps, orthogonal frequencies, fast transforms, linear-time attention,
// learning on features, and codes of vectors.
//
// The code is in the folders below, each a package with an essay of its own:
//
//   - dense: Matrix, the row-major view that every package passes on
//   - hadamard, givens: fast orthogonal transforms, each useful alone
//   - orf: frequencies W, independent or orthogonal, behind one interface
//   - kernels: exact kernels and Gram matrices
//   - rff: feature maps φ with φ(x)ᵀφ(y) ≈ k(x, y), and exact ones
//   - performer: softmax attention, exact and in linear time; audits of its errors, layers
//   - ridge: regression with error bars and classification on features
//   - quantise: codes of vectors for search, useful alone
//   - semiseparable: Λ + tril(QKᵀ, −1), useful alone
//   - blas: gonum's BLAS interfaces on fast matrix products, useful alone
//   - validate: is it symmetric, definite, orthogonal, unbiased, how accurate
//   - examples: one runnable program a folder
//
// This package itself holds nothing.
package randfeat
