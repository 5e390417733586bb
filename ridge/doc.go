// Package ridge learns functions from data with the feature maps of package rff. Bayesian ridge
// regression on D features φ(x) is Gaussian process regression with the kernel φ(x)ᵀφ(x′), at the
// cost of n·D² in place of n³.
//
// # What to call
//
//	fit rows in memory                       Fit
//	predict, with error bars                 Model.Predict; means alone, far cheaper: Model.Mean
//	fit rows in .npy or CSV files            Sum with NPY or CSV, then Sums.Fit
//	rows that come in parts, or elsewhere    NewSums, Sums.Add, Sums.Merge, Sums.MarshalBinary
//	choose a length-scale, a kernel or D     Choose, beginning around MedianDistance
//	a length-scale for each column           package ridge/ard
//	more features than D² numbers allow      package ridge/iterative
//	learn maps by gradients of the evidence  Model.Gradient
//	draw functions from the posterior        Model.Sample; of few rows: Model.Pathwise
//	errors without data held back            Model.LeaveOneOut
//	probabilities of classes                 Logistic; faster: OneVersusRest
//	keep what was learnt in a file           Model.Write, ReadModel; Classifier.Write, ReadClassifier
//	predict rows one by one                  Model.Predictor; from a mapped file: Predictor.Write, ViewPredictor
//
// # The model
//
// Targets y ∈ R^p have, for each output, a mean of its own and noise:
//
//	y = b + φ(x)ᵀw + ε,  w ~ N(0, s²I),  ε ~ N(0, σ²/ω).
//
// σ² is the noise, s² the prior variance, ω the weight of a row, and the prior of b is flat. The function
// f(x) = b + φ(x)ᵀw is a Gaussian process with the kernel s²·φ(x)ᵀφ(x′) [Rasmussen & Williams 2006,
// section 2.1]. If φ(x)ᵀφ(x′) estimates a kernel k, the model estimates the process of s²·k, with
// an error that follows the law of the map. With the features of n rows in Φ (n×D), centred at
// their weighted mean φ̄, Ω = diag(ω) and λ = σ²/s²,
//
//	A = ΦᵀΩΦ + λI = RᵀR
//	mean of w          μ = A⁻¹ΦᵀΩy
//	variance of f(x)   σ²·( ‖R⁻ᵀ(φ(x) − φ̄)‖² + 1/Σω )
//	sample of w        μ + σR⁻¹z,  z ~ N(0, I)
//	log evidence       −½·[ (yᵀΩy − yᵀΩΦμ)/σ² + log det A − D·log λ + (n−1)·log(2πσ²) + log Σω − Σ log ω ]
//	leave-one-out      (y_i − f(x_i))/(1 − h_i),  h_i = ω_i·( ‖R⁻ᵀ(φ_i − φ̄)‖² + 1/Σω )
//
// y is about its weighted mean here. The evidence is the density of the contrasts of y, which do
// not depend on b. Without an intercept nothing is centred, 1/Σω and log Σω are left out, and n − 1
// is n.
//
// # Sums
//
// All of this comes from sums over rows: n, Σω, Σ log ω, the means φ̄ and ȳ, and the products of Φ
// and y about their means. Sums holds them, in D²/2 + D·p numbers. Sums of different rows merge
// [Chan et al. 1983], on one machine or many, and travel as bytes. The sums of a fold are subtracted
// from those of all rows, and the squared errors at the rows of a fold are a quadratic form of its
// sums, so that cross-validation reads the rows once.
//
// Add forms the features of 255 rows, takes their mean from them, adds one triangle of their
// products while they are in cache, and forgets them. Memory does not grow with n. The order of rows,
// blocks and merges changes rounding only: sums agree to some 10⁻¹³ relative to their largest element.
//
// # Noise and prior
//
// Options leaves the variances to the evidence. For a ratio λ the evidence has its maximum over σ²
// in closed form, and λ is found by a search on its logarithm, with a Cholesky factorisation for
// each of some 25 values. One tridiagonal form would serve all values, but gonum's takes longer
// than these factorisations together.
//
// Products that the factorisations need are those of this module. They do not touch the BLAS that a
// program has set for gonum, and do not depend on it.
//
// The noise of the model is what the features do not explain: with few features, or a kernel that
// does not fit, it is more than the noise of the data, and bands are as wide as the errors are.
//
// # Choosing
//
//   - By evidence, if the rows are few or a pass over them is expensive: one fit per map. The
//     evidence trusts the model.
//   - By folds, if only errors count. Costs one pass and K + 1 fits.
//   - By leave-one-out, for few rows. Costs as much again as the sums.
//
// # Samples
//
// Model.Sample draws weights, so that each draw is a function that can be evaluated at any point,
// at the cost of D operations. Weights have D degrees of freedom. When about D rows have used them
// up, all draws agree, even far from the rows, where the process of the kernel is uncertain:
// variance starvation. Model.Pathwise draws the prior with features and corrects it by the kernel
// itself [Wilson et al. 2020]. It costs O(N³) for N rows.
//
// # Classification
//
// Logistic maximises the likelihood of the classes and reads the rows some hundred times.
// OneVersusRest is regression on the classes, from the same sums as regression, with one
// parameter more, the temperature: much faster, nearly as often right for classes without an order,
// and with a larger log loss where classes overlap. For classes with an order it is less often right:
// see there.
//
// # Files
//
// A model, a classifier and a predictor are one safetensors file each, which contains the map:
//
//	model                    Model, CentredClassifier, Classifier or Server
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
//	model.factor             the upper triangle of R, row by row, D(D+1)/2 numbers
//
//	model.weights            of a CentredClassifier: D×classes
//	model.intercepts         b, a number for each class
//	model.featureMean        φ̄, D numbers; not of a Classifier, where φ̄ is 0
//
//	model.base               of a Server, beside its weights, means and noise: 1/Σω, or 0 without an intercept
//	model.inverse            the lower triangle of R⁻ᵀ, row by row, float32
//
// and the format, version, type and checksum that package rff lists. testdata/predict.py predicts
// from files with NumPy. Later versions read the files of this version; tests with golden files
// ensure that.
//
// # Precision
//
// Means, sums, fits, variances and predictions are float64 whatever T is. float32 costs the rounding
// of the features to 2⁻²⁴ of their size, means included, which the fit sees as noise of the data, and
// the rounding of what is returned. Sums of float32 take as long as those of float64; float32 halves
// the time of the features and the memory of the rows. Sums in float32 would take half as long, and
// their rounding would be larger than λ, which is often 10⁻⁶ of the eigenvalues and less.
//
// A fit is right to the bounds that Sums.Fit gives, or an error. Noise far below the signal, with a
// standard deviation below 3·10⁻⁷·√n of the targets, is not seen.
//
// Points, targets and weights that are NaN or infinite are errors that name the row. Features that
// overflow make sums that Fit refuses.
//
// # References
//
//   - [Brent 1973] R. P. Brent. Algorithms for minimization without derivatives. Prentice-Hall.
//   - [Chan et al. 1983] T. F. Chan, G. H. Golub, R. J. LeVeque. Algorithms for computing the sample
//     variance. The American Statistician 37.
//   - [Friedman 1991] J. H. Friedman. Multivariate adaptive regression splines. Annals of Statistics
//     19(1).
//   - [Liu & Nocedal 1989] D. C. Liu, J. Nocedal. On the limited memory BFGS method for large scale
//     optimization. Mathematical Programming 45.
//   - [MacKay 1992] D. J. C. MacKay. Bayesian interpolation. Neural Computation 4(3).
//   - [Rasmussen & Williams 2006] C. E. Rasmussen, C. K. I. Williams. Gaussian processes for machine
//     learning. MIT Press.
//   - [Wilson et al. 2020] J. T. Wilson, V. Borovitskiy, A. Terenin, P. Mostowsky, M. P. Deisenroth.
//     Efficiently sampling functions from Gaussian process posteriors. ICML.
package ridge
