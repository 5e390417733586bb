// Package validate tells whether a matrix is symmetric and positive semi-definite, whether a
// function is a kernel or linear, whether frequencies are orthogonal, whether a random feature map
// is unbiased, and how much its estimates vary. It works on the kernels and maps of this module and
// on your own.
//
// Each check returns a struct with the numbers, a counterexample if there is one, and a String
// method that says the result in words. Errors are for questions without an answer: no points, NaN
// in place of a number, eigenvalues that did not converge.
//
// # Matrices and functions
//
//   - CheckSymmetric: the largest |a_ij − a_ji| and where it is.
//   - Definiteness: the eigenvalues and the verdict positive definite, positive semi-definite or
//     indefinite, with the tolerance n·ε·max|λ| that it used and a vector v with vᵀAv < 0 as
//     witness when it is indefinite. n·ε·max|λ| is the usual threshold of numerical rank [Golub &
//     Van Loan 2013, §5.4.1]: rounding the elements of a matrix may move its eigenvalues by about
//     that much, so a smaller one has no sign.
//   - CheckKernel: whether a function is finite, symmetric and positive semi-definite on given points,
//     and the pair or the witness that breaks it. By definition a kernel is all this on all points.
//     So a fault on some points is a proof, and no fault is evidence.
//   - CheckOrthogonal: the largest |cos| between two rows, and which.
//   - CheckLinear: whether f(x+y) = f(x) + f(y) and f(c·x) = c·f(x) at random points of three
//     magnitudes, or the counterexample.
//
// # Random maps
//
// A random map φ estimates a kernel by φ(x)ᵀφ(y). Over independent draws of the map
//
//   - Measure gives, for each pair of points, the mean estimate, its standard error s and z = (mean
//     − k(x, y))/s, and the mean squared error with its standard error. An unbiased map has |z| < 4
//     at all but one pair in 16,000.
//   - Compare measures several ways to draw at the same pairs. It states the ratio of each error to
//     the error of the first, with its standard error.
//   - Theory gives the exact mean and mean squared error of a map if its law is known.
//
// Package performer/audit measures errors of the outputs of attention, and chooses attention within a
// tolerance. Package ridge chooses maps for regression.
//
// Standard errors belong to a mean of independent draws, √(Σ(v−mean)²/(t−1)/t) for t draws, in
// float64. They shrink as 1/√t: to see a bias of size b, take t so that s is well below b/4. Errors
// of heavy-tailed estimates (softmax features of long vectors) are themselves uncertain until t is
// large.
//
// Each result has a Table (table.go), which prints in columns and as comma-separated values for
// other programs. A context ends a measurement early, and Options have a function that
// follows progress. Compare keeps the draws that were made before the end. Package
// validate/conformance has the suites that check whether an implementation of your own keeps the
// contract of kernels.Kernel, rff.Map or orf.Projection.
//
// Draws run on GOMAXPROCS goroutines, each from a source of its own that is seeded from yours in
// order, and are summed in order: the same source gives the same numbers on any number of
// processors.
//
// # References
//
//   - [Golub & Van Loan 2013] G. H. Golub, C. F. Van Loan. Matrix Computations, 4th ed. Johns
//     Hopkins University Press.
package validate
