// Package clusters computes softmax attention without a mask with clusters of keys: the keys that matter to a
// query have exact weights, and every other cluster counts as a whole. The package is for attention
// with many keys whose weights are spread over some of the keys, as in the heads of trained
// transformers. Random features have large errors on heads of trained transformers.
//
//	attention, err := clusters.New[float32](clusters.Options{}, src)
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
// with a variance of w_ic²·(e^{2u_ic} − 1)/n_c if keys vary alike in all directions. Where keys do
// not vary alike, scores vary more for the queries that matter: with u'_ic = s²‖q_i‖²·t'_c/2, t'_c
// = ‖Σ_c‖_F/√d and the covariance Σ_c of the keys, t'_c is t_c for equal directions, and t_c·√d for
// one. Let D_i = Σ_c w_ic. If w_ic·√((e^{2u'_ic} − 1)/n_c) exceeds τ·D_i, query i scores every key
// of cluster c. Otherwise w_ic and v̄_c stand for the cluster. With A_ij = exp(s·q_iᵀk_j)
//
//	out_i = (Σ_scored A_ij·v_j + Σ_other w_ic·v̄_c) / (Σ_scored A_ij + Σ_other w_ic)
//
// All weights are positive, so outputs are averages of values and of means of values, and no
// denominator comes near zero. As τ → 0 the result is exact attention. The idea is that of
// multipole attention [Hooper et al. 2025] and of fast multipole methods [Greengard & Rokhlin
// 1987].
//
// Beyond u_ic = 8 the normal model overrates a cluster, whose weight is about that of its largest
// key. Such a cluster counts with u_ic = 8 in D_i, and query i also scores its keys if a key at the
// upper end of the normal distribution of keys would have a weight above τ·D_i. A key whose squared
// distance from its centre is more than 8 times the mean is a cluster of its own.
//
// Forward gathers the queries that score one cluster, so that their scores and outputs are products
// of matrices.
//
// Causal attention that reads some of the keys is in package blocks. There is no State of clusters.
//
// # Eight bits
//
// With EightBits, scores of clusters, scores and weights of keys, and values are integers of 8
// bits, with an additional error of about a percent, see package performer. Sums over clusters
// whose keys are not scored are in T, and so are clusters with a few keys or values much larger
// than the others, and clusters much farther from the mean of the keys than most.
//
// # Gradients
//
// Backward keeps the choices of Forward: the cluster of each key, and the clusters whose keys a
// query scores. Let P_ij and P_ic be the weights of scored keys and of other clusters over their
// sum, and g_i the gradient of out_i. With dS_ij = P_ij·(g_iᵀv_j − g_iᵀout_i), dS_ic =
// P_ic·(g_iᵀv̄_c − g_iᵀout_i) and the sums over scored keys j, and over other clusters c,
//
//	dq_i = s·Σ_j dS_ij·k_j + Σ_c dS_ic·(s·μ_c + s²t_c·q_i)
//	dv_j = Σ_i P_ij·g_i + Σ_i P_ic·g_i/n_c
//	dk_j = s·Σ_i dS_ij·q_i + Σ_i dS_ic·(s·q_i + s²‖q_i‖²(k_j − μ_c)/d)/n_c + s·M_c(v_j − v̄_c)/n_c
//
// with M_c = Σ_i P_ic·q_i·g_iᵀ. Where u_ic is beyond 8, the terms of t_c vanish. All terms but the
// last are the gradients of Forward with fixed choices. Forward depends on v̄_c alone. In exact
// attention, keys of a cluster with different values have different gradients even if the keys are
// equal, and the last term is this difference. Without the term, the error of dk reaches 96 % where
// the keys of all clusters are equal and outputs have errors below 0.1 %. With the term it is about
// 1 %, because M_c leaves out weights P_ic of less than an eighth of the mean weight of clusters.
//
// Backward computes in T, also with EightBits. Backward takes O(L·C·(d+dv)) time and time in
// proportion to the scored pairs, as Forward does, and up to O(L·C·d·dv) for M_c. The memory is
// that of Forward, the outputs, and a number for each query and each cluster whose keys it scores.
// On heads of a trained decoder with 16384 tokens and thresholds of 0.001 to 0.01, Backward takes 0.2
// to 0.8 of the time of exact gradients. Errors of dv are one to two times, errors of dk one to four
// times and errors of dq two to five times the errors of outputs.
//
// # Cost and error
//
// L queries and L keys take O(L·C·(d+dv)) time for C clusters, and time in proportion to the
// scored pairs, a small share of L². No bound of the error is known in advance; package audit
// measures the error. The error is small where weights are concentrated on clusters of keys. The
// error is larger if a cluster holds keys of different words, of which a query seeks one. For
// diffuse attention over normal keys of small norm random features are better. Clusters do not help
// a head in which every query has one key that no other query shares. In float32, keys and values
// with a common mean of a thousand standard deviations lose no more accuracy than in exact
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
