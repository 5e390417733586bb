// Package nystroem has the features of landmarks: the kernel κ(x, y) = exp(s·xᵀy) between a point
// and landmarks z, log φ_z(x) = s·zᵀx − a_z with a_z = s·‖z‖²/2, which weigh keys by φ(q)ᵀ·G⁻¹·φ(k)
// with the Gaussian matrix G_yz = exp(−s·‖y − z‖²/2). Landmarks are given, or chosen among the keys
// of a call.
package nystroem
