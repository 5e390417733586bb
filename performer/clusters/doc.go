// Package clusters is softmax attention by clusters of keys: the keys that matter to a query have
// exact weights, all others are taken together by cluster. It is for attention with many keys whose
// weights are spread over some of them, as the heads of trained transformers have, where random
// features and landmarks fail.
//
//	form, err := clusters.New[float32](performer.ExactOptions{}, clusters.Options{}, src)
//	out := form.Forward(dense.Matrix[float32]{}, q, k, v)
//
// # How it works
//
// Let s be the scale of scores. The keys are divided into C clusters by k-means. A cluster c has n_c
// keys with the mean μ_c, the mean v̄_c of their values, and the variance t_c of a coordinate. If the
// keys were normal, the weights exp(s·q_iᵀk) of the cluster would add up to
//
//	w_ic = n_c·exp(s·q_iᵀμ_c + u_ic),  u_ic = s²‖q_i‖²·t_c/2
//
// on average, with a variance of w_ic²·(e^{2u_ic} − 1)/n_c. One product with d+2 columns gives all
// w_ic. Where that spread is a larger share than τ of D_i = Σ_c w_ic, the keys of the cluster are
// scored, and their weights and values count. Elsewhere w_ic and v̄_c stand for the cluster:
//
//	out_i = (Σ_scored exp(s·q_iᵀk_j)·v_j + Σ_other w_ic·v̄_c) / (Σ_scored exp(s·q_iᵀk_j) + Σ_other w_ic)
//
// All weights are positive, so outputs are averages of values and of means of values, and no
// denominator comes near zero. As τ → 0 the result is exact attention. The idea is that of
// multipole attention [Hooper et al. 2025] and of fast multipole methods [Greengard & Rokhlin 1987].
//
// The queries for which one cluster is scored are gathered, so that scores and values are products
// of matrices.
//
// # Causal attention
//
// Queries go in blocks of 128. The keys of a block and of the block before have exact weights. Older
// keys are in clusters, whose moments grow by a block at a time. Clusters are found anew among all
// older keys each time the number of tokens has doubled, which costs about as much as finding them
// once at the end. The first 1024 tokens have exact attention.
//
// # Streams
//
// [Attention.NewState] keeps a stream of tokens with the clusters of causal attention, and memory for
// the keys of a cluster side by side. A step scores the keys of a few clusters, and those of the last
// 128 to 255 tokens.
//
// # Cost and error
//
// With L queries and keys the time is O(L·C·(d+dv)) for clusters, and in proportion to the scored
// pairs beside, a small share of L². C = 4·√L is the default. The error has no bound that is known
// before; performer's audits measure it. It is small where weights are concentrated on clusters of
// keys. For diffuse attention over normal keys of small norm landmarks are better, and for a head
// whose every query has one key that no other query shares clusters do not help. Keys and values
// with a common mean of a thousand spreads lose no more in float32 than the rounding of exact
// attention; at 1e5 spreads that rounding, and the error, are tens of percent.
//
// # References
//
//   - [Greengard & Rokhlin 1987] L. Greengard, V. Rokhlin: A fast algorithm for particle
//     simulations. Journal of Computational Physics 73(2).
//   - [Hooper et al. 2025] C. Hooper, S. Zhao, L. Manolache, S. Kim, M. W. Mahoney, Y. S. Shao, K.
//     Keutzer, A. Gholami: Multipole Attention for Efficient Long Context Reasoning. NeurIPS 2025.
package clusters
