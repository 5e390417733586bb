// Package validate checks matrices, kernels and random feature maps, of this module and of your
// own:
//
//   - CheckSymmetric: the largest |a_ij − a_ji| and its position.
//   - Definiteness: the eigenvalues, whether a matrix is positive (semi-)definite, and a witness.
//   - CheckKernel: whether a function is finite, symmetric and positive semi-definite on points. A
//     fault is a proof that a function is no kernel; no fault is evidence for a kernel.
//   - CheckOrthogonal: the largest |cos| between two rows.
//   - Measure: draws many maps. For each pair of points it returns the mean estimate, the standard
//     error s of the mean, z = (mean − k(x, y))/s, and the mean squared error. An unbiased map has
//     |z| < 4 at all but one pair in 16,000.
//   - Compare: measures several ways to draw maps, and returns the ratios of their errors.
//   - Theory: the exact mean and mean squared error of a map if its law is known.
//
// Each check returns a struct with the numbers, a counterexample if there is one, and a String
// method. A check returns an error if there is no answer: for no points, for NaN in the arguments,
// and for eigenvalues that do not converge. Package validate/conformance checks whether your
// implementation keeps the contract of kernels.Kernel, rff.Map or orf.Projection.
//
// A standard error of a mean of t draws is √(Σ(v−mean)²/(t−1)/t). To see a bias of size b, choose t
// so that s is well below b/4. Standard errors of heavy-tailed errors, such as those of softmax
// features of long vectors, are uncertain until t is large. Draws run on GOMAXPROCS goroutines and
// are summed in order: one source gives the same numbers on any number of processors.
package validate
