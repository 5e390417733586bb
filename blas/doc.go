// Package blas runs gonum's linear algebra on the matrix products of this module.
//
// [Implementation] satisfies the interfaces blas.Float32 and blas.Float64 of gonum. After
//
//	blas32.Use(blas.Implementation{})
//	blas64.Use(blas.Implementation{})
//
// every product of packages blas32, blas64, lapack64 and mat runs on it. Its methods may also be
// called by themselves.
//
// The products use AVX-512, AVX2 or NEON with fused multiply-adds where the processor has them, and
// pure Go elsewhere. gonum's own float32 products took more than ten times as long for 512×512 matrices
// on two cores with AVX-512 (go test -bench Gemm ./blas).
package blas
