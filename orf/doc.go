// Package orf draws the frequencies of random features: a matrix W whose m rows w_k ∈ R^d are,
// exactly or nearly, standard Gaussian vectors, and which a Projection applies to data as XWᵀ:
//
//	w, err := orf.Draw[float64](orf.GramSchmidt{}, m, d, src)
//	z := w.Project(dense.Matrix[float64]{}, x)
//
// Orthogonal Gaussian frequencies lower the variance of estimates of most kernels [Yu et al. 2016].
//
//	Ensemble       rows of a block         each row       Project of n points    to draw
//	IID            independent             Gaussian       O(n·m·d)               O(m·d)
//	GramSchmidt    orthogonal              Gaussian       O(n·m·d)               O(m·d²)
//	Simplex        at arccos(−1/(d−1))     Gaussian       O(n·m·d)               O(m·d²)
//	Hadamard       orthogonal              nearly         O(n·m·log d)           O(m)
//	Givens         orthogonal              nearly         O(n·m·log d)           O(m·log d)
//	Halton         all dependent           Gaussian       O(n·m·d)               O(m·d·log m)
//	Cauchy         independent             Cauchy         O(n·m·d)               O(m·d)
//
// Draws are made in float64 and rounded once. A Projection never changes: goroutines may share a
// Projection. The result for a row depends neither on other rows nor on GOMAXPROCS. A NaN or
// infinite coordinate of a point x leaves no element of Wx finite. The error of a function reports
// nil laws, projections and sources, NaN and infinite numbers, shapes that do not fit, and
// frequencies too large for memory. docs/frequencies.md says which ensemble when, and has laws;
// docs/references.md has the papers.
package orf
