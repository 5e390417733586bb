// Package validate checks matrices, kernels and random feature maps, of this module and of your
// own. Is a matrix symmetric and positive semi-definite? Is a function a kernel? Are frequencies
// orthogonal? Is a random map unbiased, and what is its variance?
//
// Each check returns a struct with the numbers, a counterexample if there is one, and a String
// method that describes the result. A check returns an error if there is no answer: for no points,
// for NaN in the arguments, and for eigenvalues that do not converge.
//
// # Matrices and functions
//
//   - CheckSymmetric: the largest |a_ij − a_ji| and its position.
//   - Definiteness: the eigenvalues, and whether the matrix is positive definite, positive
//     semi-definite or indefinite. An indefinite matrix A has a vector v with vᵀAv < 0 as witness.
//     The tolerance is n·ε·max|λ|, the usual threshold of numerical rank [Golub & Van Loan 2013,
//     §5.4.1]: rounding of the elements may move eigenvalues by about that much, so that a smaller
//     eigenvalue has no sign.
//   - CheckKernel: whether a function is finite, symmetric and positive semi-definite on given
//     points, with the pair or the witness that fails. A kernel has these properties on all points.
//     So a fault is a proof that a function is no kernel, and no fault is evidence for a kernel.
//   - CheckOrthogonal: the largest |cos| between two rows, and these rows.
//
// # Random maps
//
// A random map φ estimates a kernel by φ(x)ᵀφ(y).
//
//   - Measure draws many maps. For each pair of points it returns the mean estimate, the standard
//     error s of the mean, z = (mean − k(x, y))/s, and the mean squared error with its standard
//     error. An unbiased map has |z| < 4 at all but one pair in 16,000.
//   - Compare measures several ways to draw maps at the same pairs. It returns the ratio of each
//     error to the first error, with its standard error.
//   - Theory returns the exact mean and mean squared error of a map if its law is known.
//
// Package performer/audit measures errors of the outputs of attention, and chooses attention within
// a tolerance. Package ridge chooses maps for regression.
//
// A standard error is the standard error of a mean of t independent draws, √(Σ(v−mean)²/(t−1)/t),
// in float64. Standard errors shrink as 1/√t: to see a bias of size b, choose t so that s is well
// below b/4. The errors of heavy-tailed estimates, such as softmax features of long vectors, are
// themselves uncertain until t is large.
//
// A Comparison has a Table, which prints in columns. Package validate/conformance checks whether
// your implementation keeps the contract of kernels.Kernel, rff.Map or orf.Projection.
//
// Draws run on GOMAXPROCS goroutines, each with its own source, and are summed in order. So the
// same source gives the same numbers on any number of processors.
//
// # References
//
//   - [Golub & Van Loan 2013] G. H. Golub, C. F. Van Loan. Matrix Computations, 4th ed. Johns
//     Hopkins University Press.
package validate
