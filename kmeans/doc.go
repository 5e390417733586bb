// Package kmeans divides the rows of a matrix into clusters. Each cluster has the rows that are
// nearest to its mean:
//
//	c, err := kmeans.Cluster(ctx, x, 16, 25, kmeans.Options[float32]{}, rand.NewPCG(1, 2))
//	c.Centres.Row(c.Labels[i]) // the centre nearest to row i of x
//
// The centres serve as landmarks of rff.Nystroem [Zhang, Tsang & Kwok 2008], as centres of a vector
// quantiser, and as summaries of keys.
//
// # Kernels
//
// Kernel k-means [Dhillon et al. 2004] is k-means on features φ with φ(x)ᵀφ(y) = k(x, y). Pass the
// result of Transform of a map of package rff to Cluster. The inertia is then the objective of the
// kernel,
//
//	Σ_i k(x_i, x_i) − Σ_c 1/n_c·Σ_{i,j in c} k(x_i, x_j),
//
// exactly for exact maps, and with the error of the Gram matrix for random features. Components of
// package components can replace D features if few components have most of the variance. The
// package fits them to rows a block at a time, and the n×r matrix of components may fit into memory
// when n×D features do not. If neither fits, Cluster a uniform sample of the rows. Then label the
// other rows a block at a time, by Cluster with these centres as Start and 0 iterations.
//
// # References
//
//   - [Arthur & Vassilvitskii 2007] D. Arthur, S. Vassilvitskii. k-means++: the advantages of
//     careful seeding. SODA.
//   - [Dhillon et al. 2004] I. S. Dhillon, Y. Guan, B. Kulis. Kernel k-means, spectral clustering
//     and normalized cuts. KDD.
//   - [Lloyd 1982] S. P. Lloyd. Least squares quantization in PCM. IEEE Transactions on
//     Information Theory 28(2).
//   - [Zhang, Tsang & Kwok 2008] K. Zhang, I. W. Tsang, J. T. Kwok. Improved Nyström low-rank
//     approximation and error analysis. ICML.
package kmeans
