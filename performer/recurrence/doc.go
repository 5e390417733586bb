// Package recurrence computes attention as a recurrence, as ONNX's LinearAttention: each token
// updates a state matrix by a rule, and the query of the token reads the matrix.
//
// Each head of keys has a state matrix S (dk×dv). A [Rule] says how a token of key k, value v,
// decay g and strength β changes the state S. After the token has changed S, the query q of the
// token gives the output scale·Sᵀq:
//
//	linear:       S ← S + k·vᵀ
//	gated:        S ← e^g∘S + k·vᵀ
//	delta:        S ← S + k·uᵀ,  u = β·(v − Sᵀk)
//	gated_delta:  S ← e^g∘S, then as delta
//
// A delta rule moves Sᵀk towards v [Schlag et al. 2021]: with ‖k‖ = 1 and β = 1 the update makes
// Sᵀk = v. A decay g ≤ 0 shrinks S, by one factor per head or by one factor per row of S.
//
//	opts := recurrence.Options{Heads: heads, Rule: recurrence.Delta, NormaliseKeys: true}
//	r, err := recurrence.New[float32](opts)
//	out := r.Forward(dst, recurrence.Tokens[float32]{Q: q, K: k, V: v, Beta: beta}, past, present)
//
// A [State] is the recurrence over a stream of tokens. docs/laws.md of this module has the
// computation, the gradients and the references.
package recurrence
