// Package landmarks chooses rows of a matrix as landmarks of rff.Nystroem and of attention by
// landmarks:
//
//	z, err := landmarks.Pivoted(ctx, k, x, 100, rand.NewPCG(1, 2))
//	f, err := rff.Nystroem(k, z)
//
// The features of rff.Nystroem are accurate at points that are close to a landmark in the space of
// the kernel. Uniform draws rows with equal probabilities, and suffices for data of one kind.
// Pivoted draws each landmark where the error of rff.Nystroem with the earlier landmarks is large,
// and finds rare points that Uniform misses. The centres of package kmeans also serve as landmarks.
//
// # References
//
//   - [Chen, Epperly, Tropp & Webber 2023] Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber.
//     Randomly pivoted Cholesky: practical approximation of a kernel matrix with few entry
//     evaluations. Communications on Pure and Applied Mathematics 78.
//   - [Epperly, Tropp & Webber 2024] E. N. Epperly, J. A. Tropp, R. J. Webber. Embrace rejection:
//     kernel matrix approximation by accelerated randomly pivoted Cholesky. arXiv:2410.03969.
//   - [Williams & Seeger 2001] C. K. I. Williams, M. Seeger. Using the Nyström method to speed up
//     kernel machines. NeurIPS.
package landmarks
