// Package orf draws the frequencies of random features: a matrix W whose m rows w_k ∈ R^d are,
// exactly or nearly, standard Gaussian vectors, and which a Projection applies to data as XWᵀ:
//
//	w, err := orf.Draw[float64](orf.GramSchmidt{}, m, d, src)
//	z := w.Project(dense.Matrix[float64]{}, x)
//
// A feature map averages over frequencies. Orthogonal frequencies that are each Gaussian keep the
// mean of the estimate and lower the variance of most kernels [Yu et al. 2016].
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
// FromMatrix takes frequencies of your own. Write and Read store projections in files. Draws are
// made in float64 and rounded once. A Projection never changes: goroutines may share a Projection.
// The result for a row depends neither on other rows nor on GOMAXPROCS. NaN or ±Inf in a row of x
// leaves no element of the projected row finite.
//
// docs/frequencies.md says which ensemble when, and has laws; docs/references.md has the papers.
package orf
