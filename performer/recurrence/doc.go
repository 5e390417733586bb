// Package recurrence computes attention as a recurrence: each token updates a matrix of sums by a
// rule (linear, gated, delta or gated_delta), and its query reads that matrix, without a
// denominator. It is the operator LinearAttention of ONNX.
//
// # Rules
//
// A head of keys has the sums S (dk×dv). A [Rule] writes a token with key k, value v, decay g and
// strength β into S, and the query q of the token reads scale·Sᵀq:
//
//	linear:       S ← S + k·vᵀ
//	gated:        S ← e^g∘S + k·vᵀ
//	delta:        S ← S + k·uᵀ,  u = β·(v − Sᵀk)
//	gated_delta:  S ← e^g∘S, then as delta
//
// The linear rule adds to what earlier keys left in the direction of k. The delta rule writes the
// difference between v and what S gives for k [Schlag et al. 2021]. That is a step of gradient
// descent on ½‖Sᵀk − v‖²; with ‖k‖ = 1 and β = 1 it replaces the value of k. A decay g ≤ 0 forgets.
// There is one decay for a head, or one for each row of S.
//
//	r, err := recurrence.New(heads, keyHeads, recurrence.Options[float32]{Rule: recurrence.Delta, NormaliseKeys: true})
//	out := r.Forward(dst, recurrence.Tokens[float32]{Q: q, K: k, V: v, Beta: beta}, past, present)
//
// A [State] is the recurrence over a stream, token by token or in pieces. States of the linear and
// gated rules can be merged, in order. States of the delta rules cannot, because a token writes
// what depends on all tokens before it.
//
// # Tokens
//
// A token reads Sᵀk, writes k·uᵀ and reads Sᵀq. All three are one pass over the rows of S. While
// token t passes row i, u_t is known, so that the pass writes the row, adds the row to the output of
// token t, and adds the row to what token t + 1 corrects:
//
//	S_i ← e^g_ti·S_i + k_ti·u_t,  o_t ← o_t + q_ti·S_i,  r ← r + k_(t+1)i·S_i
//
// after which o_t is complete and u_(t+1) = β·(v − e^g·r), or β·(v − r) with e^g in the coefficients
// of r if each row has a decay. Columns of S are independent. So S goes in panels of columns that fit
// the first cache, and NaN or ±Inf in a column reaches that column alone. Without a correction rows
// are independent as well but for the sum that makes an output: a chunk of tokens goes through 64
// rows after another, and a row stays in registers for four tokens unless it has decays of its own.
//
// S holds rounding errors as long as it holds values. A decay near 0 would keep those of thousands of
// tokens, and those of the factors e^g as well. In a chunk of 48 tokens whose decays are at most 0
// and add up to at least −2, S is therefore D∘Ŝ with D = e^b, b the sum of the decays: a token writes
// k∘e^−b into Ŝ and reads with e^b∘k and e^b∘q. No token multiplies Ŝ, and b is nowhere below −4. The
// rules without a correction keep Ŝ in two parts, the newest tokens and all before them. The newer
// part joins the older one after 240 tokens, so that a token rounds a small number.
//
// # Gradients
//
// [Recurrence.Backward] goes back in chunks of 48 tokens (scan_backward.go), from sums that the
// forward pass kept, with products of matrices in place of passes [Yang et al. 2024; 2025]. Let S
// be the sums before the chunk, K, Q and V the rows of the chunk, and b_i = g_0 + … + g_i. The sums
// that token i finds are
//
//	S_i = e^b_i∘S + Σ_{j<i} (e^(b_i − b_j)∘k_j)·u_jᵀ
//
// and u_i = β_i·e_i with e_i = v_i − S_iᵀk_i. With M_ij = Σ_c k_ic·e^(b_ic − b_jc)·k_jc for j < i,
//
//	(I + M·diag(β))·E = V − (e^b∘K)·S,  U = diag(β)·E
//
// is a triangular system of the order of the chunk. Rules that do not correct have U = V. With P_ij
// the same sum of q_i and k_j for j ≤ i, the outputs and the sums after a chunk of n tokens are
//
//	O = scale·((e^b∘Q)·S + P·U),  S′ = e^b_{n−1}∘S + (e^(b_{n−1} − b)∘K)ᵀ·U
//
// No exponent is positive unless a decay is: forgotten tokens become exact zeros, and nothing
// overflows. With one decay for a head, M and P are products of matrices times Γ_ij = e^(b_i −
// b_j). With one decay for each row of S, e^(b_i − b_j) = e^(b_i − b_r)·e^(b_r − b_j) is split at a
// token r between j and i, for blocks of 1, 2, 4, … tokens. After a decay of −10⁶ later decays keep
// full precision: b of a head is held in two float64, and decays of rows are summed block by block.
//
// With the gradients dO of the outputs and dS′ of the sums after the chunk, dU = scale·PᵀdO +
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
