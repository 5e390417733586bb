// Package rff holds feature maps φ: R^d → R^D whose inner products φ(x)ᵀφ(y) estimate or equal a
// kernel k(x, y). They turn a method that needs the n×n Gram matrix of n points into a linear one
// on n×D features.
//
// # Where to begin
//
//   - a Gaussian kernel, for regression or classification: [Gaussian] over orf.GramSchmidt, or over
//     orf.Hadamard in hundreds of dimensions
//   - attention: [SDERF], which [FitSDERF] fits to a sample of queries and keys, or
//     [SoftmaxPositive]; package performer takes either
//   - other kernels: the table below, and docs/maps.md, which says which map when
//   - queries and keys with means far from zero: [Centred]
//   - a sum or multiple of kernels, or a kernel of another map: [Random]
//   - any kernel, from points: [Nystroem] with package landmarks
//   - a function of your own: [New]
//   - which one, and how many features? Compare and Theory of package validate
//   - columns in units of their own: [Standardise] before a map, by [Compose]
//   - PCA or another affine map before a map: [PCA], [Affine]; a sum of kernels: [Sum]
//   - gradients of learnt functions, for a metric: [Gradients]
//   - gradients: [Differentiable]; files: [Write], [Read]
//
// # Specs
//
// A map has a recipe, a value of a type of Spec, and Draw makes the map over frequencies of package
// orf:
//
//	w, err := orf.Draw[float64](orf.GramSchmidt{}, m, d, src)
//	phi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
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
// builds the scheme from any functions. The types of Spec below are special cases that work on
// whole slices.
//
//	Spec                 kernel             h, f                         D    features
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
//	Nystroem             any, from landmarks        up to the landmarks       any sign
//	Spectral             any, from eigenvectors                 rank          any sign
//	Affine               zᵀz′, z = A(x − c) + b                 rows of A     any sign
//
// # Variance
//
// For independent rows the mean squared error is of order 1/m and known exactly; the types of Spec
// state it (ArcCosine up to order 1), and package validate computes it. For a stationary kernel and
// cos and sin features, for example, it is (1 + k(2x, 2y) − 2k(x, y)²)/(2m) [Sutherland & Schneider
// 2015]. An estimate says little about a kernel value below the root of this error. Half the error
// takes four times the features.
//
// # Interfaces
//
// A Map may also be
//
//   - a LogMap, with logarithms of positive features;
//   - Differentiable, to take gradients back to points, and DifferentiableLog with derivatives of
//     the logarithms: all maps but Nystroem and Spectral are Differentiable, and all LogMaps are
//     DifferentiableLog;
//   - Paired with another map, for keys: SADERF and ADERF, and maps made of them.
//
// A type assertion tells which interfaces a map has. All maps print what they are made of.
//
// # Maps made of maps
//
// Compose applies an affine map first, Centred subtracts the means of queries and keys, Sum puts
// features side by side, and Gradients has the gradients of learnt functions. If ψ is an exact map
// of K, Compose, Centred and Sum of ψ are exact maps of their kernels, and if ψ is unbiased, so is
// the result. Sum holds what no single map does, such as a smooth trend and rough detail; ridge/ard
// learns its weights.
//
// # Derivatives
//
// Maps are Differentiable: if a loss has the gradients dφ_i with respect to φ(x_i), Backward(dst,
// x, dphi) writes its gradients with respect to x_i, J(x_i)ᵀdφ_i. With z_k = ∂loss/∂(w_kᵀx), such a
// gradient is Wᵀz plus a multiple of ∇h(x), which docs/maps.md lists. Backward costs at most what
// Transform costs, projecting n rows back and O(n·D). LogBackward of positive maps takes gradients
// with respect to log φ, for training attention in log space. It takes no exponential and projects
// once, as LogTransform does.
//
// The derivatives of Angular, of Boxes and of ArcCosine of order 0 are 0, because the features are
// constant between jumps. A map made by New has derivatives where its Scheme has, and CanBackward
// tells beforehand.
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
// Frequencies come from the caller; Draw draws phases, gains and places from the Src of the Spec,
// all at once, in float64, and they are rounded once.
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
// makes the same map of it. docs/maps.md lists the parts of files.
// testdata/evaluate.py evaluates files with NumPy. Files hold no executable code. Read returns an
// error for a file that is damaged or made up, of the other element type, or of another version of
// the format; golden files test the format.
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
