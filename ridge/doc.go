// Package ridge learns functions from data with the feature maps of package rff. Bayesian ridge
// regression on D features φ(x) is Gaussian process regression with the kernel φ(x)ᵀφ(x′):
//
//	y = b + φ(x)ᵀw + ε,  w ~ N(0, s²I),  ε ~ N(0, σ²/ω),  λ = σ²/s².
//
// σ² is the noise of an output, s² the prior variance, and ω the weight of a row. Package
// ridge/automl chooses σ², s² and the feature map φ.
//
//	fit rows in memory or in files           Fit
//	predict, with error bars                 Model.Predict; means alone, far cheaper: Model.Mean
//	fit rows in parts, or on many machines   NewSums, Sums.Add, Sums.Merge, Sums.MarshalBinary
//	choose a length-scale, a kernel or D     Choose, with length-scales around MedianDistance
//	a kernel itself, up to 100,000 rows      package ridge/kernelridge
//	a length-scale for each column           kernelridge.Scales
//	more features than D² numbers allow      Fit with Options.Iterative
//	draw functions from the posterior        Model.Sample; for few rows: Model.Pathwise
//	errors without held-out data             Model.LeaveOneOut
//	bands without a law of the noise         Model.Jackknife and Model.WithBands, then Model.Band
//	probabilities of classes, texts          Classify, CSV.ReadLabels
//	files                                    Model.Write, ReadModel, ReadClassifier
//
// The error of a function reports nil maps and sources, NaN and infinite numbers, shapes that do
// not fit, options out of range, sizes beyond memory, and the end of ctx; a nil ctx panics.
// docs/regression.md has the formulas, the format of files, and the references.
package ridge
