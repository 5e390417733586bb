package blas

import gonum "gonum.org/v1/gonum/blas"

// Ssyrk computes the upper or lower triangle, as ul says, of the n×n matrix C = alpha·A·Aᵀ + beta·C
// in float32, where A is n×k, or of C = alpha·Aᵀ·A + beta·C, where A is k×n, if tA is Trans or
// ConjTrans. Ssyrk neither reads nor writes the elements of C on the other side of the diagonal,
// and does not read C if beta is 0. The matrix C must not overlap A. Ssyrk panics if gonum's Ssyrk
// panics, and takes between n²·k/2 and n²·k multiply-adds, on up to GOMAXPROCS goroutines.
func (i Implementation) Ssyrk(ul gonum.Uplo, tA gonum.Transpose, n, k int, alpha float32, a []float32, lda int, beta float32, c []float32, ldc int) {
	if k == 0 && beta == 0 {
		alpha = 0
	}
	if !enough(n, n, k) && !gonumReads(ul, tA, float64(beta)) || !syrk(usual, ul, tA, n, k, alpha, a, lda, beta, c, ldc) {
		i.Implementation.Ssyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Dsyrk computes a triangle of C = alpha·A·Aᵀ + beta·C, or with Aᵀ·A, in float64, as Ssyrk does.
func (i Implementation) Dsyrk(ul gonum.Uplo, tA gonum.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int) {
	if k == 0 && beta == 0 {
		alpha = 0
	}
	if !enough(n, n, k) && !gonumReads(ul, tA, beta) || !syrk(usual, ul, tA, n, k, alpha, a, lda, beta, c, ldc) {
		i.Implementation.Dsyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Strsm replaces B (m×n) by alpha·op(A)⁻¹·B in float32 for s = Left, and by alpha·B·op(A)⁻¹ for s =
// Right, where A is triangular and op(A) is A or Aᵀ by the flag tA. Strsm reads only the upper or
// lower triangle ul of A, and if d is Unit not the diagonal, whose elements count as 1. Strsm is a
// blocked substitution, with residuals as small as those of gonum's Strsm, and panics if gonum's
// Strsm panics. Strsm takes about m²·n/2 multiply-adds if s is Left, and m·n²/2 if s is Right, on
// up to GOMAXPROCS goroutines.
func (i Implementation) Strsm(s gonum.Side, ul gonum.Uplo, tA gonum.Transpose, d gonum.Diag, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int) {
	if !enough(m, n, order(s, m, n)) || !(triangular[float32]{own: i.Implementation.Strsm, solve: true, order: usual.triangle, side: s, uplo: ul, tA: tA, diag: d, alpha: alpha}).run(m, n, a, lda, b, ldb) {
		i.Implementation.Strsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Dtrsm replaces B by alpha·A⁻¹·B or alpha·B·A⁻¹, or with Aᵀ, in float64, as Strsm does in float32.
func (i Implementation) Dtrsm(s gonum.Side, ul gonum.Uplo, tA gonum.Transpose, d gonum.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	if !enough(m, n, order(s, m, n)) || !(triangular[float64]{own: i.Implementation.Dtrsm, solve: true, order: usual.triangle, side: s, uplo: ul, tA: tA, diag: d, alpha: alpha}).run(m, n, a, lda, b, ldb) {
		i.Implementation.Dtrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Strmm replaces B (m×n) by alpha·op(A)·B in float32 for s = Left, and by alpha·B·op(A) for s =
// Right, where A is triangular and op(A) is A or Aᵀ by the flag tA. Strmm reads the elements of A
// that Strsm reads, costs as much as Strsm, and panics if gonum's Strmm panics.
func (i Implementation) Strmm(s gonum.Side, ul gonum.Uplo, tA gonum.Transpose, d gonum.Diag, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int) {
	if !enough(m, n, order(s, m, n)) || !(triangular[float32]{own: i.Implementation.Strmm, order: usual.triangle, side: s, uplo: ul, tA: tA, diag: d, alpha: alpha}).run(m, n, a, lda, b, ldb) {
		i.Implementation.Strmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Dtrmm replaces B by alpha·A·B or alpha·B·A, or with Aᵀ, in float64, as Strmm does in float32.
func (i Implementation) Dtrmm(s gonum.Side, ul gonum.Uplo, tA gonum.Transpose, d gonum.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	if !enough(m, n, order(s, m, n)) || !(triangular[float64]{own: i.Implementation.Dtrmm, order: usual.triangle, side: s, uplo: ul, tA: tA, diag: d, alpha: alpha}).run(m, n, a, lda, b, ldb) {
		i.Implementation.Dtrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// gonumReads reports whether gonum's Syrk multiplies C by beta = 0, which keeps NaN and ±Inf of C.
func gonumReads(ul gonum.Uplo, tA gonum.Transpose, beta float64) bool {
	return beta == 0 && ul == gonum.Lower && tA != gonum.NoTrans
}

func order(s gonum.Side, m, n int) int {
	if s == gonum.Left {
		return m
	}
	return n
}

func enough(m, n, k int) bool { return float64(m)*float64(n)*float64(k) >= least }
