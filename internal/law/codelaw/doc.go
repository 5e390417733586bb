// Package codelaw computes the exact means and variances of estimates from the codes of rotated
// vectors, and the width of their cells.
//
// u is a unit vector after a uniformly random isometry into R^d, s = s(u) is the vector that a code
// of u stands for, and ρ = uᵀp for another unit vector p after the same rotation. Given u, the
// component of p orthogonal to u has a uniformly random direction. Hence the estimate sᵀp has
//
//	mean     = ρ·A
//	variance = ρ²·(B − A²) + (1−ρ²)·(C − B)/(d−1)
//
// with the [Moments] A = E sᵀu, B = E (sᵀu)² and C = E‖s‖², for every d and every function s.
//
// Two coordinates of u have E[|u₁u₂|; |u₁|>a, |u₂|>b] = 2/(πd)·(1−a²−b²)₊^(d/2), from which
// Cells.Moments follows. SignsCorrected writes 1/M² as ∫ t·e^(−tM) dt, which factorises over the
// coordinates of a Gaussian vector. Cells.Corrected does so on the sphere, as a Fourier integral.
//
// Source: Max, Quantizing for minimum distortion, 1960.
package codelaw
