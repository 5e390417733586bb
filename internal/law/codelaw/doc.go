// Package codelaw holds the exact means and variances of estimates that are made from the codes of
// rotated vectors, and the levels that codes are made with.
//
// # One law for all codes
//
// u is a unit vector after a uniformly random (Haar) isometry into R^d, so that u is uniform on the
// sphere. s = s(u) is the vector that a code of u stands for. p is another unit vector after the
// same rotation, and ρ = uᵀp. Given u, the part of p across u points in a uniformly random
// direction: p = ρu + √(1−ρ²)·v. Hence the estimate sᵀp of ρ has
//
//	mean     = ρ·A
//	variance = ρ²·(B − A²) + (1−ρ²)·(C − B)/(d−1)
//
// with three moments of the code alone, A = E sᵀu, B = E (sᵀu)² and C = E‖s‖². The law is exact for
// every d and every function s. Moments says A, B and C; every kind of code has a function that
// computes them.
//
// # Moments
//
// Two coordinates of u have E[|u₁u₂|; |u₁|>a, |u₂|>b] = 2/(πd)·(1−a²−b²)₊^(d/2), which the density
// (1−u₁²−u₂²)^(d/2−2) on the disc gives by integration. So codes that round each coordinate by
// itself have moments in closed form (Cells.Moments). Quantities that do not depend on the length
// of the vector are expectations over a Gaussian vector, whose coordinates are independent; its
// length is independent of its direction. Range.Moments uses this given the largest coordinate, and
// SignsCorrected writes 1/M² as ∫ t·e^(−tM) dt, so that the coordinates come apart.
// Cells.Corrected does the same on the sphere, which it writes as a Fourier integral.
//
// # Two codes
//
// The codes of two vectors have a law of their own, because vectors at a small angle are rounded alike.
// Pairs is a table of it, SignsBetween the exact law of signs.
//
// # Sources
//
//   - [Max 1960] J. Max. Quantizing for minimum distortion. IRE Transactions on Information Theory
//     6(1).
//   - [Panter & Dite 1951] P. F. Panter, W. Dite. Quantization distortion in pulse-count modulation
//     with nonuniform spacing of levels. Proceedings of the IRE 39(1).
//   - [Price 1958] R. Price. A useful theorem for nonlinear devices having Gaussian inputs. IRE
//     Transactions on Information Theory 4(2).
package codelaw
