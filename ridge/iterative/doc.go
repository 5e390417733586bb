// Package iterative is the regression of package ridge for more features D than D² numbers fit into
// memory, or D³ operations into the time there is: D = 65,536 in a gigabyte. It finds the weights
// by conjugate gradients, in passes over rows that need not fit into memory either.
//
//	fit, and predict means                   Fit, Model.Mean
//	error bars, and the evidence             Options.Samples; Model.Predict, Model.LogEvidence
//	steps, progress, a file after each step  New, Solver.Run, Solver.Write, ReadSolver
//	keep what was learnt in a file           Model.Write, ReadModel
//
// # The model
//
// is that of package ridge: y = b + φ(x)ᵀw + ε, w ~ N(0, s²I), ε ~ N(0, σ²/ω). With λ = σ²/s² and
// the features Φ (n×D) about their weighted mean φ̄, or about zero without an intercept,
//
//	S = ΦᵀΩΦ,  A = S + λI,  A·w = ΦᵀΩy.
//
// S is never formed. A step forms the features of up to 256 rows, at most 4 Mi numbers, adds
// Φᵀ(Ω(ΦV)) for all columns V at a time, and forgets the features.
//
// # The preconditioner
//
// for a λ that is given is that of Nyström [Frangella et al. 2023]. One pass gives Y = SG for a
// normal matrix G of r columns, and with the shift ν that keeps rounding definite, C the Cholesky
// factor of Gᵀ(Y + νG) = CᵀC,
//
//	P = BBᵀ + ρI,  B = (Y + νG)C⁻¹,  ρ = λ + (tr S − tr BBᵀ)/(D − r).
//
// BBᵀ has the large eigenvalues of S, and P the trace of A. If E = S − BBᵀ is what is left, the
// condition number of P⁻¹A is about 1 + ‖E‖₂/λ, and the number of steps its root times
// ½·log(1/tolerance), at most.
//
// # The error
//
// The residual r of the weights bounds their error: for the functions f of exact weights and f̂ of
// these,
//
//	Σω(f(x_i) − f̂(x_i))² ≤ ‖r‖²/(4λ),
//
// because √s/(s + λ) ≤ 1/(2√λ) for each eigenvalue s of S. A column is solved when this bound is
// below Options.Tolerance, and the residual has been computed anew in float64. Most errors are far
// below the bound.
//
// Passes are those of T: products of float32 for float32, whose sums join sums of float64 every 16
// blocks. A round of conjugate gradients ends where T is exhausted, and the next one solves for the
// residual that is left: iterative refinement. If a round gains less than a factor of 8, passes of
// float64 follow.
//
// # Samples
//
// A sample x of N(0, A⁻¹) solves A·x = ΦᵀΩ^½ε₁ + √λ·ε₂ with normal ε₁ and ε₂, whose covariance is A
// [Wilson et al. 2020, Lin et al. 2023]. S samples are S columns more of the same passes; 16
// columns in all take hardly longer than one. They estimate
//
//   - variances φᵀA⁻¹φ of any number of points, with the relative standard error √(2/S) for each,
//     which for standard deviations is √(1/(2S));
//   - log det A for the evidence, as log det P, which is exact, and tr log(P⁻¹A) from quadratures
//     with the coefficients of conjugate gradients [Gardner et al. 2018, Ubaru et al. 2017]. The
//     standard error is that of the samples among each other. What samples have of D = E‖A^½x‖² too
//     much or too little serves as a control.
//
// # The ratio
//
// A λ that is left open is that of maximum evidence of all rows. The first L steps, passes of
// float64, give an orthonormal basis Q of the block Krylov space of ΦᵀΩy and 15 probes, vectors of
// random signs, one probe fewer for each further output. The matrix QᵀSQ of up to 16·L rows gives
// the quadratures of Gauss for yᵀΩΦA⁻¹ΦᵀΩy and log det A, and so the evidence for every λ at once
// [Golub & Meurant 2010]. The choice ends when the steps since the last look have gained less than
// one unit of log evidence, or where the space is invariant, which is all of S as a rule, or after
// 64 steps. The evidence stays within some hundredths of one unit of that of the exact maximum:
//
//	rows      features  length-scale  noise  exact λ   chosen λ  lost evidence  steps L
//	5000      512       4             0.1    0.0318    0.0314    0.01           18
//	20,000    1024      4             1      0.122     0.124     0.02           14
//	20,000    2048      4             0.1    0.00427   0.00429   0.00           47
//
// Float32, d = 10, the targets a sum of sines and the sine of a product of columns. 1024 rows alone
// would choose 3.9 for the first line and 16 for the second, and lose 321 and 799 units.
//
// The basis serves as the preconditioner: B = QVΘ^½ for QᵀSQ = VΘVᵀ, in place of that of Nyström,
// with up to 1024 columns. The third line takes 14 further steps with it; with a preconditioner of
// rank 128 it takes 175.
//
// # Cost
//
//	                time                        memory
//	ridge           n·D²/2 + D³/3               8·D² bytes and more
//	this package    n·D·(2r + 2k·steps)         8·D·(2r + 4k) bytes and blocks of features
//
// in multiply-adds, k the number of outputs and samples, each counted as at least 16; and n
// transforms a pass. Those of ridge are float64, and those of steps T. A choice of λ by L steps has
// r = 16·L, and products of float64.
//
// With D = 8192, n = 20,000, d = 10, float32, 15 samples and the λ of 1024 rows, 33 steps to the
// tolerance 10⁻⁴ took 14 s of processor time, and the direct solution for the same λ 55 s; their
// means differ by 1.6·10⁻⁵ of the spread of the targets. Two processors of a busy Zen 4.
//
// With D = 65,536, n = 200,000, d = 10, float32, 15 samples and a λ given, that of 1024 rows, 15
// steps took 746 s of processor time and 0.64 GB: 19 minutes of two processors of a busy Zen 4, at
// low priority.
//
// Frequencies with fast transforms, as orf.Hadamard, do not pay for points of few columns: orf.FromMatrix
// of their Frequencies gives the same features by a product, in a fraction of the time for ten
// columns.
//
// # Where it fails
//
//   - Slow decay of the eigenvalues of S together with a small λ: short length-scales, many
//     columns, hardly any noise. The rows above with λ = 10⁻⁴, where maximum evidence is 0.3, have
//     an error bound of more than the spread of the targets after 150 steps of one column, which
//     took 44 s of processor time. Package ridge solves them in the same time as any others. The
//     error is a *NotConverged.
//   - λ below 2⁻⁴⁰·tr S/√D: New returns an error.
//   - Many rows whose evidence wants a small λ: 64 steps may end before λ does, and the weights take
//     many more. With the targets of The ratio, noise 0.1, n = 200,000, D = 8192, float32 and 15
//     samples λ is 1.6·10⁻⁴ after 64 steps, and the error bound is 2.8 spreads of the targets after
//     51 more: 549 s of processor time and 0.31 GB. The error at new points is 0.46 then, of a
//     spread of 0.82. A λ of 3.2, that of 1024 rows, is solved in 16 steps, 77 s, with the error
//     0.65, and 0.03 in 138 steps, 414 s, with 0.58.
//   - Few features: below D of some thousands package ridge is as fast, and exact.
//   - Few samples: 16 of them give error bars that are right to 18 %, all of them too wide or all
//     too narrow among near points. Samples of weights have D degrees of freedom: far from all rows
//     see Samples in package ridge.
//
// There are no leave-one-out errors, exact variances, degrees of freedom and sums that merge: for
// those, ridge with fewer features.
//
// # Files
//
// Models and solvers are safetensors files, which contain the map, with the format, version, type
// and checksum that package rff lists.
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
// A solver is solver.map, moments of the rows, B, ρ and the columns, or Q and QᵀSQ while λ is
// chosen; the rows are not in the file.
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
