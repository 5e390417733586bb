// Package ridge learns functions from data with the feature maps of package rff. Bayesian ridge
// regression on D features φ(x) is Gaussian process regression with the kernel φ(x)ᵀφ(x′). The
// regression costs n·D² operations in place of n³.
//
// # What to call
//
//	a model of rows, everything chosen       package ridge/automl
//	fit rows in memory or in files           Fit
//	predict, with error bars                 Model.Predict; means alone, far cheaper: Model.Mean
//	fit rows in parts, or on many machines   NewSums, Sums.Add, Sums.Merge, Sums.MarshalBinary
//	choose a length-scale, a kernel or D     Choose, with length-scales around MedianDistance
//	a kernel itself, up to 100,000 rows      package ridge/kernelridge
//	a length-scale for each column           package ridge/ard
//	more features than D² numbers allow      Fit with Options.Iterative
//	learn maps by gradients of the evidence  Model.Gradient
//	draw functions from the posterior        Model.Sample; for few rows: Model.Pathwise
//	errors without held-out data             Model.LeaveOneOut
//	bands without a law of the noise         Model.Jackknife and Model.WithBands, then Model.Band
//	probabilities of classes                 Classify
//	texts as classes                         CSV.ReadLabels, ClassifyOptions.Labels
//	write a model to a file, and read it     Model.Write, ReadModel
//	write and read a classifier              Classifier.Write, ReadClassifier
//
// # The model
//
// Each output of the targets y ∈ R^p has its own mean and noise:
//
//	y = b + φ(x)ᵀw + ε,  w ~ N(0, s²I),  ε ~ N(0, σ²/ω).
//
// σ² is the noise, s² the prior variance, and ω the weight of a row. The prior of b is flat. The
// function f(x) = b + φ(x)ᵀw is a Gaussian process with the kernel s²·φ(x)ᵀφ(x′) [Rasmussen &
// Williams 2006, section 2.1]. If φ(x)ᵀφ(x′) estimates a kernel k, the model estimates the process
// of s²·k, with the error of the feature map. Let Φ (n×D) hold the features of n rows minus their
// weighted mean φ̄, let y be the targets minus their weighted mean, Ω = diag(ω) and λ = σ²/s². Then
//
//	A = ΦᵀΩΦ + λI = RᵀR
//	mean of w          μ = A⁻¹ΦᵀΩy
//	variance of f(x)   σ²·( ‖R⁻ᵀ(φ(x) − φ̄)‖² + 1/Σω ), for landmarks + s²·(k(x, x) − ‖φ(x)‖²)
//	sample of w        μ + σR⁻¹z,  z ~ N(0, I)
//	log evidence       −½·[ (yᵀΩy − yᵀΩΦμ)/σ² + log det A − D·log λ
//	                        + (n−1)·log(2πσ²) + log Σω − Σ log ω ]
//	leave-one-out      (y_i − f(x_i))/(1 − h_i),  h_i = ω_i·( ‖R⁻ᵀ(φ_i − φ̄)‖² + 1/Σω )
//
// The evidence is the density of the contrasts of y, which do not depend on b. Without an
// intercept, φ̄ and the mean of y are 0, the terms 1/Σω and log Σω vanish, and n replaces n − 1.
//
// # Sums
//
// The model depends on the rows only through n, Σω, Σ log ω, the means φ̄ and ȳ, and the products
// of Φ and y minus their means. Sums holds these in D²/2 + D·p numbers. Sums of different rows can
// be merged [Chan et al. 1983], and MarshalBinary encodes them for other machines.
//
// Sums.Scale before each Add makes sums forget: earlier rows stand for fewer and fewer rows.
//
// Products are float64. Only Fit of float32 rows takes products of blocks in float32, if the noise
// hides their measured rounding.
//
// Add computes the features of 255 rows, subtracts their mean, and adds one triangle of their
// products while the features are in cache. Memory does not grow with n. The order of rows, blocks
// and merges changes sums by rounding only, about 10⁻¹³ relative to their largest element.
//
// # Noise and prior
//
// Variances that Options does not give maximise the evidence. For a given λ the maximum over σ² has
// a closed form. A search over log λ factorises A about 25 times. A tridiagonal form would serve
// all values of λ, but gonum's takes longer than these factorisations together. The factorisations
// use the matrix product of this module, and do not depend on the BLAS that a program sets for
// gonum.
//
// The noise of the model includes the error of the features. With few features, or with a kernel
// that does not fit, the noise exceeds the noise of the data, and error bars remain correct.
//
// # More features
//
// With Options.Iterative the weights come from conjugate gradients in passes over the rows, for
// feature numbers D at which D² numbers do not fit into memory. D = 65,536 needs less than a
// gigabyte. A pass computes the features of up to 256 rows, at most 4 Mi numbers, and adds
// Φᵀ(Ω(ΦV)) for all columns V at once. S = ΦᵀΩΦ is never formed.
//
// The preconditioner is the Nyström approximation of S of a given rank [Frangella et al. 2023],
// with the trace of A. The number of iterations is at most ½·log(1/tolerance) times the root of the
// condition number of the preconditioned A.
//
// The residual r of the weights bounds the error of the means f̂,
//
//	Σω(f(x_i) − f̂(x_i))² ≤ ‖r‖²/(4λ),
//
// because √s/(s + λ) ≤ 1/(2√λ) for each eigenvalue s of S. A column is solved if this bound,
// computed from a residual in float64, is below the tolerance. Most errors are far below the bound.
// Products are those of T. If T does not suffice, later passes use float64.
//
// A sample x of N(0, A⁻¹) solves A·x = ΦᵀΩ^½ε₁ + √λ·ε₂ with normal ε₁ and ε₂, because the right
// side has the covariance A [Lin et al. 2023]. S samples are S more columns of the same passes. All
// that the direct solution computes with A⁻¹ comes from them: the variance φᵀA⁻¹φ at any point has
// the relative standard error √(2/S), and all rows use the same samples, so errors at near rows are
// similar. The coefficients of conjugate gradients estimate log det A, for the evidence [Gardner et
// al. 2018, Ubaru et al. 2017].
//
// λ, unless it is given, is that of the direct solution with 4096 of the features at equal
// distances, or with all of them if there are fewer. Fewer features leave more noise, so λ is too
// large if many more features explain clearly more. Log evidence of 4000 rows of ten columns and
// 1024 features that is lost at the λ of a part of the features:
//
//	noise  λ of all  λ of a half  lost  λ of a quarter  lost
//	0.1    0.0076    0.0050       11    0.025           90
//	1      0.055     0.047        0.8   0.139           25
//
// Iterations fail where the eigenvalues of S decrease slowly and λ is small: short length-scales,
// many columns, hardly any noise. For 20,000 rows of ten columns, 2048 features and λ = 10⁻⁴, where
// 0.3 maximises the evidence, the error bound is above the standard deviation of the targets after
// 150 iterations. The error is a *NotConverged. The direct solution solves such rows in the same
// time as others.
//
// # Choosing
//
//   - The evidence of Choose needs one fit per map, and relies on the model.
//   - Model.LeaveOneOut measures errors with one more pass over the rows.
//   - If scales or a metric were learnt from the rows, only other rows tell: package automl holds
//     rows out.
//
// # Samples
//
// Model.Sample draws weights. A drawn function can be evaluated at any point in D operations. The
// weights have D degrees of freedom. After about D rows all draws agree, even far from the rows,
// where the process of the kernel is uncertain: variance starvation. Model.Pathwise draws the prior
// with features and corrects it by the kernel itself [Wilson et al. 2020], in O(N³) for N rows.
// Landmarks have features that vanish far from them. Posterior, Predict and Band add the variance
// that these features lack, and Sample does not.
//
// # Classification
//
// Classify regresses indicators of the classes, and makes probabilities of the means with a
// temperature β. One pass over the rows is enough to choose λ and β by the loss of leave-one-out,
// and the losses compare maps. On tables of digits, of made classes and of diagnoses the
// probabilities are as good as those of logistic regression whose prior was chosen by folds, or
// better, in a tenth of the time.
//
// A class that lies between others may never have the largest mean. So the scores may be mixed,
//
//	z_c = Σ_l M_lc·β·f_l(x) + b_c.
//
// The penalty of M and b is ½·(‖M − I‖² + ‖b‖²). Classify keeps M = I and b = 0 unless others lower
// the sum of the losses by more than ½·log n for each of their classes² − 1 parameters [Schwarz
// 1978], n = (Σω)²/Σω².
//
// A generator with a fixed seed draws the rows of the loss: as many rows of each class, or all rows
// of a class that has fewer. Weights restore the shares of the classes in the loss, so the order of
// the rows does not matter. A row of weight 0 does not count. The loss of β includes one more row
// of the weight Σω²/Σω, whose class may be any, so that β is finite if all rows are right.
//
// # Files
//
// A model and a classifier are one safetensors file each. The file contains the map:
//
//	model                    Model or Classifier
//	model.map, …             the map, with the parts that package rff lists
//
//	model.weights            of a Model: D×p, float64
//	model.featureMean        φ̄, D numbers, and
//	model.targetMean         ȳ, p numbers: means are ȳ + (φ(x) − φ̄)ᵀ·weights
//	model.centred            true, or false without an intercept: φ̄ and ȳ are zeros
//	model.noise              σ², p numbers
//	model.ratio              λ
//	model.rowWeight          Σω
//	model.logEvidence        as LogEvidence returns it
//	model.root               the lower triangle of R⁻ᵀ, row by row, D(D+1)/2 numbers
//	model.samples            0, or S: model.root then has S samples over √S in rows, S×D
//	model.bound, model.errorOfLog  as Accuracy has them
//	model.errors             of WithBands, ascending for each output, or nil, and
//	model.relative           whether they are relative
//	model.logs               of Bands.Logs, or nil: the weights of g, D×p, the values of g at φ̄,
//	                         and Least
//
//	model.weights            of a Classifier: β·w·M, D×classes
//	model.intercepts         the scores at φ̄, a number for each class
//	model.featureMean        φ̄, D numbers
//	model.labels             the number of labels, or nil, and model.labels.0, … their texts
//
// and the format, kind, version, type and checksum that package rff lists. The bytes of Sums have
// the same format: sums.d, sums.rows, sums.effectiveRows, sums.rowWeight (Σω), sums.logWeight (Σ
// log ω), sums.targetMean, sums.squares, sums.featureMean, sums.cross, and sums.scatter, the lower
// triangle row by row. sums.marks identify the features.
//
// testdata/predict.py predicts from files with NumPy. A file of another version of the format is an
// error; golden files test the format.
//
// # Precision
//
// Means, sums, fits, variances and predictions are float64 for both types. With float32, features
// are rounded to 2⁻²⁴ of their size, means included, which the fit treats as noise of the data, and
// results are rounded. Sums of float32 features take as long as sums of float64 features. float32
// halves the time of the features and the memory of the rows. Sums in float32 would take half as
// long, but their rounding would exceed λ, which is often 10⁻⁶ of the eigenvalues or less.
//
// Sums.Fit gives bounds of the error of a fit, or returns an error. A fit cannot detect noise with
// a standard deviation below 3·10⁻⁷·√n of the targets.
//
// An error names the row of a point, target or weight that is NaN or infinite. Fit refuses sums of
// features that overflow.
//
// # References
//
//   - [Böhning 1992] D. Böhning. Multinomial logistic regression algorithm. Annals of the Institute
//     of Statistical Mathematics 44.
//   - [Brent 1973] R. P. Brent. Algorithms for minimization without derivatives. Prentice-Hall.
//   - [Chan et al. 1983] T. F. Chan, G. H. Golub, R. J. LeVeque. Algorithms for computing the
//     sample variance. The American Statistician 37.
//   - [Frangella et al. 2023] Z. Frangella, J. A. Tropp, M. Udell. Randomized Nyström
//     preconditioning. SIAM Journal on Matrix Analysis and Applications 44(2).
//   - [Friedman 1991] J. H. Friedman. Multivariate adaptive regression splines. Annals of
//     Statistics 19(1).
//   - [Gardner et al. 2018] J. R. Gardner, G. Pleiss, D. Bindel, K. Q. Weinberger, A. G. Wilson.
//     GPyTorch: blackbox matrix-matrix Gaussian process inference with GPU acceleration. NeurIPS.
//   - [Lin et al. 2023] J. A. Lin, J. Antorán, S. Padhy, D. Janz, J. M. Hernández-Lobato, A.
//     Terenin. Sampling from Gaussian process posteriors using stochastic gradient descent.
//     NeurIPS.
//   - [MacKay 1992] D. J. C. MacKay. Bayesian interpolation. Neural Computation 4(3).
//   - [Platt 1999] J. Platt. Probabilistic outputs for support vector machines and comparisons to
//     regularized likelihood methods. Advances in Large Margin Classifiers.
//   - [Quiñonero-Candela & Rasmussen 2005] J. Quiñonero-Candela, C. E. Rasmussen. A unifying view
//     of sparse approximate Gaussian process regression. Journal of Machine Learning Research 6.
//   - [Rasmussen & Williams 2006] C. E. Rasmussen, C. K. I. Williams. Gaussian processes for
//     machine learning. MIT Press.
//   - [Schwarz 1978] G. Schwarz. Estimating the dimension of a model. Annals of Statistics 6.
//   - [Ubaru et al. 2017] S. Ubaru, J. Chen, Y. Saad. Fast estimation of tr(f(A)) via stochastic
//     Lanczos quadrature. SIAM Journal on Matrix Analysis and Applications 38(4).
//   - [Vovk et al. 2005] V. Vovk, A. Gammerman, G. Shafer. Algorithmic learning in a random world.
//     Springer.
//   - [Wilson et al. 2020] J. T. Wilson, V. Borovitskiy, A. Terenin, P. Mostowsky, M. P.
//     Deisenroth. Efficiently sampling functions from Gaussian process posteriors. ICML.
package ridge
