// Package blas runs gonum's linear algebra on the matrix products of this module.
//
// [Implementation] satisfies the interfaces blas.Float32 and blas.Float64 of gonum. After
//
//	blas32.Use(blas.Implementation{})
//	blas64.Use(blas.Implementation{})
//
// Gemm, Gemv, Syrk, Trsm and Trmm of packages blas32, blas64, lapack64 and mat run on
// Implementation, and so do the blocked factorisations: Cholesky, QR, SVD and eigenvalues. A
// program may also call the methods of Implementation directly.
//
// The products use AVX-512, AVX2 or NEON with fused multiply-adds where the processor has them, and
// pure Go elsewhere. BENCHMARKS.md compares them with gonum's.
//
// # Only a program calls Use
//
// blas64.Use sets the implementation of lapack64 and mat for the whole program. No package of this
// module calls Use, because the results of other parts of the program would change in their last
// bits. Package ridge has its own Cholesky factorisation on the products of this module, because
// the factorisation decides its time. Other packages call gonum for QR, eigenvalues, SVD and small
// Cholesky factorisations, once for a map or for frequencies. These calls become faster if the
// program calls blas64.Use, and not otherwise.
package blas
