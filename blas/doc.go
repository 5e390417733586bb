// Package blas runs gonum's linear algebra on the matrix products of this module.
//
// [Implementation] satisfies the interfaces blas.Float32 and blas.Float64 of gonum. After
//
//	blas32.Use(blas.Implementation{})
//	blas64.Use(blas.Implementation{})
//
// Gemm, Syrk, Symm, Trsm and Trmm of packages blas32, blas64, lapack64 and mat run on it, and with
// them the factorisations in blocks: Cholesky, QR, SVD and eigenvalues. Its methods may also be
// called by themselves.
//
// The products use AVX-512, AVX2 or NEON with fused multiply-adds where the processor has them, and
// pure Go elsewhere. BENCHMARKS.md compares them with gonum's.
//
// # The setting is the program's
//
// gonum's lapack64 and mat take the implementation of blas64 that the program has set, for all
// goroutines: no call of them can bring its own. No package of this module sets it, because results
// elsewhere in the program would change in their last bits. The Cholesky factorisations of package
// ridge, which decide its time, are its own, on the products of this module. Other packages call
// gonum for QR, eigenvalues, SVD and small Cholesky factorisations, once for a map or for
// frequencies: these calls gain when the program has called blas64.Use, and not otherwise.
package blas
