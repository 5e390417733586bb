// Package performer computes attention: exact softmax attention, and approximations in linear time,
// bidirectional or causal, for whole sequences or token by token. Related packages are audit
// (measured errors, and the choice of an approximation), estimate (unbiased estimates), clusters
// (of keys), blocks (of keys, causal), recurrence (delta rules) and layer (multi-head layers).
//
// # Where to begin
//
//   - attention within a tolerance: audit.Choose chooses exact attention or an approximation
//   - exact attention in memory that does not grow with the tokens: [NewExact]
//   - linear time: [NewLinear] with a map of package rff
//   - measured errors: audit.Measure compares some rows with exact attention
//   - one token after another: [Batch.NewState] of exact and linear attention
//   - heads, batches, masks of keys: [NewBatch]; layers: package layer
//   - tensors (B, H, L, d), biases, masks of pairs, scores: [Attend]; names of PyTorch and ONNX:
//     docs/names.md of this module
//   - gradients: [Batch.Backward]
//   - estimates whose mean is exact attention: estimate.Unbiased
//
// # Attention
//
// Queries q_i, keys k_j in R^d and values v_j in R^dv, the rows of Q, K and V, give the outputs
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij
//
// where the weight A_ij is a kernel of q_i and k_j. The sums run over all keys, or over j ≤ i in
// causal attention. Exact attention has A_ij = exp(q_iᵀk_j/√d). Without the denominator the output
// is unnormalised, A·V. [Exact] takes quadratic time in memory that does not grow with the tokens.
//
// # Linear attention
//
// If the kernel is an inner product of m features, A_ij = φ(q_i)ᵀφ(k_j), the sums over keys can be
// computed first,
//
//	Σ_j A_ij v_jᵀ = φ(q_i)ᵀ S,  S = Σ_j φ(k_j) v_jᵀ   (m×dv)
//
// and cost O(L·m·(d+dv)) instead of O(L²·(d+dv)) [Katharopoulos et al. 2020]. Inner products of
// random features of the softmax kernel are unbiased estimates of exp(q_iᵀk_j), so linear attention
// with these features estimates exact attention. Positive features make linear attention stable,
// because no denominator is close to zero [Choromanski et al. 2021]. With random features numerator
// and denominator are unbiased, and the ratio has a bias of order 1/m. With exact maps, such as
// elu+1, linear attention is exact attention with another kernel.
//
//	w, err := orf.Draw[float32](orf.GramSchmidt{}, 256, 64, src)
//	phi, err := rff.Draw(rff.SoftmaxPositive{Scale: 1 / math.Sqrt(64)}, w) // exp(qᵀk/√d)
//	a, err := performer.NewLinear(phi, performer.LinearOptions{})
//	out := a.Forward(dense.Matrix[float32]{}, q, k, v)
//
// The scale 1/√d belongs to the map: the map computes features of √scale·q. Queries and keys have
// one map, or the two maps of a pair that estimates one kernel (rff.Paired). Maps without
// logarithms (trigonometric, dot product, sign, polynomial, …) may have denominators that are zero
// or negative, and outputs that are the results of this division.
//
// # Centring
//
// Random features are most accurate at points close to zero. Queries and keys of trained
// transformers have means that differ from zero and from each other. [rff.Centred] subtracts the
// means for the features of a map. The weights compensate exactly: the estimated attention does not
// change.
//
//	q0, b, err := rff.SubtractMean(q)
//	k0, c, err := rff.SubtractMean(k)
//	spec, err := rff.FitSDERF(q0, k0, scale)
//	phi, err := rff.Draw(spec, w)
//	centred, err := rff.Centred(phi, b, c)
//	a, err := performer.NewLinear(centred, performer.LinearOptions{})
//
// The means are constants, so that an output depends on no other query. Causal attention and
// streams need means of earlier tokens or of other texts. docs/attention.md of this module shows
// what centring gains.
//
// # Shapes
//
// Q is Lq×d, K is Lk×d, V is Lk×dv and the output is Lq×dv. Causal attention needs Lq = Lk except
// in a [Batch]. Rows are tokens. All matrices may be views: head h of an L×(H·d) matrix is
// m.ColRange(h*d, (h+1)*d). Methods panic if shapes do not fit, and name the shapes.
//
// Linear attention holds up to 64 matrices S and the features of some blocks of tokens. Exact
// attention holds the scores of 256 queries and keys for every processor. This memory does not
// depend on the lengths and is kept for later calls: after the first call of a size, Forward and
// Backward allocate nothing if dst and the gradients are given.
//
// # Batches and masks
//
// A [Batch] computes one attention, or one attention for each head, over many heads and [Sequences]
// in one call, as the operators Attention and LinearAttention of ONNX do. Keys that are not Valid
// are left out of numerator and denominator. Padding may thus be NaN, and does not change one bit
// of the outputs of valid tokens. The mask is on keys: queries in padding have outputs too. In a
// causal batch Past = Lk − Lq aligns the last query with the last key.
//
// [Attend] takes tensors (B, H, L, d), in either order in memory. Only [Exact] has scores, so only
// Exact takes biases, masks of pairs of a query and a key, and returns scores or weights. Attend
// joins past keys and values with new ones. Softcap is a field of Exact, and part of its states and
// gradients.
//
//	exact, err := performer.NewExact[float32](performer.ExactOptions{Causal: true})
//	r, err := performer.Attend(exact, performer.AttendArgs[float32]{
//		Q: q, K: k, V: v, Bias: bias, PastK: pastK, PastV: pastV,
//	})
//
// # Streams
//
// A [State] is attention over a stream of tokens. The memory of a State of linear attention is
// constant. States of several streams merge, in any order, on one machine or, with MarshalBinary,
// on several. A decoder that drafts tokens and rejects some returns to a Snapshot by
// Rollback.
//
//	s, err := a.NewState(d, dv)
//	s.Append(promptK, promptV)
//	out = s.Step(out, q, k, v) // one token
//	mark = s.Snapshot(mark)
//	out = s.Step(out, draftQ, draftK, draftV)
//	s.Rollback(mark)
//
// # How large is the error?
//
// The error of an approximation of attention may be 1 % or 100 %, and the outputs do not show
// which. Package audit compares a random sample of rows with exact attention, and chooses the
// cheapest approximation within a tolerance:
//
//	reports, err := audit.Measure(ctx, exact, q, k, v, audit.Options{}, src, a)
//	c, err := audit.Choose(ctx, exact, q, k, v, 0.02, audit.ChooseOptions{}, src)
//
// Package estimate estimates attention without bias, in linear time.
//
// # Logarithms, and no ε
//
// Positive features of points with large norms overflow or underflow. A small ε that is added to
// features or to the denominator, as is often done, turns sharp attention into an average of all
// values. This package adds nothing: features are logarithms, and every exponential is relative to
// a reference that cancels. So normalised outputs are averages of values wherever log-features are
// numbers of the type. docs/overflow.md of this module has the details.
//
// # NaN, Inf and empty sums
//
//   - NaN and Inf in q, k or v reach every output that depends on them. An infinite weight makes
//     ∞/∞ = NaN.
//   - Without keys the output is zero, normalised or not.
//   - If there are keys, but every weight of the row is exactly zero, the output is 0/0 = NaN, or
//     zero when unnormalised. Such weights need features that are zero, such as relu's, or scores
//     of −Inf.
//   - Unnormalised outputs beyond the range of the type are ±Inf.
//   - If all values are 1, normalised outputs of positive maps are exactly 1, because numerator and
//     denominator are sums of the same numbers in the same order.
//   - In causal attention no change of later tokens, even to NaN, changes one bit of an earlier
//     output.
//
// # Determinism and sharing
//
// Work is divided by the number of tokens, not of processors, and sums are merged in order: no
// result of Forward, Backward or a State depends on GOMAXPROCS. Goroutines may share a Linear, an
// Exact and a Batch. A State belongs to one goroutine.
//
// # References
//
//   - [Choromanski et al. 2021] K. Choromanski, V. Likhosherstov, D. Dohan, X. Song, A. Gane, T.
//     Sarlos, P. Hawkins, J. Davis, A. Mohiuddin, L. Kaiser, D. Belanger, L. Colwell, A. Weller:
//     Rethinking attention with Performers. ICLR 2021.
//   - [Dao et al. 2022] T. Dao, D. Y. Fu, S. Ermon, A. Rudra, C. Ré: FlashAttention: fast and
//     memory-efficient exact attention with IO-awareness. NeurIPS 2022.
//   - [Katharopoulos et al. 2020] A. Katharopoulos, A. Vyas, N. Pappas, F. Fleuret: Transformers
//     are RNNs: fast autoregressive transformers with linear attention. ICML 2020.
//   - [Knuth 1998] D. E. Knuth: The art of computer programming. Volume 2: Seminumerical
//     algorithms. Third edition, section 4.2.2.
//   - [Milakov & Gimelshein 2018] M. Milakov, N. Gimelshein: Online normalizer calculation for
//     softmax. arXiv:1805.02867.
//   - [Press et al. 2022] O. Press, N. A. Smith, M. Lewis: Train short, test long: attention with
//     linear biases enables input length extrapolation. ICLR 2022.
//   - [Rabe & Staats 2021] M. N. Rabe, C. Staats: Self-attention does not need O(n²) memory.
//     arXiv:2112.05682.
//   - [Xiao et al. 2024] G. Xiao, Y. Tian, B. Chen, S. Han, M. Lewis: Efficient streaming language
//     models with attention sinks. ICLR 2024.
package performer
