// Package ard learns a length-scale for each column of the points from the evidence: automatic
// relevance determination [Neal 1996]. A kernel with one length-scale for all columns compares points
// by columns that matter and by those that do not alike, and loses most where many do not.
//
// The model is that of package ridge with the features of scaled points,
//
//	φ(x) = ψ((x − c)/ℓ),  k(x, y) = K((x − y)/ℓ)  if ψ estimates a kernel K of differences,
//
// for a map ψ of length-scale 1, the means c and a scale ℓ_j for each column. Fit maximises the log
// evidence L over log ℓ. The map of the model is rff.Compose of rff.Affine and ψ: Model.Write keeps
// the scales, and ridge.ReadModel reads them. The evidence is that of the D features themselves.
//
// # The gradient
//
// L is a function of sums over rows, and so is its gradient, which Evaluate returns: with
// A = ΦᵀΩΦ + λI the rows of ∂L/∂Φ are those of ridge.Model.Gradient, and the derivative of ψ takes
// them on to z = (x − c)/ℓ,
//
//	g_i = ω_i·( r_i/σ²·μ − A⁻¹(φ_i − φ̄) ),  ∂L/∂log ℓ_j = −Σ_i z_ij·(J(z_i)ᵀg_i)_j.
//
// Two passes over the rows take n·3D²/2 multiply-adds and memory for D² numbers, however many rows
// there are. Any map ψ that is rff.Differentiable will do. Columns of very different units are no
// trouble: searches begin with scales in units of standard deviations.
//
// # Starts
//
// The evidence has many maxima, and a column that is asleep, with a long scale, may stay so. Nothing
// is left to luck: Fit begins twice.
//
//   - All columns have one relevance, of five that are tried. This start sees smooth functions and their
//     interactions.
//   - Columns that explain the targets alone, with 16 frequencies of their own at one of five scales from
//     2 to ⅛ of a standard deviation, have this scale. This start sees sines of several periods and steps,
//     which the first is blind to.
//
// Both searches run on a sample of 4·D rows. The one of more evidence goes on with all rows, where it
// has little left to do.
//
// # Weights of a sum of kernels
//
// FitSum learns the weights of several maps, of other length-scales, kernels or columns: multiple kernel
// learning. It reads rows once, since sums for other weights are multiples of the same numbers, and
// searches among matrices of order D.
//
// # Where Fit fails
//
//   - Columns that matter only together and at short scales, as in sin(20x₁)·sin(20x₂), are seen by
//     neither start if there are more than a few other columns.
//   - Few rows for the columns: with less than some 10 rows a column the evidence itself is overfitted.
//     With 100 rows of 50 columns and targets that are noise alone, Fit claims a function without noise.
//     Means are often better than those of one scale even so; bands are too narrow. Rows that were held
//     back tell.
//   - All columns matter alike: nothing is won, and a sum of 20 functions of one column each is no easier
//     with 20 scales. That takes a sum of kernels: FitSum with a map for each column.
//   - Features too few: short scales take more of them. The evidence takes the error of the features for
//     noise, and chooses the scales that serve these frequencies, which need not be those of the kernel. The
//     noise of the model tells: it falls as D grows.
//   - Jumps along columns: the scale shrinks until features fit the jump, 18 standard deviations to a
//     scale in one case, and the function ripples elsewhere.
//   - Heavy tails: a few huge values set the standard deviation, and all others look equal at the start.
//     Take logarithms or ranks of such columns before.
//   - Equal or nearly equal columns share their relevance in any way.
//
// # Where FitSum fails
//
//   - Equal or nearly equal kernels: the evidence tells the sum of their weights alone. Equal maps keep
//     equal weights, which say nothing of either.
//   - Features too few: a map of a short scale that lacks frequencies is worth less than its kernel, and
//     others make up for it. With 600 rows on 60 length-scales of the roughest of four kernels and 48
//     frequencies each, the sum had 8 more log evidence than that kernel alone, and an error of 0.120 at
//     other points where that kernel had 0.107.
//   - Maxima: the search begins with equal weights and ends at a maximum near by. Maps whose features are
//     of very different sizes should be scaled to one size before, or the larger begin with all the weight.
//   - Many maps and few rows: a weight for each map is overfitted as any other parameter. A weight that
//     chance explains may stay at 0.001, above the one that is dropped.
//
// # References
//
//   - [Friedman 1991] J. H. Friedman. Multivariate adaptive regression splines. Annals of Statistics
//     19(1).
//   - [Gönen & Alpaydın 2011] M. Gönen, E. Alpaydın. Multiple kernel learning algorithms. Journal of
//     Machine Learning Research 12.
//   - [Liu & Nocedal 1989] D. C. Liu, J. Nocedal. On the limited memory BFGS method for large scale
//     optimization. Mathematical Programming 45.
//   - [MacKay 1992] D. J. C. MacKay. Bayesian interpolation. Neural Computation 4(3).
//   - [Neal 1996] R. M. Neal. Bayesian learning for neural networks. Lecture Notes in Statistics 118.
//   - [Welford 1962] B. P. Welford. Note on a method for calculating corrected sums of squares and
//     products. Technometrics 4(3).
package ard
