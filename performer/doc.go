// Package performer is attention: exact softmax attention, and linear attention with the feature
// maps of package rff, bidirectional or causal. Package recurrence has the delta rules, package
// layer multi-head layers with learned projections.
//
// # Where to begin
//
//   - attention to a tolerance, whatever form that takes: [Within]
//   - exact attention, in memory that does not grow with the tokens: [Exact]
//   - linear time: [NewLandmarks], or [New] with a map of package rff; nearer the truth: [NewCorrected]
//   - how far off is it? [Audit] by exact rows, [Predictor] without them
//   - one token after another: NewState of a form, [State]
//   - heads, batches, masks: [NewBatch]; layers: package layer
//   - tensors (B, H, L, d), biases, masks of pairs, scores: [Attend]; names of PyTorch and ONNX:
//     docs/names.md of this module
//   - gradients: [Differentiable]
//   - estimates whose mean is exact attention: [NewUnbiased]
//
// # Attention
//
// Queries q_i, keys k_j in R^d and values v_j in R^dv, the rows of Q, K and V,
// give the outputs
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij
//
// where the weight A_ij is a kernel of q_i and k_j; the sums run over all keys,
// or over j ≤ i in causal attention. Exact attention has A_ij = exp(q_iᵀk_j/√d).
// Leaving out the denominator gives the unnormalised form A·V.
//
// [Exact] is the exact form. Its scores are formed a tile at a time: the memory does not
// grow with the number of tokens, the time does with its square. Weights returns the weights
// themselves.
//
// # Linear attention
//
// If the kernel is an inner product of m features, A_ij = φ(q_i)ᵀφ(k_j), the sums can be taken in
// the other order,
//
//	Σ_j A_ij v_jᵀ = φ(q_i)ᵀ S,  S = Σ_j φ(k_j) v_jᵀ   (m×dv)
//
// and cost O(L·m·(d+dv)) instead of O(L²·(d+dv)) [Katharopoulos et al. 2020]. Inner products of
// random features of the softmax kernel are unbiased estimates of exp(q_iᵀk_j), so linear attention
// with them estimates exact attention. Positive features make it stable, because no denominator is
// near zero [Choromanski et al. 2021]. Numerator and denominator are then unbiased; their ratio has
// a bias of order 1/m. With exact maps, such as elu+1, linear attention is exact attention with
// another kernel.
//
//	w, err := orf.Draw[float32](orf.GramSchmidt{}, 256, 64, src)
//	phi, err := rff.SoftmaxPositive(w, 1/math.Sqrt(64)) // exp(qᵀk/√d)
//	a, err := performer.New(phi, performer.Options{})
//	out := a.Forward(dense.Matrix[float32]{}, q, k, v)
//
// The scale 1/√d belongs to the map: features are those of √scale·q. Queries and keys have one map,
// or the two maps of a pair that estimates one kernel (rff.Paired).
//
// # Landmarks
//
// [Landmarks] also takes linear time, with other features: the exact kernel between a point and r
// landmarks, which are chosen among the keys of each call. Its errors are many times smaller than
// those of as many random features where keys are near each other or their covariance decays, at
// about one and a half times the time.
//
//	a, err := performer.NewLandmarks(performer.Exact[float32]{}, 256, src)
//	out := a.Forward(dense.Matrix[float32]{}, q, k, v)
//
// [NewLandmarksAt] takes given landmarks, which causal attention needs: landmarks there must not
// depend on later keys. The tokens of the block of the query have exact weights.
//
// Features of landmarks are signed, so that denominators may be near zero where r is too small: the
// error has no bound there. It has one with positive random features, whose outputs are averages of
// values.
//
// # Centring
//
// Random features are best at points near zero, and landmarks where queries are among keys. Queries
// and keys of trained transformers have means far from zero and from each other. [rff.Centred] takes
// the means off for the features of a map, [Landmarks.Centred] for landmarks; both make up for it
// exactly, so that the attention that is estimated stays the same.
//
//	q0, b, err := rff.Centre(q)
//	k0, c, err := rff.Centre(k)
//	phi, err := rff.SDERF(w, q0, k0, scale)
//	centred, err := rff.Centred(phi, b, c)
//	a, err := performer.New(centred, performer.Options{})
//
// Errors at r = m = 256 features or landmarks, 2048 tokens and d = 64 (SoftmaxPositive and SDERF
// over Gram–Schmidt frequencies, means of 12 draws), without and with centring. Word vectors of a
// text are queries and keys themselves, of norm 5; those of normal points have variances of
// 4/(1+i). Centring gains nothing where means are small, and SDERF then loses a little:
//
//	queries and keys                       positive       SDERF          landmarks
//	words                                  0.44    0.42   0.29    0.31   0.018   0.018
//	words, means of norm 5                 0.70    0.45   0.41    0.33   0.029   0.017
//	normal                                 0.75    0.75   0.63    0.61   0.126   0.127
//	normal, keys with a mean of norm 10    1.37    0.75   0.91    0.61   0.498   0.127
//	normal, means of norm 8                1.00    0.73   1.00    0.57   0.354   0.099
//
// So means are not taken off by themselves. They are given, as constants: an output depends on no
// other query, and causal attention and streams take means of earlier tokens or other texts. An
// [Unbiased] and a [Pilot] estimate the same outputs with b + c taken off all keys, because softmax
// does not change when one vector is added to all keys.
//
// # Exact weights where they matter
//
// A [Corrected] makes more of a base, of landmarks or of features of the softmax kernel. With a
// Window the keys near the query have exact weights, in bidirectional, causal and streaming
// attention: where norms are large, a token has most of its weight from itself and its neighbours.
// With Samples, the exact weights of some keys, drawn at random, correct those of the others, so
// that numerator and denominator are unbiased; [Corrected.Variances] has the law of what is left.
//
//	a, err := performer.NewCorrected[float32](landmarks, performer.CorrectedOptions{Window: 64, Samples: 256}, src)
//
// On the words of a text (L = 2048, d = 64, Q = K of one length, r = m = 256, four seeds) outputs
// were off by, in percent:
//
//	‖q‖                                  5       8      10
//	landmarks                          2.3    16      24
//	  window of 64                     1.3     3.3     0.6
//	  128 samples                      0.9     7.4    12
//	  256 samples                      0.0     0.0     0.0
//	SDERF                             31      62      69
//	  window of 64                    25      19       3.4
//	FAVOR+                            39      68      74
//	  window of 64                    31      19       3.4
//
// The text has fewer words without a landmark than 256. Where errors are spread over many keys, as
// for Gaussian keys, samples make noise that is larger than the error of landmarks (1.5 % became
// 3.4 %), and with random features they nearly always do.
//
// # From a query to the processor
//
//  1. [Attention.Forward] checks shapes. Bidirectional attention sums the keys up in segments
//     (linear.go), causal attention in chunks (causal.go); then blocks of queries go to processors.
//  2. A block of queries is as many rows as keep their features in the second cache. The map writes
//     the log-features of the block into scratch memory of the goroutine.
//  3. The map (package rff) projects the block with its frequencies W (package orf). The product
//     hands over each finished tile, and the map finishes the tile while it is in the first cache.
//  4. References are subtracted and exponentials taken: the features are weights of S. reference.go
//     keeps the references, reference_exponent.go finds their exponents, reference_far.go has those
//     of far features, and linear_scale.go the numbers exp(M_i) of the queries.
//  5. The block times S, which is packed once a call, gives numerators and denominators, and
//     linear_finish.go divides. Both products run in the micro-kernels of internal/compute/matmul.
//
// # Shapes
//
// Q is Lq×d, K is Lk×d, V is Lk×dv and the output is Lq×dv; causal attention needs Lq = Lk but in a
// [Batch]. Rows are tokens. All may be views: head h of an L×(H·d) matrix is
// m.ColRange(h*d, (h+1)*d). Shapes that do not fit panic with both of them.
//
// Beyond inputs and output, linear attention holds up to 64 sums of m×dv and the features of some
// blocks of tokens, and exact attention the scores of 256 queries and keys for every processor,
// whatever the lengths are. This memory is kept for later calls: once it is there, Forward with a
// dst allocates nothing.
//
// # Batches and masks
//
// A [Batch] runs a form, or one a head, over many heads and [Sequences] in one call, as the
// operators Attention and LinearAttention of ONNX do. Keys that are not Valid are left out, before
// or after the map, from numerator and denominator alike, so that padding may hold NaN and outputs
// of valid tokens do not change by one bit with it. The mask is on keys: queries in places of
// padding have outputs as well. In a causal batch Past = Lk − Lq aligns the last query with the
// last key.
//
// [Attend] takes tensors (B, H, L, d), in either order in memory, in one call. What it adds to scores
// needs scores, which only [Exact] has: biases, masks of pairs of a query and a key, and the scores
// or weights themselves. It joins past keys and values with new ones. Softcap is a field of Exact,
// and so is part of its streams and gradients.
//
//	r, err := performer.Attend(performer.Exact[float32]{Causal: true}, performer.Call[float32]{
//		Q: q, K: k, V: v, Bias: bias, PastK: pastK, PastV: pastV,
//	})
//
// # Cost
//
// A [Shape] knows the multiply-adds, exponentials and bytes of exact attention, linear attention
// and attention by landmarks, and [Crossover] the length from which the linear form is faster than
// the exact one: some hundred tokens for d = dv = 64 and m = 256. [Auto] is the form of these two
// that is faster for the shapes of a call.
//
// # Logarithms, and no ε
//
// Positive features of points with large norms overflow or underflow. A small ε, added to features
// or to the denominator as is often done, turns attention into an average of all values exactly
// where attention should be sharp. Here nothing is added. Positive maps (rff.LogMap) give ℓ = log
// φ, and every exponential is relative to a reference that cancels:
//
//   - Each feature f has an integer N_f with ℓ_jf ≤ N_f·ln 2 for the keys so far. S_f = Σ_j
//     exp(ℓ_jf − N_f·ln 2)·[v_j, 1] holds numerator and denominator. When a key exceeds the
//     reference, N_f grows, as the running maximum of online softmax does [Milakov & Gimelshein
//     2018], and S_f is multiplied by a power of two, which rounds nothing. N_f·ln 2 is a sum of
//     two numbers, so that the difference to a logarithm near it is exact too.
//   - Each query has one number M_i = max_f(ℓ_if + N_f·ln 2), and weighs S_f by
//     exp(ℓ_if + N_f·ln 2 − M_i). Numerator and denominator share M_i, so that M_i cancels in the
//     quotient. Unnormalised outputs are multiplied by exp(M_i), which overflows only if the
//     result does.
//
// At least one feature of a row has the weight 1 and a sum of at least ½: the denominator cannot
// underflow. So normalised outputs are averages of values wherever log-features are numbers of the
// type. Accuracy is limited by ℓ itself: a float32 is accurate to 2⁻²⁴ of its size, so that ℓ of
// size 500 has an error of 3·10⁻⁵.
//
// Log-features beyond ±2²⁷·ln 2 = ±9·10⁷ are far: a float32 of that size is accurate to 8. The
// reference of a far feature is the largest log-feature itself, not a multiple of ln 2, and an
// exponential takes sums from one reference to another. A query finds M_i from differences without
// rounding: ℓ_if + N_f·ln 2 might overflow, and its rounding would exceed the difference between
// two features.
//
// Features of the softmax and the Gaussian kernel have ‖x‖² in their logarithms. All log-features
// of a point are −Inf where ‖x‖² is beyond the range of the type: from norms of about 10¹⁹ on in
// float32, of 10¹⁵⁴ in float64. Such a key has no weight; such a query gives every key the weight
// zero. Close to the largest numbers of the type projections are out of range too, and log-features
// are NaN.
//
// The features elu+1 cost less than their logarithms and are rarely out of range. Bidirectional,
// normalised attention tries the features first, which is N_f = M_i = 0. If Σ_j φ_jf is outside
// [2⁻²⁰, 2⁴⁰] for a feature, all rows are computed again with logarithms; if a denominator is, its
// row is. So denominators do not underflow here either.
//
// # Causal attention
//
// Tokens are processed in chunks of up to 64. A row of a chunk gets the tokens before the chunk
// from S, and the tokens of the chunk up to its own from the inner products of features; inner
// products with later keys are set to zero. The reference of a chunk comes from the tokens before
// it and its first token. A chunk ends before a token that exceeds the reference by more than 30
// bits in float32, 250 in float64. So the work for a row depends on rows up to it only, and rapidly
// growing norms cost shorter chunks, not accuracy. That growth, times the values, must stay in
// range: float32 values up to 2⁸⁰ are safe. No change of later tokens, to NaN even, changes one bit
// of earlier outputs. Exact attention has the same property, as the running maximum of a row is its
// own.
//
// Normalised attention with at most 128 features elu+1 begins with the features, which is N_f = M_i =
// 0, and goes token by token: a token writes φ_j·[v_j, 1]ᵀ into S and reads S. A query whose features
// may be out of range takes N_f = 0 with an M_i of its own. The first such key ends this part, and
// the tokens from that key on take logarithms, with N_f = 0 to begin with.
//
// With several processors all chunks of a window are computed at the same time: first what each
// gives itself and adds to S, then the sums before each chunk as prefix sums, then the outputs.
// With one processor a window is one chunk, which stays in cache. The bits are the same, because a
// sum that is added to S later is the sum that is added in place.
//
// A product with a zero weight adds a zero to a sum, which changes nothing unless the value is not
// finite. In a chunk or tile with such a value every row is a product of its own, over the keys up
// to it. That may change the sign of a sum that is zero, and such a sum counts as positive.
//
// # Streams
//
// A [State] is attention over a stream of tokens, in constant memory if the form is linear, has
// landmarks or is a [Corrected] with a window. States of several streams merge, in any order, on one
// machine or, with MarshalBinary, on several. A decoder that drafts tokens and takes some back
// returns to a Snapshot by Rollback.
//
//	s, err := a.NewState(d, dv)
//	s.Append(promptK, promptV)
//	out = s.Step(out, q, k, v) // one token
//	mark = s.Snapshot(mark)
//	out = s.Step(out, draftQ, draftK, draftV)
//	s.Rollback(mark)
//
// Features are drawn anew by another call of [New], which returns another Attention. The sums of a
// State mean nothing under other features, so that State refuses them.
//
// # Maps that are not positive
//
// Maps without logarithms (trigonometric, dot product, sign, polynomial, …) take the same path
// without references. Their denominators can be zero or negative, as the kernel can be or its
// estimate. The output is then the result of the division.
//
// # Gradients
//
// [Differentiable] forms take gradients g_i with respect to outputs back to queries, keys and
// values. That takes about three times as long as Forward, and memory that grows neither with L²
// nor, for linear attention, with L. With the weights P_ij = A_ij/Σ_j A_ij and δ_i = g_i·out_i, the
// gradient with respect to log A_ij is P_ij·(g_i·v_j − δ_i). Exact attention computes it a tile at
// a time, from row statistics [Dao et al. 2022]. Linear attention never computes it: it is an inner
// product of [v_j, 1] and [g_i, −δ_i]. With D_i = Σ_f φ_if·Σ_j φ_jf,
//
//	∂L/∂φ(q_i) = Σ_j φ(k_j)·(v_j·g_i − δ_i)/D_i = (S·g_i − δ_i·Σ_j φ(k_j))/D_i
//	∂L/∂φ(k_j) = R·[v_j, 1],  R = Σ_i φ(q_i)/D_i·[g_i, −δ_i]ᵀ   (m×(dv+1))
//	∂L/∂v_j    = Rᵀ·φ(k_j), but for its last element
//
// where sums run over all tokens, or in causal attention over j ≤ i, from the first token to the
// last, and over i ≥ j, from the last to the first [Katharopoulos et al. 2020]. The map takes the
// first two gradients to points (rff.Differentiable). δ_i = φ(q_i)ᵀS·g_i/D_i is a by-product. S is
// summed again as in Forward, as subtracting tokens from S would cancel.
//
// Positive maps stay logarithms: the gradient with respect to ℓ = log φ is φ times the gradient
// with respect to φ, so that references cancel as they do in the outputs, and rff.DifferentiableLog
// takes it to points. Causal attention sums queries on its way back, as ℓ_if − log D_i, with
// references of their own.
//
// # How good is it?
//
// An approximation of attention may be off by 1 % or by 100 %, and outputs do not show it. [Audit]
// measures: it computes exact attention of some rows drawn at random, and tells the error of the
// whole output with an interval, the errors of typical and of the worst rows, how many rows may be
// worse, and how far plain averages of the values are off. An audit is for any number of forms of
// any kind, causal or not, with heads and masks. Sixty-four rows cost 64/L of exact attention.
//
//	audits, err := performer.Audit(performer.Exact[float32]{}, q, k, v, performer.AuditOptions{}, src, a)
//	fmt.Println(audits[0]) // error 1.52 % (95 %: 1.31 … 1.77 %), 9 of 10 rows within 2.4 %, …
//
// [Within] turns the question round. It takes a tolerance, audits forms of growing cost, and returns
// the cheapest form that holds, or exact attention if nothing cheaper does. The form serves later
// calls with queries and keys of the same kind.
//
//	c, err := performer.Within(performer.Exact[float32]{}, 0.02, q, k, v, performer.WithinOptions[float32]{}, src)
//	fmt.Println(c) // 256 landmarks: error 1.6 % (95 %: 1.3 … 1.9 %), 14 times as fast as exact attention; …
//	out := c.Form.Forward(dense.Matrix[float32]{}, q, k, v)
//
// Within needs queries, keys and values. Where only samples of queries and keys are known,
// validate.Choose ranks feature maps by the error of their kernel, mostly by law. Audit compares
// what is left, on outputs.
//
// An audit knows the rows that it draws. A [Predictor] says for every row of an [Attention] how
// large its error may be, without the truth, and takes about nine times as long as the attention.
//
// # Without bias, and how far off
//
// Exact attention is what linear attention replaces where exact attention is too slow, so that
// outputs cannot be compared with the truth there. Two estimates take linear time. An [Unbiased]
// estimates softmax attention without the bias of the ratio, with its standard error, for estimates
// that are averaged over many draws; a [Pilot] says how many features its standard errors need.
// Both refuse where exact attention is cheaper, which it is up to some ten thousand tokens. A
// [Predictor] tells the relative error of each output of an [Attention].
//
//	p, err := performer.NewPredictor(a, performer.PredictorOptions{}, src)
//	errors := p.Predict(nil, q, k, v) // one an output
//
// Both add up numerators and denominators over sets of features. A row of sums carries a power of
// two, which is raised when larger ones come, so that sums of features of any size neither overflow
// nor underflow.
//
// # NaN, Inf and empty sums
//
//   - NaN and Inf in q, k or v reach every output that depends on them. An
//     infinite weight makes ∞/∞ = NaN.
//   - No keys at all: the output is zero, as for a fully masked row elsewhere.
//   - Keys, but every weight of the row exactly zero: 0/0 = NaN, or zero when
//     unnormalised. It takes features that vanish, such as relu's, or scores of −Inf.
//   - Unnormalised outputs beyond the range of the type are ±Inf.
//   - If all values are 1, normalised outputs of positive maps are exactly 1,
//     because numerator and denominator are sums of the same numbers in the same
//     order.
//
// # Determinism and sharing
//
// Work is cut by the number of tokens, not of processors, and sums are merged in
// order: results do not depend on GOMAXPROCS. An Attention, an Exact, a Landmarks, a Corrected, an
// Auto, a Batch and a Predictor may be shared by goroutines. A State and an Unbiased belong to one.
//
// # References
//
//   - [Blanchet & Glynn 2015] J. H. Blanchet, P. W. Glynn: Unbiased Monte Carlo for
//     optimization and functions of expectations via multi-level randomization. Winter
//     Simulation Conference.
//   - [Chen, Epperly, Tropp & Webber 2023] Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber:
//     Randomly pivoted Cholesky: practical approximation of a kernel matrix with few entry
//     evaluations. Communications on Pure and Applied Mathematics 78.
//   - [Choromanski et al. 2021] K. Choromanski, V. Likhosherstov, D. Dohan, X. Song,
//     A. Gane, T. Sarlos, P. Hawkins, J. Davis, A. Mohiuddin, L. Kaiser, D. Belanger,
//     L. Colwell, A. Weller: Rethinking attention with Performers. ICLR 2021.
//   - [Dao et al. 2022] T. Dao, D. Y. Fu, S. Ermon, A. Rudra, C. Ré: FlashAttention: fast
//     and memory-efficient exact attention with IO-awareness. NeurIPS 2022.
//   - [Efron & Tibshirani 1993] B. Efron, R. J. Tibshirani: An introduction to the bootstrap.
//     Chapman & Hall.
//   - [Epperly, Tropp & Webber 2024] E. N. Epperly, J. A. Tropp, R. J. Webber: Embrace rejection:
//     kernel matrix approximation by accelerated randomly pivoted Cholesky. arXiv:2410.03969.
//   - [Katharopoulos et al. 2020] A. Katharopoulos, A. Vyas, N. Pappas, F. Fleuret:
//     Transformers are RNNs: fast autoregressive transformers with linear attention.
//     ICML 2020.
//   - [Knuth 1998] D. E. Knuth: The art of computer programming. Volume 2: Seminumerical
//     algorithms. Third edition, section 4.2.2.
//   - [Milakov & Gimelshein 2018] M. Milakov, N. Gimelshein: Online normalizer
//     calculation for softmax. arXiv:1805.02867.
//   - [Rabe & Staats 2021] M. N. Rabe, C. Staats: Self-attention does not need O(n²)
//     memory. arXiv:2112.05682.
//   - [Welford 1962] B. P. Welford: Note on a method for calculating corrected sums of
//     squares and products. Technometrics 4.
//   - [Williams & Seeger 2001] C. K. I. Williams, M. Seeger: Using the Nyström method to speed up
//     kernel machines. NeurIPS.
package performer
