// Package recurrence computes attention as a recurrence. Each token updates a state matrix by a
// rule (linear, gated, delta or gated_delta), and the query of the token reads the matrix, without
// a denominator. The package is the operator LinearAttention of ONNX.
//
// # Rules
//
// A head of keys has the state S (dk×dv). A [Rule] updates S with a token of key k, value v, decay
// g and strength β. The query q of the token then gives the output scale·Sᵀq:
//
//	linear:       S ← S + k·vᵀ
//	gated:        S ← e^g∘S + k·vᵀ
//	delta:        S ← S + k·uᵀ,  u = β·(v − Sᵀk)
//	gated_delta:  S ← e^g∘S, then as delta
//
// The linear rule adds v to Sᵀk. The delta rule moves Sᵀk towards v [Schlag et al. 2021]: the
// update is a step of gradient descent on ½‖Sᵀk − v‖². With ‖k‖ = 1 and β = 1 the update makes Sᵀk
// = v. A decay g ≤ 0 shrinks S, by one factor per head or by one factor per row of S.
//
//	opts := recurrence.Options{Heads: heads, Rule: recurrence.Delta, NormaliseKeys: true}
//	r, err := recurrence.New[float32](opts)
//	out := r.Forward(dst, recurrence.Tokens[float32]{Q: q, K: k, V: v, Beta: beta}, past, present)
//
// A [State] is the recurrence over a stream, which arrives token by token or in chunks. States of
// the linear and gated rules can be merged, in order. States of the delta rules cannot be merged,
// because the update by a token depends on all tokens before it.
//
// # Tokens
//
// A token reads Sᵀk, adds k·uᵀ to S and reads Sᵀq, all in one pass over the rows of S. When token t
// passes row i, u_t is known. The pass updates the row, adds the row to the output of token t, and
// adds the row to r, the product Sᵀk of token t + 1:
//
//	S_i ← e^g_ti·S_i + k_ti·u_t,  o_t ← o_t + q_ti·S_i,  r ← r + k_(t+1)i·S_i
//
// After the pass o_t is complete, and u_(t+1) = β·(v − e^g·r). If each row has its own decay, the
// coefficients of r include e^g, and u_(t+1) = β·(v − r). Columns of S are independent. So S is
// divided into panels of columns that fit the first cache, and NaN or ±Inf in a column reaches that
// column alone. The rules without a correction update rows independently. For these rules a chunk
// of tokens passes 64 rows before the next 64, and a row stays in registers for four tokens unless
// rows have their own decays.
//
// Multiplying S by e^g for each token accumulates rounding errors, for thousands of tokens if g is
// near 0. In a chunk of 48 tokens whose decays are at most 0 and sum to at least −2, S is therefore
// stored as D∘Ŝ with D = e^b and b the sum of the decays so far. A token adds (k∘e^−b)·uᵀ to Ŝ and
// reads Ŝ with e^b∘k and e^b∘q. No token multiplies Ŝ, and b is never below −4. The rules without a
// correction store Ŝ in two parts, the newest tokens and all older tokens. After 240 tokens the
// newer part is added to the older part, so that a token is added to a small matrix.
//
// # Gradients
//
// [Recurrence.Backward] goes back in chunks of 48 tokens, with products of matrices instead of
// passes [Yang et al. 2024; 2025]. The forward pass has stored the state before each chunk. Let S
// be the state before the chunk, K, Q and V the rows of the chunk, and b_i = g_0 + … + g_i. The
// state at token i is
//
//	S_i = e^b_i∘S + Σ_{j<i} (e^(b_i − b_j)∘k_j)·u_jᵀ
//
// and u_i = β_i·e_i with e_i = v_i − S_iᵀk_i. With M_ij = Σ_c k_ic·e^(b_ic − b_jc)·k_jc for j < i,
//
//	(I + M·diag(β))·E = V − (e^b∘K)·S,  U = diag(β)·E
//
// is a triangular system of the order of the chunk. The rules without a correction have U = V. Let
// P_ij be the same sum for q_i and k_j, j ≤ i. The outputs and the state after a chunk of n tokens
// are
//
//	O = scale·((e^b∘Q)·S + P·U),  S′ = e^b_{n−1}∘S + (e^(b_{n−1} − b)∘K)ᵀ·U
//
// No exponent is positive unless a decay is. So nothing overflows, and factors that underflow are
// exact zeros. With one decay per head, M and P are products of matrices times Γ_ij = e^(b_i −
// b_j). With one decay per row of S, e^(b_i − b_j) = e^(b_i − b_r)·e^(b_r − b_j) is split at a
// token r between j and i, for blocks of 1, 2, 4, … tokens. Later decays keep full precision even
// after a decay of −10⁶: b of a head is the sum of two float64, and decays of rows are summed block
// by block.
//
// With the gradients dO of the outputs and dS′ of the state after the chunk, dU = scale·PᵀdO +
// (e^(b_{n−1} − b)∘K)·dS′, and the transposed system
//
//	(I + diag(β)·M)ᵀ·Y = dU
//
// gives dβ_i = e_i·y_i, dV = Z = diag(β)·Y and dM = −tril(ZUᵀ, −1). A factor e^b_i adds its product
// with its own gradient to db_i, a factor e^−b_i subtracts it, and dg_t = Σ_{i≥t} db_i.
//
// # References
//
//   - [Schlag et al. 2021] I. Schlag, K. Irie, J. Schmidhuber: Linear transformers are
//     secretly fast weight programmers. ICML 2021.
//   - [Yang et al. 2024] S. Yang, B. Wang, Y. Zhang, Y. Shen, Y. Kim: Parallelizing linear
//     transformers with the delta rule over sequence length. NeurIPS 2024.
//   - [Yang et al. 2025] S. Yang, J. Kautz, A. Hatamizadeh: Gated delta networks: improving
//     Mamba2 with delta rule. ICLR 2025.
package recurrence
