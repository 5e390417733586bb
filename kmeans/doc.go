// Package kmeans divides the rows of a matrix into clusters, each of the rows that are nearest to
// the mean of the cluster:
//
//	c, err := kmeans.Cluster(ctx, x, 16, 25, kmeans.Options[float32]{}, rand.NewPCG(1, 2))
//	c.Centres.Row(c.Labels[i]) // the centre nearest to row i of x
//
// The centres serve as landmarks of rff.Nystroem [Zhang, Tsang & Kwok 2008], as words of a code,
// and as summaries of keys.
//
// # Kernels
//
// Kernel k-means [Dhillon et al. 2004] is k-means on features φ with φ(x)ᵀφ(y) = k(x, y): Cluster
// takes what Transform of a map of package rff returns. The inertia then is the objective of the
// kernel,
//
//	Σ_i k(x_i, x_i) − Σ_c 1/n_c·Σ_{i,j in c} k(x_i, x_j),
//
// exactly for exact maps, and for random features within the error of their Gram matrix. Components
// of package components take the place of D features where few of them hold most of the variance:
// they are fitted to rows a block at a time, and the n×r matrix of components may fit into memory
// where n×D features do not. Where neither fits, Cluster a uniform part of the rows, and label the
// others by Cluster with Start the centres and 0 iterations, a block at a time.
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
