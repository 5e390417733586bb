// Package codelaw computes the exact means and variances of estimates from the codes of rotated
// vectors, and the width of their cells [Max 1960]. u is a unit vector after a uniformly random
// isometry into R^d, s = s(u) is the vector that a code of u stands for, and ρ = uᵀp for another
// unit vector p after the same rotation. Given u, the component of p orthogonal to u has a
// uniformly random direction. Hence the estimate sᵀp has
//
//	mean     = ρ·A
//	variance = ρ²·(B − A²) + (1−ρ²)·(C − B)/(d−1)
//
// with the [Moments] A = E sᵀu, B = E (sᵀu)² and C = E‖s‖². Two coordinates of u have E[|u₁u₂|;
// |u₁|>a, |u₂|>b] = 2/(πd)·(1−a²−b²)₊^(d/2), from which Cells.Moments follows.
package codelaw
