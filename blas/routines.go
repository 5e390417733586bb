package blas

import gonum "gonum.org/v1/gonum/blas"

// Ssyrk computes the triangle ul of the n×n matrix C = alpha·op(A)·op(A)ᵀ + beta·C in float32.
// op(A) is A (n×k) for NoTrans, and Aᵀ of a k×n matrix A for Trans and ConjTrans. Ssyrk neither
// reads nor writes the other triangle. Everything else is as for Sgemm. Cost: n²·k/2 multiply-adds.
func (i Implementation) Ssyrk(ul gonum.Uplo, tA gonum.Transpose, n, k int, alpha float32, a []float32, lda int, beta float32, c []float32, ldc int) {
	if k == 0 && beta == 0 {
		alpha = 0
	}
	if !enough(n, n, k) && !gonumReads(ul, tA, float64(beta)) || !syrk(usual, ul, tA, n, k, alpha, a, lda, beta, c, ldc) {
		i.Implementation.Ssyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Dsyrk is Ssyrk in float64.
func (i Implementation) Dsyrk(ul gonum.Uplo, tA gonum.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int) {
	if k == 0 && beta == 0 {
		alpha = 0
	}
	if !enough(n, n, k) && !gonumReads(ul, tA, beta) || !syrk(usual, ul, tA, n, k, alpha, a, lda, beta, c, ldc) {
		i.Implementation.Dsyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Strsm replaces B (m×n) by alpha·op(A)⁻¹·B in float32 for s = Left, and by alpha·B·op(A)⁻¹ for s =
// Right, where A is triangular. Strsm reads only the triangle ul of A, and for d = Unit not its
// diagonal. Strsm halves A down to order 16; gonum's routine solves with the blocks on the
// diagonal, and matrix products do the rest. Strsm is a substitution in blocks, with residuals as
// small as gonum's. The results agree with gonum's to rounding, and do not depend on GOMAXPROCS.
// Strsm panics as gonum's Strsm does. Cost: m²·n/2 multiply-adds for Left, m·n²/2 for Right, on up
// to GOMAXPROCS goroutines.
func (i Implementation) Strsm(s gonum.Side, ul gonum.Uplo, tA gonum.Transpose, d gonum.Diag, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int) {
	if !enough(m, n, order(s, m, n)) || !(triangular[float32]{own: i.Implementation.Strsm, solve: true, order: usual.triangle, side: s, uplo: ul, tA: tA, diag: d, alpha: alpha}).run(m, n, a, lda, b, ldb) {
		i.Implementation.Strsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Dtrsm is Strsm in float64.
func (i Implementation) Dtrsm(s gonum.Side, ul gonum.Uplo, tA gonum.Transpose, d gonum.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	if !enough(m, n, order(s, m, n)) || !(triangular[float64]{own: i.Implementation.Dtrsm, solve: true, order: usual.triangle, side: s, uplo: ul, tA: tA, diag: d, alpha: alpha}).run(m, n, a, lda, b, ldb) {
		i.Implementation.Dtrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Strmm replaces B (m×n) by alpha·op(A)·B in float32 for s = Left, and by alpha·B·op(A) for
// s = Right, where A is triangular. Everything else is as for Strsm.
func (i Implementation) Strmm(s gonum.Side, ul gonum.Uplo, tA gonum.Transpose, d gonum.Diag, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int) {
	if !enough(m, n, order(s, m, n)) || !(triangular[float32]{own: i.Implementation.Strmm, order: usual.triangle, side: s, uplo: ul, tA: tA, diag: d, alpha: alpha}).run(m, n, a, lda, b, ldb) {
		i.Implementation.Strmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Dtrmm is Strmm in float64.
func (i Implementation) Dtrmm(s gonum.Side, ul gonum.Uplo, tA gonum.Transpose, d gonum.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	if !enough(m, n, order(s, m, n)) || !(triangular[float64]{own: i.Implementation.Dtrmm, order: usual.triangle, side: s, uplo: ul, tA: tA, diag: d, alpha: alpha}).run(m, n, a, lda, b, ldb) {
		i.Implementation.Dtrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// gonumReads reports whether gonum's Syrk multiplies C by beta = 0, which keeps NaN and ±Inf of C.
func gonumReads(ul gonum.Uplo, tA gonum.Transpose, beta float64) bool {
	return beta == 0 && ul == gonum.Lower && tA != gonum.NoTrans
}

// order returns the order of a square matrix that multiplies an m×n matrix from side s.
func order(s gonum.Side, m, n int) int {
	if s == gonum.Left {
		return m
	}
	return n
}

// enough reports whether a product of m·n·k multiply-adds is faster here than in gonum.
func enough(m, n, k int) bool { return float64(m)*float64(n)*float64(k) >= least }
