// Package orf draws the frequencies of random features: a matrix W whose m rows w_k ∈ R^d are,
// exactly or nearly, standard Gaussian vectors, and which a Projection applies to data as XWᵀ. Draw
// draws the matrix from the law that an Ensemble names:
//
//	w, err := orf.Draw[float64](orf.GramSchmidt{}, m, d, src)
//
// A random feature map estimates a kernel by an average over frequencies, K(x, y) ≈ (1/m)·Σ_k
// f(w_kᵀx)·g(w_kᵀy). With frequencies that are orthogonal to each other, each still Gaussian on its
// own, the mean is the mean with independent frequencies, and the variance falls for most kernels
// of interest [Yu et al. 2016], [Choromanski et al. 2017]. With structured frequencies the cost of
// a projection also falls, from O(m·d) to O(m·log d) per point.
//
// # Ensembles
//
//	               rows of a block         each row       Project of n points    to draw
//	IID            independent             Gaussian       O(n·m·d)               O(m·d)
//	GramSchmidt    exactly orthogonal      Gaussian       O(n·m·d)               O(m·d²)
//	Simplex        at arccos(−1/(d−1))     Gaussian       O(n·m·d)               O(m·d²)
//	Hadamard       exactly orthogonal (1)  nearly         O(n·m·log d)           O(m)
//	Givens         exactly orthogonal      nearly         O(n·m·log d)           O(m·log d)
//	Halton         dependent (2)           Gaussian       O(n·m·d)               O(m·d·log m)
//	Cauchy         independent             Cauchy (3)     O(n·m·d)               O(m·d)
//
// (1) if d is an order that hadamard.FastOrder keeps, such as 12, 16, 20, 24, 32 or 96. Otherwise W
// is d columns of an orthogonal block of the next such order d'.
//
// (2) no blocks: all m frequencies depend on each other.
//
// (3) independent coordinates, for the Laplacian kernel alone.
//
// At most d vectors of R^d are orthogonal. m > d stacks independent blocks of d rows (d' in
// Hadamard), and the last block keeps its first m mod d rows. With an equal source, the frequencies
// for m are the first m frequencies for a larger m (to rounding in GramSchmidt and Simplex).
//
// FromMatrix makes a projection of your own frequencies. Simplex has less variance than GramSchmidt
// for positive features exp(wᵀx), and more for features that are equal at w and −w, such as
// cosines. Halton helps where d is below ten or so. Where d is large Hadamard costs least.
// docs/frequencies.md has the laws of directions and lengths, and why FixedLength biases kernels.
//
// # Sizes
//
// Numbers that would take more than 2⁴⁰ bytes, or 2³⁰ on 32-bit systems, are too large: the error
// names the argument and the size. Structured frequencies take less than m·d elements.
//
// # Files
//
// Write writes a projection as a safetensors file, and Read reads the file. Structured projections
// keep their speed. Package rff writes projections as parts of maps.
//
// # Randomness and precision
//
// Draw draws everything from the given math/rand/v2 rand.Source, which Draw does not keep. Draws
// are made in float64 and rounded once, so that the float32 object of a seed is the rounded float64
// object.
//
// # Projecting
//
// Project(dst, x) writes XWᵀ (n×m) for the n×d matrix x. ProjectTransposed(dst, z) of a Transposer,
// as all projections of this package are, writes ZW (n×d) for the n×m matrix z, at the cost of
// Project. If z has the gradients of a loss with respect to the projections of some points, ZW has
// the gradients with respect to the points. The result for a row does not depend on other rows nor
// on GOMAXPROCS. Frequencies returns W, equal to what Project applies up to rounding. If a row of x
// holds NaN or ±Inf, no element of its projection is finite. A shape that does not fit panics with
// both shapes; bad arguments of Draw and FromMatrix are errors. Projections do not allocate once
// they have run with a dst.
//
// A Projection never changes, and goroutines may share it.
//
// # References
//
//   - [Choromanski et al. 2017] K. Choromanski, M. Rowland, A. Weller: The unreasonable
//     effectiveness of structured random orthogonal embeddings. NIPS 2017.
//   - [Choromanski et al. 2018] K. Choromanski, M. Rowland, T. Sarlós, V. Sindhwani, R. Turner, A.
//     Weller: The geometry of random features. AISTATS 2018.
//   - [Demni and Kadri 2024] N. Demni, H. Kadri: Orthogonal random features: explicit forms and
//     sharp inequalities. Transactions on Machine Learning Research, 2024.
//   - [Mezzadri 2007] F. Mezzadri: How to generate random matrices from the classical compact
//     groups. Notices of the AMS 54(5), 2007.
//   - [Owen 2017] A. B. Owen: A randomized Halton algorithm in R. arXiv:1706.02808.
//   - [Rahimi and Recht 2007] A. Rahimi, B. Recht: Random features for large-scale kernel machines.
//     NIPS 2007.
//   - [Reid et al. 2023] I. Reid, K. Choromanski, V. Likhosherstov, A. Weller: Simplex random
//     features. ICML 2023.
//   - [Yang et al. 2014] J. Yang, V. Sindhwani, H. Avron, M. Mahoney: Quasi-Monte Carlo feature
//     maps for shift-invariant kernels. ICML 2014.
//   - [Yu et al. 2016] F. X. Yu, A. T. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar:
//     Orthogonal random features. NIPS 2016.
package orf
