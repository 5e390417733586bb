// Package rff holds feature maps φ: R^d → R^D whose inner products φ(x)ᵀφ(y) estimate or equal a
// kernel k(x, y). They turn a method that needs the n×n Gram matrix of n points into a linear one
// on n×D features.
//
// # Where to begin
//
//   - a Gaussian kernel, for regression or classification: [Gaussian] over orf.GramSchmidt, or over
//     orf.Hadamard in hundreds of dimensions
//   - attention: [SDERF], fitted to a sample of queries and keys, or [SoftmaxPositive]; package
//     performer takes either
//   - other kernels: "Which map when" below
//   - queries and keys with means far from zero: [Centred]
//   - any kernel, from points: [Nystroem] with package landmarks
//   - a function of your own: [New]
//   - which one, and how many features? Compare and Theory of package validate
//   - columns in units of their own: [Standardise] before a map, by [Compose]
//   - PCA or another affine map before a map: [PCA], [Compose]; a sum of kernels: [Sum]
//   - gradients of learnt functions, for a metric: [Gradients]
//   - gradients: [Differentiable]; files: [Write], [Read]
//
// # The general scheme
//
// Most maps are made of m random frequencies w_i ∈ R^d (package orf), a scalar function h and a few
// functions f:
//
//	φ(x) = h(x)/√m · [f₁(w₁ᵀx) … f₁(w_mᵀx), …, f_l(w₁ᵀx) … f_l(w_mᵀx)]
//
// φ(x)ᵀφ(y) is the mean over i of h(x)h(y)·Σ_k f_k(w_iᵀx)f_k(w_iᵀy). Its expectation is k(x, y) if
// each row w_i has the right law, N(0, I) unless the map says otherwise. Rows may depend on each
// other: the estimate stays unbiased, and orthogonal rows lower its variance [Yu et al. 2016]. New
// builds the scheme from any functions. The constructors below are special cases that work on whole
// slices.
//
//	constructor          kernel             h, f                         D    features
//	DotProduct           xᵀy                1; t                         m    any sign
//	Gaussian             exp(−‖x−y‖²/2ℓ²)   1; cos, sin                  2m   any sign
//	GaussianPhase        exp(−‖x−y‖²/2ℓ²)   1; √2·cos(t + b)             m    any sign
//	Laplacian            exp(−‖x−y‖₁/ℓ)     1; cos, sin, w Cauchy        2m   any sign
//	Matern               Matérn 1/2 … 5/2   1; cos, sin, w multivariate t 2m  any sign
//	SoftmaxTrig          exp(s·xᵀy)         e^(s‖x‖²/2); cos, sin        2m   any sign
//	SoftmaxPositive      exp(s·xᵀy)         e^(−s‖x‖²/2); e^t            m    positive
//	SoftmaxOptimal       exp(s·xᵀy)         e^(−s‖x‖²/2); e^(a‖w‖² + Bt)  m    positive
//	SoftmaxHyperbolic    exp(s·xᵀy)         e^(−s‖x‖²/2)/√2; e^t, e^(−t) 2m   positive
//	SADERF, ADERF        exp(s·xᵀy)         SoftmaxOptimal at Ψx and Ψ^(−ᵀ)y m  positive
//	SDERF                exp(s·xᵀy)         e^(−s‖x‖²/2); e^(wᵀAw + wᵀBx)  m    positive
//	GaussianPositive     exp(−‖x−y‖²/2ℓ²)   e^(−‖x‖²/ℓ²); e^t            m    positive
//	GaussianOptimal      exp(−‖x−y‖²/2ℓ²)   e^(−‖x‖²/ℓ²); e^(a‖w‖² + Bt)  m    positive
//	GaussianHyperbolic   exp(−‖x−y‖²/2ℓ²)   e^(−‖x‖²/ℓ²)/√2; e^t, e^(−t)  2m   positive
//	Angular              1 − 2θ/π           1; sign                      m    any sign
//	ArcCosine            arc-cosine 0, 1, 2 1; √2·Θ(t)tⁿ                 m    at least 0
//	Boxes                (κ + κ² + κ³)/3    products of sign(x_j − t)    any  any sign
//
// All of these are unbiased. A length-scale ℓ, in units of x, and a scale s, in inverse squared
// units, act on the projections: wᵀx/ℓ and √s·wᵀx.
//
// Others are exact, without randomness:
//
//	Identity             xᵀy                x                            d    any sign
//	ELU                  φᵀφ, φ = elu + 1   t + 1 or e^t                 d    positive
//	Quadratic            (xᵀy)²             x_i², √2·x_i·x_j    d(d+1)/2      any sign
//	Taylor               1 + t + t²/2, t = s·xᵀy                1+d+d(d+1)/2  any sign
//	Nystroem             any, from landmarks                    landmarks     any sign
//	Spectral             any, from eigenvectors                 rank          any sign
//	Affine, PCA, Scale   zᵀz′, z = A(x − c) + b                 rows of A     any sign
//
// Taylor is exact for its polynomial, which has a bias against exp(s·xᵀy). Nystroem and Spectral
// are exact at their own points (Spectral if it keeps every eigenvalue), and their features are too
// small in norm elsewhere.
//
// # Variance
//
// For independent rows the mean squared error is of order 1/m and known exactly; the constructors
// state it (ArcCosine up to order 1), and package validate computes it. With q = ‖x−y‖² and p =
// ‖x+y‖² after scaling,
//
//	Gaussian            (1−e^(−q))² / (2m)
//	GaussianPhase       (1 + e^(−2q)/2 − e^(−q)) / m
//	any stationary k    (1 + k(2x, 2y) − 2k(x, y)²) / (2m)     cos and sin features
//	SoftmaxTrig         k^(−2)·e^p·(1−e^(−q))² / (2m)
//	positive            k²·(e^p − 1) / m                       Softmax- and GaussianPositive
//	hyperbolic          k²·(e^p − 1)·(1−e^(−p)) / (2m)         Softmax- and GaussianHyperbolic
//	DotProduct          ((xᵀy)² + ‖x‖²‖y‖²) / m
//	Angular             4θ(π−θ) / (mπ²)
//
// [Sutherland & Schneider 2015], [Choromanski et al. 2021]. An estimate says little about a kernel
// value below the root of this error. Half the error takes four times the features.
//
// # Interfaces
//
// Constructors return a Map, or a LogMap where the logarithms of the features are known. A Map may
// also be
//
//   - Differentiable, to take gradients back to points, and DifferentiableLog with derivatives of
//     the logarithms: all maps but Nystroem and Spectral are Differentiable, and all LogMaps are
//     DifferentiableLog;
//   - Paired with another map, for keys;
//   - an Embedding, which returns the landmarks or other points that its features compare x with.
//
// A type assertion tells which interfaces a map has. Code that takes your own maps uses only these
// interfaces. Centred and Compose keep the interfaces of their maps. Sum is Paired if one of
// its maps is, Differentiable if all are, and never a LogMap. All maps print their constructor and
// their parameters.
//
// # Pairs of maps
//
// An estimate may take one map for queries and another for keys, φ(x)ᵀψ(y). SADERF and ADERF
// balance coordinates that are large in queries and small in keys. Such a map φ is Paired, and
// Keys(φ) is ψ. For any other map Keys(φ) is φ, so code that calls Keys works with all maps.
// φ(x)ᵀφ(y) of one side alone does not estimate the kernel. Implement Paired for a pair of maps of
// your own.
//
// # Which map when
//
//   - Regression or classification with a Gaussian kernel: Gaussian with orthogonal frequencies.
//     With independent frequencies its error never exceeds the error of GaussianPhase at the same
//     D, and GaussianPhase needs twice the frequencies.
//   - Rough functions: Matern or Laplacian. Functions with steps: Boxes.
//   - Attention: SoftmaxPositive or SoftmaxHyperbolic, whose weights are positive and whose error
//     vanishes with the kernel. SoftmaxTrig is better only for x ≈ y, where the kernel is large.
//     ELU is cheap but has another kernel. SoftmaxOptimal is better than SoftmaxPositive at the
//     same cost, most of all for large points. SADERF is better still for queries and keys whose
//     coordinates are of unequal size. It needs a sample of both and keeps structured frequencies
//     fast. ADERF also balances directions that are not axes. SDERF has one map for queries and
//     keys.
//   - Similarity by direction: Angular, whose features are ±1/√m.
//   - Polynomials: Quadratic, which is exact, or Nystroem of kernels.Polynomial.
//   - Few dimensions, small s·xᵀy: Taylor or Quadratic, without any variance.
//   - Data near a low-dimensional set, or a kernel without random features: Nystroem, which adapts
//     to the data, unlike random features. It takes O(n³) once and O(n) kernel values for each row.
//
// # Landmarks
//
// The features of Nystroem are good if its landmarks are close to the data, in the space of the
// kernel. Packages landmarks and kmeans choose them. Transform takes any point, landmark or not.
//
// # Maps made of maps
//
//	constructor   features                                kernel
//	Compose       ψ(A(x − c) + b)                         K(A(x − c) + b, A(y − c) + b)
//	Centred       ψ(x − b)·exp(s·(x − b/2)ᵀc)             K = exp(s·xᵀy)
//	Sum           (√w_1·ψ_1(x), …, √w_K·ψ_K(x))           Σ w_k·K_k(x, y)
//	Gradients     ∇(ψᵀw_1)(x), …, ∇(ψᵀw_p)(x)             none
//
// If ψ is an exact map of K, each of the first three is an exact map of the kernel in its row, and
// if ψ is unbiased, so is the result. Sum holds what no single map does, such as a smooth trend and
// rough detail; ridge/ard learns its weights. PCA fits the affine map that centres, whitens and
// reduces data. After whitening every direction counts in a distance. Compose keeps the logarithms
// and derivatives of ψ, so that attention works on it.
//
// Centred subtracts the mean b of queries and the mean c of keys, and compensates for that exactly:
// it estimates the same softmax kernel, with the error that it has at centred points. That is worth
// most where queries or keys have means far from zero, as those of trained transformers have.
//
// # Positive maps
//
// A LogMap also gives log φ. At ‖x‖ = 30 the features of SoftmaxPositive are below e^(−300), which
// is zero in float32. Their logarithms are ordinary numbers, and ratios of sums of features, as in
// attention, are well defined. No ε is added anywhere: an ε in φ drags every such ratio towards a
// plain average.
//
// # Derivatives
//
// Maps are Differentiable: if a loss has the gradients dφ_i with respect to φ(x_i), Backward(dst,
// x, dphi) writes its gradients with respect to x_i, J(x_i)ᵀdφ_i. With z_k = ∂loss/∂(w_kᵀx), such a
// gradient is Wᵀz plus a multiple of ∇h(x):
//
//	map                  z_k                                       multiple of x
//	DotProduct           g_k/√m                                    0
//	Gaussian             (cos(a_k)·g_(m+k) − sin(a_k)·g_k)/(ℓ√m)   0
//	SoftmaxTrig          √s·c·(cos(a_k)·g_(m+k) − sin(a_k)·g_k)    s·φᵀg
//	SoftmaxPositive      √s·φ_k·g_k                                −s·φᵀg
//	  its logarithm      √s·g_k                                    −s·Σ_k g_k
//	SoftmaxOptimal       √((1−4a)s)·φ_k·g_k                        −s·φᵀg
//	SoftmaxHyperbolic    √s·(φ_k·g_k − φ_(m+k)·g_(m+k))            −s·φᵀg
//	  its logarithm      √s·(g_k − g_(m+k))                        −s·Σ_k g_k
//	ArcCosine            √(2/m)·n·Θ(t)·t^(n−1)·g_k                 0
//
// Backward costs at most what Transform costs, projecting n rows back and O(n·D).
//
// Here g = dφ, t = w_kᵀx, a_k is the argument of cos and sin, and c their factor. Positive maps of
// the Gaussian kernel have 1/ℓ for √s and −2/ℓ² for −s. SADERF and ADERF have the gradient of
// SoftmaxOptimal at Ψx times Ψᵀ. Positive maps are DifferentiableLog: LogBackward takes gradients
// with respect to log φ, for training attention in log space. It takes no exponential and projects
// once, as LogTransform does.
//
// The features of Angular, of Boxes and of ArcCosine of order 0 are constant between jumps. So the
// derivative of these maps is 0, and nothing can be learnt through them. The ramp of
// order 1 has the derivative Θ(t) with Θ(0) = ½, a subgradient. ELU has the slope 1 on both sides
// of 0. A map made by New has derivatives where its Scheme has, and CanBackward tells beforehand.
// Nystroem and Spectral would need gradients of their kernels and are not Differentiable.
//
// NaN or ±Inf in a row of dφ gives elements of the result that are not finite in this row. NaN or
// ±Inf in a row of x does the same, except for DotProduct, Identity and affine maps, whose
// derivatives do not depend on x.
//
// # Cost, memory, determinism
//
// Transform projects a block of 64 rows into the place of their features and finishes them there,
// while they are in cache. It takes O(nmd), or O(nm log d) with structured frequencies, plus O(nD)
// for the functions, and writes nothing but dst. Goroutines share the blocks. The bits of a row of
// φ depend neither on other rows nor on GOMAXPROCS.
//
// Every map is immutable: goroutines may share it. A workspace of a few tens of rows per goroutine
// is kept for later calls of Backward, of SADERF and ADERF and of maps made of maps; nothing is
// allocated then. In Transform of Identity and ELU dst may be x, in their Backward and LogBackward
// also the gradient.
//
// Frequencies come from the caller; phases, scales and Cauchy frequencies are drawn from a
// rand.Source by the constructor, all at once, in float64, and are rounded once.
//
// # NaN and infinity
//
// A NaN or infinite coordinate makes features NaN or infinite in its row and no other. Functions
// that are flat somewhere (sign, steps, ramps, exponentials of −Inf) give NaN there, because a
// constant would hide the input. Logarithms that contain a multiple of ‖x‖² are −Inf if it is out
// of range, and NaN if a projection is out of range in the other direction too.
//
// # Files
//
// Write writes a map as a safetensors file, with all that it drew, fitted and is made of, and Read
// makes the same map of it. Arrays are tensors and parameters are metadata, by the names of the
// arguments of the constructor, of fields of kernels, and of maps inside of maps:
//
//	map                      the constructor, as in Gaussian; Keys is the map of keys of map.of
//	map.w                    Explicit, Hadamard or Givens, with
//	map.w.frequencies          W (m×d), of Explicit
//	map.w.ensemble             its law, or nil; map.w.ensemble.fixedLength and so on
//	map.w.d, map.w.rows, …     of the structured: frequency k of a block is lengths[k] times row
//	                           rows[k] of the operator of the block
//	map.w.signs                blocks × factors × d', the diagonals of D_i
//	map.w.axes, map.w.angles   blocks × rotations × 2, i and j, cos θ and sin θ
//	map.lengthScale, map.scale, map.a, …   parameters, as text
//	map.phases, map.gains, map.offsets     one number for each feature or frequency
//	map.first, map.then, map.of            maps, with the same parts
//	map.maps, map.maps.0, …, map.weights   the number of maps of Sum, the maps and their weights
//	map.k, map.k.lengthScale, …            the kernel of Nystroem and Spectral
//	map.a, map.center, map.offset          of Affine and PCA
//	map.center, map.factors                of Scale and Standardise
//	map.points, map.coefficients           of Nystroem and Spectral
//	map.of, map.weights                    of Gradients: ψ and W
//	map.places                             of Boxes: the places of signs in map.k.thresholds
//	format, version, type, checksum        randfeat, 1, float32 or float64, and a CRC-32
//
// testdata/evaluate.py evaluates files with NumPy. Later versions read the files of this version;
// tests with golden files ensure that. Files hold no executable code. Read returns an error for a
// file that is damaged or made up, or of the other element type.
//
// # Sizes
//
// Features, points, frequencies and Gram matrices that would take more than 2⁴⁰ bytes, or 2³⁰ on
// 32-bit systems, are too large. The error of the constructor names the argument and the size.
//
// # References
//
//   - [Bengio et al. 2004] Y. Bengio, O. Delalleau, N. Le Roux, J.-F. Paiement, P. Vincent, M.
//     Ouimet. Learning eigenfunctions links spectral embedding and kernel PCA. Neural Computation
//     16.
//   - [Charikar 2002] M. Charikar. Similarity estimation techniques from rounding algorithms. STOC.
//   - [Cho & Saul 2009] Y. Cho, L. K. Saul. Kernel methods for deep learning. NeurIPS.
//   - [Choromanski, Rowland & Weller 2017] K. Choromanski, M. Rowland, A. Weller. The unreasonable
//     effectiveness of structured random orthogonal embeddings. NeurIPS.
//   - [Choromanski et al. 2021] K. Choromanski et al. Rethinking attention with Performers. ICLR.
//   - [Katharopoulos et al. 2020] A. Katharopoulos, A. Vyas, N. Pappas, F. Fleuret. Transformers
//     are RNNs: fast autoregressive transformers with linear attention. ICML.
//   - [Likhosherstov et al. 2022] V. Likhosherstov, K. Choromanski, A. Dubey, F. Liu, T. Sarlos, A.
//     Weller. Chefs' random tables: non-trigonometric random features. NeurIPS 2022.
//   - [Likhosherstov et al. 2023] V. Likhosherstov, K. Choromanski, A. Dubey, F. Liu, T. Sarlos, A.
//     Weller. FAVOR#: sharp attention kernel approximations via new classes of positive random
//     features. arXiv:2302.00787.
//   - [Rahimi & Recht 2007] A. Rahimi, B. Recht. Random features for large-scale kernel machines.
//     NeurIPS.
//   - [Rasmussen & Williams 2006] C. E. Rasmussen, C. K. I. Williams. Gaussian Processes for
//     Machine Learning. MIT Press.
//   - [Sutherland & Schneider 2015] D. J. Sutherland, J. Schneider. On the error of random Fourier
//     features. UAI.
//   - [Williams & Seeger 2001] C. K. I. Williams, M. Seeger. Using the Nyström method to speed up
//     kernel machines. NeurIPS.
//   - [Yu et al. 2016] F. X. Yu, A. T. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar.
//     Orthogonal random features. NeurIPS.
package rff
