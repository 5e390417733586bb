// Package clusters computes softmax attention without a mask by clusters of keys: the keys that
// matter to a query have exact weights, and every other cluster counts as a whole. It suits many
// keys whose weights concentrate on some of the keys, as in the heads of trained transformers.
//
//	attention, err := clusters.New[float32](clusters.Options{}, src)
//	out := attention.Forward(dense.Matrix[float32]{}, q, k, v)
//
// K-means divides the keys into C clusters. With A_ij = exp(s·q_iᵀk_j), and for the clusters that
// query i does not score the weight w_ic, expected of normal keys, and the mean v̄_c of values
//
//	out_i = (Σ_scored A_ij·v_j + Σ_other w_ic·v̄_c) / (Σ_scored A_ij + Σ_other w_ic)
//
// Query i scores every key of a cluster whose weight may be wrong by more than a share τ of all
// weights. All weights are positive, so that outputs are averages of values and of means of values.
// As τ → 0 the result is exact attention. The idea is that of multipole attention [Hooper et al.
// 2025] and of fast multipole methods [Greengard & Rokhlin 1987].
//
// L queries and L keys take O(L·C·(d+dv)) time, and time in proportion to the scored pairs, a small
// share of L². No bound of the error is known in advance; package audit measures the error. Errors
// are large if every query has one key that no other query shares, and for diffuse attention over
// normal keys of small norm random features are better.
//
// docs/laws.md of this module has the weights, the gradients and the references. Package blocks has
// causal attention that reads some of the keys.
package clusters
