// Package validate checks matrices, kernels and random feature maps, of this module and of your
// own. Each check returns a struct with the numbers, a counterexample if there is one, and a String
// method. A check returns an error if there is no answer: for no points, for NaN in the arguments,
// and for eigenvalues that do not converge.
//
//   - CheckSymmetric: the largest |a_ij − a_ji| and its position.
//   - Definiteness: the eigenvalues. An indefinite matrix A has a vector v with vᵀAv < 0.
//   - CheckKernel: whether a function is finite, symmetric and positive semi-definite on given
//     points. An error that names points, or the verdict Indefinite, proves that it is no kernel.
//   - CheckOrthogonal: the largest |cos| between two rows, and these rows.
//   - Measure draws many maps φ. For each pair of points Measure returns the mean of φ(x)ᵀφ(y), the
//     standard error s of the mean, z = (mean − k(x, y))/s, and the mean squared error with its
//     standard error. An unbiased map has |z| < 4 at all but one pair in 16,000. A bias b is seen
//     with so many draws that s is well below b/4.
//   - Compare measures several ways to draw maps at the same pairs. A Comparison prints a table.
//   - Theory returns the exact mean and mean squared error of a map if its law is known.
//
// Draws run on GOMAXPROCS goroutines and are summed in order: the same source gives the same
// numbers on any number of processors.
//
// Package validate/conformance checks implementations of kernels.Kernel, rff.Map and
// orf.Projection. docs/maps.md and docs/laws.md say which laws are known.
package validate
