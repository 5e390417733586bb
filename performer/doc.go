// Package performer computes attention: exact softmax attention, and approximations in linear time,
// bidirectional or causal, for whole sequences or token by token.
//
// # Where to begin
//
//   - attention within a tolerance: audit.Choose; measured errors: audit.Measure
//   - exact attention: [NewExact]; linear time: [NewLinear]; some blocks of keys: package blocks
//   - heads, batches, masks of keys, gradients: [NewBatch]; one token at a time: [Batch.NewState]
//   - tensors (B, H, L, d), biases, masks of pairs, scores: [Attend]
//   - unbiased estimates: package estimate; delta rules: package recurrence; layers: package layer
//
// Rows are tokens, and a head is a block of columns. Queries q_i, keys k_j in R^d and values v_j in
// R^dv, the rows of Q, K and V, give the outputs
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij,  A_ij = exp(q_iᵀk_j/√d) in exact attention.
//
//	exact, err := performer.NewExact[float32](performer.ExactOptions{Bits: 8})
//	b, err := performer.NewBatch(performer.BatchOptions{Heads: 8}, exact)
//	out := b.Forward(dense.Matrix[float32]{}, q, k, v)
//	s, err := b.NewState(d, dv)
//	out = s.Step(out, q1, k1, v1) // one token
//
// Goroutines may share all attention, but not a State. Results do not depend on GOMAXPROCS.
// docs/attention.md says which attention suits which input, docs/overflow.md treats overflow,
// docs/names.md has names of PyTorch and ONNX, and docs/laws.md the references.
package performer
