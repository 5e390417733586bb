// Package codelaw computes the exact means and variances of estimates from the codes of rotated
// vectors, and the levels of codes.
//
// # One law for all codes
//
// u is a unit vector after a uniformly random (Haar) isometry into R^d, so that u is uniform on the
// sphere. s = s(u) is the vector that a code of u stands for. p is another unit vector after the
// same rotation, and ρ = uᵀp. Given u, the component of p orthogonal to u has a uniformly random
// direction v: p = ρu + √(1−ρ²)·v. Hence the estimate sᵀp of ρ has
//
//	mean     = ρ·A
//	variance = ρ²·(B − A²) + (1−ρ²)·(C − B)/(d−1)
//
// with three moments of the code alone, A = E sᵀu, B = E (sᵀu)² and C = E‖s‖². The law is exact for
// every d and every function s. Moments holds A, B and C.
//
// # Moments
//
// Two coordinates of u have E[|u₁u₂|; |u₁|>a, |u₂|>b] = 2/(πd)·(1−a²−b²)₊^(d/2), which the density
// (1−u₁²−u₂²)^(d/2−2) on the disc gives by integration. Hence the moments of Cells have a closed
// form (Cells.Moments). A quantity that does not depend on the length of the vector is an
// expectation over a Gaussian vector, whose coordinates are independent, and whose length is
// independent of its direction. SignsCorrected writes 1/M² as ∫ t·e^(−tM) dt, which factorises over
// the coordinates. Cells.Corrected does the same on the sphere, which it writes as a Fourier
// integral.
//
// # Sources
//
//   - [Max 1960] J. Max. Quantizing for minimum distortion. IRE Transactions on Information Theory
//     6(1).
//   - [Panter & Dite 1951] P. F. Panter, W. Dite. Quantization distortion in pulse-count modulation
//     with nonuniform spacing of levels. Proceedings of the IRE 39(1).
package codelaw
