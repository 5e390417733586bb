// Package clusters computes softmax attention with clusters of keys: the keys that matter to a
// query have exact weights, and every other cluster counts as a whole. The package is for attention
// with many keys whose weights are spread over some of the keys, as in the heads of trained
// transformers. Random features and landmarks have large errors on heads of trained transformers.
//
//	attention, err := clusters.New[float32](performer.ExactOptions{}, clusters.Options{}, src)
//	out := attention.Forward(dense.Matrix[float32]{}, q, k, v)
//
// # How it works
//
// Let s be the scale of scores. K-means divides the keys into C clusters. Cluster c has n_c keys
// with the mean μ_c, the mean v̄_c of their values, and the variance t_c of a coordinate. For
// normal keys the weights exp(s·q_iᵀk) of the cluster have the expected sum
//
//	w_ic = n_c·exp(s·q_iᵀμ_c + u_ic),  u_ic = s²‖q_i‖²·t_c/2
//
// with a variance of w_ic²·(e^{2u_ic} − 1)/n_c. One product with d+2 columns gives all w_ic. Let
// D_i = Σ_c w_ic. If the standard deviation of w_ic exceeds τ·D_i, query i scores every key of
// cluster c. Otherwise w_ic and v̄_c stand for the cluster:
//
//	out_i = (Σ_scored exp(s·q_iᵀk_j)·v_j + Σ_other w_ic·v̄_c) / (Σ_scored exp(s·q_iᵀk_j) + Σ_other w_ic)
//
// All weights are positive, so outputs are averages of values and of means of values, and no
// denominator comes near zero. As τ → 0 the result is exact attention. The idea is that of
// multipole attention [Hooper et al. 2025] and of fast multipole methods [Greengard & Rokhlin
// 1987].
//
// Forward gathers the queries that score one cluster, so that their scores and outputs are products
// of matrices.
//
// # Causal attention
//
// Causal attention takes blocks of 128 queries. The keys of a block and of the previous block have
// exact weights. All older keys are in clusters, whose moments grow by one block at a time. Each
// time the number of tokens has doubled, k-means divides all older keys again. All runs of k-means
// together take about as long as one run over all keys. The first 1024 tokens have exact attention.
//
// # Streams
//
// [Attention.NewState] keeps a stream of tokens with the clusters of causal attention, and stores
// the keys of a cluster side by side. A step scores the keys of a few clusters, and the last 128 to
// 255 tokens.
//
// # Cost and error
//
// L queries and L keys take O(L·C·(d+dv)) time for clusters, and time in proportion to the scored
// pairs, a small share of L². The default is C = 4·√L. No bound of the error is known in advance;
// package audit measures the error. The error is small where weights are concentrated on clusters
// of keys. For diffuse attention over normal keys of small norm landmarks are better. Clusters do
// not help a head in which every query has one key that no other query shares. In float32, keys and
// values with a common mean of a thousand standard deviations lose no more accuracy than in exact
// attention. If keys and values have a mean of 1e5 standard deviations, exact attention and
// attention by clusters have errors of tens of percent in float32.
//
// # References
//
//   - [Greengard & Rokhlin 1987] L. Greengard, V. Rokhlin: A fast algorithm for particle
//     simulations. Journal of Computational Physics 73(2).
//   - [Hooper et al. 2025] C. Hooper, S. Zhao, L. Manolache, S. Kim, M. W. Mahoney, Y. S. Shao, K.
//     Keutzer, A. Gholami: Multipole Attention for Efficient Long Context Reasoning. NeurIPS 2025.
package clusters
