// Package blas runs gonum's linear algebra on the matrix products of this module, which use
// AVX-512, AVX2 or NEON where the processor has them, and pure Go elsewhere. [Implementation]
// satisfies the interfaces blas.Float32 and blas.Float64 of gonum. After
//
//	blas32.Use(blas.Implementation{})
//	blas64.Use(blas.Implementation{})
//
// packages blas32, blas64, lapack64 and mat use Implementation, and so do the blocked
// factorisations: Cholesky, QR, SVD and eigenvalues.
//
// No package of this module calls Use, because the results of other parts of the program would
// change in their last bits. Packages of this module call gonum for QR, eigenvalues, SVD and small
// Cholesky factorisations, which become faster if the program calls blas64.Use.
package blas
