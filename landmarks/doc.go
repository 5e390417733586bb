// Package landmarks chooses rows of a matrix that stand for all of its rows, for rff.Nystroem and
// for attention by landmarks:
//
//	z, err := landmarks.Pivoted(ctx, k, x, 100, rand.NewPCG(1, 2))
//	f, err := rff.Nystroem(k, z)
//
// The features of Nystroem are good if its landmarks are close to the data, in the space of the
// kernel. Uniform costs nothing and does well on data of one kind. Leverage draws points by their
// ridge leverage scores. It finds the rare points that regression needs and uniform sampling
// misses. Pivoted draws each landmark where Nystroem errs most with the landmarks so far, and has
// the smallest error as a rule. The centres of package kmeans serve as well, and have a smaller
// error than uniform landmarks if the number of clusters is about the number of landmarks. No
// landmark has a weight, because the features depend on the span of the landmarks alone.
//
// # References
//
//   - [Alaoui & Mahoney 2015] A. Alaoui, M. W. Mahoney. Fast randomized kernel ridge regression
//     with statistical guarantees. NeurIPS.
//   - [Chen, Epperly, Tropp & Webber 2023] Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber.
//     Randomly pivoted Cholesky: practical approximation of a kernel matrix with few entry
//     evaluations. Communications on Pure and Applied Mathematics 78.
//   - [Efraimidis & Spirakis 2006] P. S. Efraimidis, P. G. Spirakis. Weighted random sampling with
//     a reservoir. Information Processing Letters 97(5).
//   - [Epperly, Tropp & Webber 2024] E. N. Epperly, J. A. Tropp, R. J. Webber. Embrace rejection:
//     kernel matrix approximation by accelerated randomly pivoted Cholesky. arXiv:2410.03969.
//   - [Musco & Musco 2017] C. Musco, C. Musco. Recursive sampling for the Nyström method. NeurIPS.
//   - [Williams & Seeger 2001] C. K. I. Williams, M. Seeger. Using the Nyström method to speed up
//     kernel machines. NeurIPS.
package landmarks
