// Package semiseparable solves and inverts the matrix
//
//	T = Λ + tril(QKᵀ, −1)  (n×n)
//
// that has λ_0 … λ_{n−1} on its diagonal and the inner products q_iᵀk_j of the rows of Q and K,
// both n×d, below the diagonal. T is lower triangular: a diagonal plus the strictly lower triangle
// of a product. The n²/2 elements of T depend on 2nd+n numbers alone. For this reason T⁻¹V takes
// O(n) operations instead of O(n²), and T⁻¹ takes O(n²) instead of O(n³). The outputs of attention
// by the delta rule solve such a system [Schlag et al. 2021; Yang et al. 2024]; package
// performer/recurrence computes this attention, with decays and strengths.
//
//	m := semiseparable.Matrix[float32]{Q: q, K: k} // λ = 1
//	y, err := m.Solve(dense.Matrix[float32]{}, v)
//
// The upper-triangular matrix Λ + triu(QKᵀ, 1) is the transpose of Λ + tril(KQᵀ, −1). Solve its
// systems by
//
//	y, err := semiseparable.Matrix[float32]{Diag: diag, Q: k, K: q}.SolveTransposed(dst, v)
//
// docs/packages.md has the recursions of Solve, Inverse and SolveTransposed.
//
// # Cost
//
// Multiply-adds, and memory beyond the result:
//
//	Solve, SolveTransposed   n·(2dp + c·(d + p/2))   O((d+c)·p + w·c²)
//	Inverse                  n²·d                    O(n·d)
//
// Chunks have c = 48 rows, and at most w = 16 chunks are in memory at a time. Methods of Matrix
// that take a dst keep their working memory for later calls: after the first call of a size they
// allocate nothing if dst is given. All methods use GOMAXPROCS processors. Results do not depend on
// the number of processors, because work is cut by size and sums have a fixed order.
//
// # When it is stable
//
// Solve has a small backward error for every T: Y solves exactly a system with q_il·k_jl, λ_i and
// v_i that are each off by a few units of rounding [Oettli and Prager 1964]. Solve inverts a
// triangle, of order 16 at most, only if the condition numbers ‖|T⁻¹||T|‖ in the ∞-norm and
// ‖|T||T⁻¹|‖ in the 1-norm are at most 1024, as in the delta rule. Solve treats chunks with other
// triangles row by row, which is slower.
//
// Inverse has a residual T·T⁻¹ − I that grows with the condition number of chunks of 128 rows.
// Inverse checks the residual at a vector of random signs, in O(n²) [Freivalds 1979], and returns a
// *ResidualError if the residual is beyond rounding.
//
// The distance from Y to the solution is a property of T alone: the condition number ‖T‖·‖T⁻¹‖.
//
//   - The delta rule, q_i = β_i·k_i with unit keys, 0 ≤ β_i ≤ 2 and λ = 1, is well behaved. Row i
//     of the recursion replaces the memory M = Z by (I − β_i·k_i·k_iᵀ)·M + k_i·v_iᵀ, and the factor
//     has norm 1: Z grows at most linearly in n, and does not grow at all where the factors
//     contract.
//   - Independent q_i and k_i are badly behaved. Products of the factors I − k_i·q_iᵀ grow
//     exponentially as a rule: for d = 8 and standard normal elements, float32 overflows after some
//     hundred rows. The solution itself is that large, for every method.
//   - If |λ_i| is small beside |q_iᵀk_j|, the solution grows by about their ratio at every row.
//
// Overflow is an error. A result that is not finite is an *OverflowError. An argument that is not
// finite, or a diagonal element by which T cannot be divided, is an *ElementError, which names the
// argument and the row. The checks cost next to nothing, because NaN and ±Inf stay in Z. Results
// without an error are finite.
//
// # Sharing
//
// Methods do not change a Matrix, and goroutines may share it. A method panics with both shapes if
// they do not fit.
//
// # References
//
//   - [Freivalds 1979] R. Freivalds: Fast probabilistic algorithms. MFCS 1979.
//   - [Oettli and Prager 1964] W. Oettli, W. Prager: Compatibility of approximate solution of
//     linear equations with given error bounds for coefficients and right-hand sides. Numerische
//     Mathematik 6.
//   - [Schlag et al. 2021] I. Schlag, K. Irie, J. Schmidhuber: Linear transformers are secretly
//     fast weight programmers. ICML 2021.
//   - [Vandebril et al. 2008] R. Vandebril, M. Van Barel, N. Mastronardi: Matrix Computations and
//     Semiseparable Matrices, volume 1. Johns Hopkins University Press 2008.
//   - [Yang et al. 2024] S. Yang, B. Wang, Y. Zhang, Y. Shen, Y. Kim: Parallelizing linear
//     transformers with the delta rule over sequence length. NeurIPS 2024.
package semiseparable
