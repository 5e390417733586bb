// Package iterative fits the regression of package ridge for feature numbers D at which D² numbers
// do not fit into memory or D³ operations take too long. D = 65,536 needs less than a gigabyte. The
// weights come from conjugate gradients in passes over rows, which need not fit into memory.
//
//	fit, and predict means                   Fit, Model.Mean
//	error bars, and the evidence             Options.Samples; Model.Predict, Model.LogEvidence
//	steps and progress                       New, Solver.Run, Solver.Model
//	write a model to a file                  Model.Write, ReadModel
//
// # The model
//
// The model is y = b + φ(x)ᵀw + ε, w ~ N(0, s²I), ε ~ N(0, σ²/ω), as in package ridge. Let λ =
// σ²/s², and let Φ (n×D) hold the features minus their weighted mean φ̄, or the features themselves
// without an intercept. The weights solve
//
//	S = ΦᵀΩΦ,  A = S + λI,  A·w = ΦᵀΩy.
//
// The package never forms S. A step computes the features of up to 256 rows, at most 4 Mi numbers,
// and adds Φᵀ(Ω(ΦV)) for all columns V at once.
//
// # The preconditioner
//
// A given λ uses the Nyström preconditioner [Frangella et al. 2023]. One pass computes Y = SG for a
// normal matrix G of r columns. The shift ν keeps Gᵀ(Y + νG) positive definite despite rounding.
// With the Cholesky factor C of Gᵀ(Y + νG) = CᵀC,
//
//	P = BBᵀ + ρI,  B = (Y + νG)C⁻¹,  ρ = λ + (tr S − tr BBᵀ)/(D − r).
//
// BBᵀ approximates the large eigenvalues of S, and P has the trace of A. The condition number of
// P⁻¹A is about 1 + ‖S − BBᵀ‖₂/λ. The number of steps is at most the root of the condition number
// times ½·log(1/tolerance).
//
// # The error
//
// The residual r of the weights bounds the error of the means. For the function f of the exact
// weights and f̂ of the computed weights,
//
//	Σω(f(x_i) − f̂(x_i))² ≤ ‖r‖²/(4λ),
//
// because √s/(s + λ) ≤ 1/(2√λ) for each eigenvalue s of S. A column is solved if this bound,
// computed from a residual in float64, is below Options.Tolerance. Most errors are far below the
// bound.
//
// Products are those of T. Sums of 16 blocks in float32 are added to sums in float64. A round of
// conjugate gradients ends when the rounding of T stops its progress. The next round solves for the
// remaining residual: iterative refinement. If a round reduces a residual by less than a factor of
// 8, later passes use float64.
//
// # Samples
//
// A sample x of N(0, A⁻¹) solves A·x = ΦᵀΩ^½ε₁ + √λ·ε₂ with normal ε₁ and ε₂, because the right
// side has the covariance A [Wilson et al. 2020, Lin et al. 2023]. S samples are S more columns of
// the same passes. Passes with 16 columns take hardly longer than passes with one. The samples
// estimate
//
//   - the variance φᵀA⁻¹φ at any point, with the relative standard error √(2/S), and so the
//     standard deviation with √(1/(2S));
//   - log det A, for the evidence: log det P is exact, and tr log(P⁻¹A) comes from quadratures with
//     the coefficients of conjugate gradients [Gardner et al. 2018, Ubaru et al. 2017]. Its
//     standard error is that of the mean over samples. The known expectation E‖A^½x‖² = D serves as
//     a control variate.
//
// # The ratio
//
// Unless λ is given, it maximises the evidence of all rows. The first L steps, passes in float64,
// compute an orthonormal basis Q of the block Krylov space of ΦᵀΩy and of probes, vectors of random
// signs: 16 columns in all. Gauss quadratures of the matrix QᵀSQ, of up to 16·L rows, approximate
// yᵀΩΦA⁻¹ΦᵀΩy and log det A, and so the evidence, for every λ at once [Golub & Meurant 2010]. The
// choice ends when the steps since the previous evaluation have gained less than one unit of log
// evidence, when the space is invariant under S, or after 64 steps. The evidence at the chosen λ is
// within some hundredths of the maximum:
//
//	rows      features  length-scale  noise  exact λ   chosen λ  lost evidence  steps L
//	5000      512       4             0.1    0.0318    0.0314    0.01           18
//	20,000    1024      4             1      0.122     0.124     0.02           14
//	20,000    2048      4             0.1    0.00427   0.00429   0.00           47
//
// The table has float32, d = 10, and targets that sum sines and a sine of a product of columns. The
// evidence of 1024 rows alone chooses 3.9 in the first line and 16 in the second, and loses 321 and
// 799 units.
//
// The basis is also the preconditioner: B = QVΘ^½ for QᵀSQ = VΘVᵀ, with up to 1024 columns. The
// third line takes 14 further steps with this preconditioner, and 175 with a Nyström preconditioner
// of rank 128.
//
// # Cost
//
//	                time                        memory
//	ridge           n·D²/2 + D³/3               8·D² bytes and more
//	this package    n·D·(2r + 2k·steps)         8·D·(2r + 4k) bytes and blocks of features
//
// Times are multiply-adds, beside n transforms a pass. k is the number of outputs and samples, and
// numbers of columns below 16 count as 16. Products are float64 in ridge, T in steps, and float64
// while λ is chosen, where r = 16·L.
//
// With D = 8192, n = 20,000, d = 10, float32, 15 samples and a given λ, 33 steps to the tolerance
// 10⁻⁴ took 14 s of processor time, and ridge took 55 s, on two cores of a busy Zen 4. The means
// differ by 1.6·10⁻⁵ of the standard deviation of the targets. With D = 65,536, n = 200,000 and
// otherwise the same, 15 steps took 746 s of processor time and 0.64 GB.
//
// For points of few columns, frequencies with fast transforms, such as orf.Hadamard, are slower
// than orf.FromMatrix of their Frequencies, which computes the same features by a matrix product.
//
// # Where it fails
//
//   - The eigenvalues of S decrease slowly and λ is small: short length-scales, many columns,
//     hardly any noise. For the 20,000 rows above with λ = 10⁻⁴, where 0.3 maximises the evidence,
//     the error bound is above the standard deviation of the targets after 150 steps. The error is
//     a *NotConverged. Package ridge solves such rows in the same time as others.
//   - λ is below 2⁻⁴⁰·tr S/√D: New returns an error.
//   - The evidence of many rows prefers a small λ: 64 steps may end the choice early, and the
//     weights take many more steps. With noise 0.1, n = 200,000, D = 8192 and 15 samples, λ is
//     1.6·10⁻⁴ after 64 steps, and the error bound is 2.8 standard deviations of the targets after
//     51 more (549 s). The error at new points is 0.46. The given λ = 3.2 takes 16 steps and 77 s
//     for an error of 0.65, and λ = 0.03 takes 138 steps and 414 s for 0.58.
//   - D is below some thousands: package ridge is as fast, and exact.
//   - There are few samples: with 16 samples a standard deviation has a relative error of 18 %, and
//     the errors at near points have the same sign. Far from all rows, samples underestimate the
//     variance as samples of package ridge do.
//
// Leave-one-out errors, exact variances, degrees of freedom and sums that merge need package ridge.
//
// # Files
//
// A model is a safetensors file that contains the map, with the format, version, type and checksum
// that package rff lists.
//
//	model.map, …             the map
//	model.weights            D×p, float64
//	model.samples            D×S
//	model.facts.featureMean  φ̄, D numbers, and
//	model.facts.targetMean   ȳ, p numbers: means are ȳ + (φ(x) − φ̄)ᵀ·weights
//	model.facts.noise        σ², p numbers
//	model.facts.ratio        λ
//	model.facts.base         1/Σω, or 0 without an intercept
//	model.facts.bound        as Bound returns it, p numbers
//	model.facts.evidence     value and error, as LogEvidence returns them
//
// # References
//
//   - [Frangella et al. 2023] Z. Frangella, J. A. Tropp, M. Udell. Randomized Nyström
//     preconditioning. SIAM Journal on Matrix Analysis and Applications 44(2).
//   - [Gardner et al. 2018] J. R. Gardner, G. Pleiss, D. Bindel, K. Q. Weinberger, A. G. Wilson.
//     GPyTorch: blackbox matrix-matrix Gaussian process inference with GPU acceleration. NeurIPS.
//   - [Golub & Meurant 2010] G. H. Golub, G. Meurant. Matrices, Moments and Quadrature with
//     Applications. Princeton University Press.
//   - [Hestenes & Stiefel 1952] M. R. Hestenes, E. Stiefel. Methods of conjugate gradients for
//     solving linear systems. Journal of Research of the National Bureau of Standards 49(6).
//   - [Lin et al. 2023] J. A. Lin, J. Antorán, S. Padhy, D. Janz, J. M. Hernández-Lobato, A.
//     Terenin. Sampling from Gaussian process posteriors using stochastic gradient descent.
//     NeurIPS.
//   - [Ubaru et al. 2017] S. Ubaru, J. Chen, Y. Saad. Fast estimation of tr(f(A)) via stochastic
//     Lanczos quadrature. SIAM Journal on Matrix Analysis and Applications 38(4).
//   - [Wilson et al. 2020] J. T. Wilson, V. Borovitskiy, A. Terenin, P. Mostowsky, M. P.
//     Deisenroth. Efficiently sampling functions from Gaussian process posteriors. ICML.
package iterative
