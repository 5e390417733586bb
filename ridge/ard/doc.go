// Package ard learns a length-scale for each column of the points from the evidence: automatic
// relevance determination [Neal 1996]. A kernel with one length-scale for all columns compares
// points also by irrelevant columns, and its error is large if many columns are irrelevant.
//
// The model is that of package ridge with features of scaled points,
//
//	φ(x) = ψ((x − c)/ℓ),  k(x, y) = K((x − y)/ℓ)  if ψ estimates a kernel K of differences,
//
// for a map ψ of length-scale 1, the means c and a scale ℓ_j for each column. Fit maximises the log
// evidence L, the evidence of the D features, over log ℓ. The map of the model is rff.Compose of
// rff.Affine and ψ, so Model.Write writes the scales and ridge.ReadModel reads them.
//
// # The gradient
//
// L is a function of sums over rows, and so is its gradient. With A = ΦᵀΩΦ
// + λI the rows of ∂L/∂Φ are those of ridge.Model.Gradient, and the Jacobian J of ψ gives the
// derivative with respect to z = (x − c)/ℓ:
//
//	g_i = ω_i·( r_i/σ²·μ − A⁻¹(φ_i − φ̄) ),  ∂L/∂log ℓ_j = −Σ_i z_ij·(J(z_i)ᵀg_i)_j.
//
// Two passes over the rows take n·3D²/2 multiply-adds and memory for D² numbers. ψ can be any
// rff.Differentiable map. Columns may have very different units, because searches begin with scales
// in units of standard deviations.
//
// # Starts
//
// The evidence has many maxima, and a search often leaves a long scale long. So Fit searches from
// two starts:
//
//   - All columns have one relevance, the best of five values. This start finds smooth functions
//     and their interactions.
//   - Columns that explain the targets alone have their own scale. A test with 16 frequencies
//     chooses it among five scales from 2 to ⅛ standard deviations. This start finds sines of
//     several periods and steps, which the first start misses.
//
// Both searches run on a sample of 4·D rows. The result with the larger evidence is the start of a
// search on all rows, which takes few iterations.
//
// # Where Fit fails
//
//   - Columns that matter only together and at short scales, as in sin(20x₁)·sin(20x₂): both starts
//     miss them if there are more than a few other columns.
//   - Few rows: with fewer than about 10 rows per column, Fit overfits the evidence. For 100 rows
//     of 50 columns and targets of noise alone, the model has almost no noise. Means are often
//     better than with one scale, but error bars are too narrow. Measure the error on held-out
//     rows.
//   - All columns matter equally: 20 scales gain nothing. For a sum of 20 functions of one column
//     each, fit rff.Sum of a map for each column.
//   - Few features: short scales need more features. The evidence treats the error of the features
//     as noise and prefers scales that suit the drawn frequencies. The noise of the model then
//     decreases as D grows.
//   - Jumps along a column: the scale decreases until the features fit the jump, in one case to
//     1/18 standard deviation, and the function oscillates elsewhere.
//   - Heavy tails: a few large values determine the standard deviation, and all other values look
//     equal at the start. Take logarithms or ranks of such columns.
//   - Equal or nearly equal columns share their relevance arbitrarily.
//
// # References
//
//   - [Friedman 1991] J. H. Friedman. Multivariate adaptive regression splines. Annals of
//     Statistics 19(1).
//   - [Liu & Nocedal 1989] D. C. Liu, J. Nocedal. On the limited memory BFGS method for large scale
//     optimization. Mathematical Programming 45.
//   - [MacKay 1992] D. J. C. MacKay. Bayesian interpolation. Neural Computation 4(3).
//   - [Neal 1996] R. M. Neal. Bayesian learning for neural networks. Lecture Notes in Statistics
//     118.
package ard
