// Package semiseparable solves and inverts the matrix
//
//	T = Λ + tril(QKᵀ, −1)  (n×n)
//
// that has λ_0 … λ_{n−1} on its diagonal and the inner products q_iᵀk_j of the rows of Q and K,
// both n×d, below the diagonal. For n rows, T⁻¹V takes O(n) operations instead of O(n²), and T⁻¹
// takes O(n²) instead of O(n³). The outputs of attention by the delta rule, which package
// performer/recurrence computes, solve such a system.
//
//	m := semiseparable.Matrix[float32]{Q: q, K: k} // λ = 1
//	y, err := m.Solve(dense.Matrix[float32]{}, v)
//
// The upper-triangular matrix Λ + triu(QKᵀ, 1) is the transpose of Λ + tril(KQᵀ, −1):
//
//	y, err := semiseparable.Matrix[float32]{Diag: diag, Q: k, K: q}.SolveTransposed(dst, v)
//
// A result that is not finite is an *[OverflowError]. An argument that is not finite, or a diagonal
// element by which T cannot be divided, is an *[ElementError]. Methods panic with both shapes if
// the shapes do not fit. Goroutines may share a Matrix. Results do not depend on GOMAXPROCS. After
// the first call of a size, methods that take a dst allocate nothing if dst is given.
//
// docs/packages.md of this module has the recursions, the cost, the stability and the references.
package semiseparable
