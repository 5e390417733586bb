// Package nystroem computes the features of landmarks z, the kernel κ(x, y) = exp(s·xᵀy) between a
// point and each landmark. Its log-features are log φ_z(x) = s·zᵀx − a_z with a_z = s·‖z‖²/2. The
// weights of keys are φ(q)ᵀ·G⁻¹·φ(k) with the Gaussian matrix G_yz = exp(−s·‖y − z‖²/2). Landmarks
// are given, or chosen among the keys of a call.
package nystroem
