// Package orf draws the frequencies of random features: a matrix W whose m rows w_k ∈ R^d are,
// exactly or nearly, standard Gaussian vectors, and which a Projection applies to data as XWᵀ. Draw
// draws them from the law that an Ensemble names:
//
//	w, err := orf.Draw[float64](orf.GramSchmidt{}, m, d, src)
//
// A random feature map estimates a kernel by an average over frequencies, K(x, y) ≈ (1/m)·Σ_k
// f(w_kᵀx)·g(w_kᵀy). With independent frequencies this is plain Monte Carlo. With frequencies that
// are orthogonal to each other, each still Gaussian on its own, the mean does not change and the
// variance falls for most kernels of interest [Yu et al. 2016], [Choromanski et al. 2017]. With
// structured frequencies the cost of a projection also falls, from O(m·d) to O(m·log d) per point.
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
// (1) when d is an order that hadamard.FastOrder keeps: 1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48, 64,
// 80, 96, … Otherwise W is d columns of an orthogonal block of the next such order d'.
//
// (2) and no blocks: all m frequencies depend on each other.
//
// (3) independent coordinates, for the Laplacian kernel alone.
//
// FromMatrix makes a projection of your own frequencies. IID is the baseline. The theory of
// orthogonal features is about GramSchmidt. Hadamard and Givens never form W: they replace the
// random rotation by products of fast rotations, and project by applying the product, picking rows
// and scaling them.
//
// The best ensemble depends on the kernel. Simplex has less variance than GramSchmidt for positive
// features exp(wᵀx), and more for features that are equal at w and −w, such as cosines. Halton
// helps where d is below ten or so, and most where it is 1 to 4: at d = 2 and m = 64 the variance
// of the Gaussian kernel is an eighth of the variance with IID. Where d is large Hadamard costs
// least.
//
// The projections of Draw are Drawn: they have a method Ensemble, which returns the law of their
// frequencies.
//
// # Blocks
//
// At most d vectors of R^d are orthogonal, or corners of a simplex about 0. m > d stacks
// independent blocks of d rows (d' in Hadamard), and the last block keeps its first m mod d rows.
// An m below d keeps the first m rows of one block. Hadamard and Givens permute the rows of a block
// at random first, because the leading rows are not like the others. Draws are made block by block
// and row by row: with an equal source, the frequencies for m are the first m frequencies for a
// larger m (to rounding in GramSchmidt and Simplex). The same holds for the points of Halton.
//
// # Lengths
//
// The norm of a standard Gaussian vector of R^d has the law χ(d). Directions of unit length are
// therefore scaled by independent draws from χ(d) (χ(d') for Hadamard, whose vectors are nearly
// Gaussian in R^d' and then restricted to R^d). The norms of the rows of the Gaussian matrix G = QR
// would not do: they are correlated with the rows of Q, and features such as cosh(w·x) would be
// biased.
//
// FixedLength gives every row the length √d (√d' of the padded R^d' in Hadamard), the root mean
// square. The variance of the dot-product kernel falls, and kernels that depend on the law of ‖w‖
// are biased. For the Gaussian kernel and directions uniform on the sphere, with q = ‖x−y‖², the
// mean of the estimate becomes
//
//	₀F₁(; d/2; −d·q/4)   instead of   exp(−q/2)
//
// [Demni and Kadri 2024], a Bessel function that tends to exp(−q/2) as d grows and also takes
// negative values: 0.156 instead of 0.223 at d = 8 and q = 3. Sign features, which ignore lengths,
// are not affected.
//
// # The Haar law
//
// GramSchmidt factorises a Gaussian matrix by Householder reflections, as LAPACK does. Q is then
// orthogonal but not uniformly distributed: the signs on the diagonal of R are chosen for numerical
// stability and depend on Q. The unique factorisation with a positive diagonal has Haar-distributed
// Q, so each column is multiplied by the sign of its R_jj [Mezzadri 2007]. Cosine features, which
// are even in w, hide the omission; positive features exp(w·x) are biased, most of all in the
// direction (1, …, 1).
//
// # Point sets
//
// Halton takes points that cover [0, 1]^d evenly through the inverse of the normal distribution
// function: quasi-Monte Carlo [Yang et al. 2014]. The points are randomised such that each by
// itself is uniform: means are exact for every m, and the spread over seeds tells the error.
// (Points of the deterministic sequences are not uniform, and the first is 0, which the inverse
// takes to infinity.)
//
// # Sizes
//
// Numbers that would take more than 2⁴⁰ bytes, or 2³⁰ on 32-bit systems, are too large: the error
// says which and how much that would be. Structured frequencies take less than their m·d elements.
//
// # Files
//
// Write writes a projection as a safetensors file, and Read reads it: the matrix of frequencies, or
// the signs, permutations, rotations and lengths of structured ones, which keep their speed.
// Package rff writes projections as parts of maps, and lists their arrays.
//
// # Randomness and precision
//
// Everything is drawn at construction from the given math/rand/v2 rand.Source, which is not kept; a
// source from golang.org/x/exp/rand is one too. Draws are made in float64 and rounded once, so that
// the float32 object of a seed is the rounded float64 object: its frequencies in IID, GramSchmidt,
// Simplex, Halton and Cauchy, its signs, cosines, sines and lengths in Hadamard and Givens.
//
// # Projecting
//
// Project(dst, x) writes XWᵀ (n×m) for the n×d matrix x. The result for a row does not depend on
// the rows beside it nor on GOMAXPROCS. Frequencies() returns W, equal to what Project applies up
// to rounding. If a row of x holds NaN or ±Inf, no element of its projection is finite. A shape
// that does not fit panics with both shapes; bad arguments of Draw and FromMatrix are errors.
//
// A Projection never changes and may be shared by goroutines.
//
// # Projecting back
//
// The projections of this package are also Transposers: ProjectTransposed(dst, z) writes ZW (n×d)
// for the n×m matrix z. If a loss has the gradients z with respect to the projections of some
// points, these are its gradients with respect to the points. Hadamard and Givens scatter lengths·z
// into images of the blocks, apply the transposed rotations and sum the blocks in order, at the
// cost of Project; the others multiply by W, and the first call makes another copy of W.
// ProjectTransposed keeps the rules of Project for rows, GOMAXPROCS, NaN and shapes. Neither
// direction allocates once it has run with a dst.
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
