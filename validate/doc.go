// Package validate tells whether things are what they claim to be: a matrix symmetric and positive
// semi-definite, a function a kernel or linear, frequencies orthogonal, a random feature map
// unbiased, and how much it varies. It works on this module's kernels and maps and on a user's own
// alike.
//
// Findings are values: a struct with the numbers, a String that says them in words, and, where
// something is broken, the counterexample. Errors are for questions that have no answer: no points,
// NaN where a number is needed, eigenvalues that did not converge.
//
// # Matrices and functions
//
//   - Symmetric: the largest |a_ij − a_ji| and where it is.
//   - Definiteness: the eigenvalues and the verdict positive definite, positive semi-definite or
//     indefinite, with the tolerance n·ε·max|λ| that it used and a vector v with vᵀAv < 0 as
//     witness when it is indefinite. n·ε·max|λ| is the usual threshold of numerical rank [Golub &
//     Van Loan 2013, §5.4.1]: rounding the elements of a matrix may move its eigenvalues by about
//     that much, so a smaller one has no sign.
//   - Kernel: whether a function is finite, symmetric and positive semi-definite on given points,
//     and the pair or the witness that breaks it. By definition a kernel is so on all points; a
//     fault on some is a proof, its absence is evidence.
//   - Orthogonal: the largest |cos| between two rows, and which.
//   - Linear: whether f(x+y) = f(x) + f(y) and f(c·x) = c·f(x) at random points of three
//     magnitudes, or the counterexample.
//
// # Random maps
//
// A random map φ estimates a kernel by φ(x)ᵀφ(y). Over independent draws of the map
//
//   - Measure gives, for each pair of points, the mean estimate, its standard error s and z = (mean
//     − k(x, y))/s, and the mean squared error with its standard error. An unbiased map has |z| < 4
//     but for one pair in 16,000.
//   - Compare does so for several ways to draw, at the same pairs, and states the ratio of their
//     errors to the error of the first with its standard error.
//   - Theory gives the mean and the mean squared error that a map has by its law, where one is
//     known, and Choose ranks candidates by law or by measurement.
//
// Standard errors belong to a mean of independent draws, √(Σ(v−mean)²/(t−1)/t) for t draws, in
// float64. They shrink as 1/√t: to see a bias of size b, take t so that s is well below b/4. Errors
// of heavy-tailed estimates (softmax features of long vectors) are themselves uncertain until t is
// large.
//
// Each result has a Table, filled in the file of the result (compare.go, choose.go) and printed by
// table.go, which other programs read as comma-separated values. Options have a Context that ends a
// measurement early, of which Compare keeps the draws that were made, and a function that follows
// it. Package validate/conformance has the suites that check whether an implementation of your own
// keeps the contract of kernels.Kernel, rff.Map or orf.Projection.
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
