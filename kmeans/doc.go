// Package kmeans divides the rows of a matrix into clusters, each of the rows that are nearest to
// the mean of the cluster:
//
//	c, err := kmeans.Cluster(ctx, x, 16, 25, kmeans.Options[float32]{}, rand.NewPCG(1, 2))
//	c.Centres.Row(c.Labels[i]) // the centre nearest to row i of x
//
// The centres serve as landmarks of rff.Nystroem [Zhang, Tsang & Kwok 2008], as words of a code, and as summaries of keys.
//
// # References
//
//   - [Arthur & Vassilvitskii 2007] D. Arthur, S. Vassilvitskii. k-means++: the advantages of
//     careful seeding. SODA.
//   - [Lloyd 1982] S. P. Lloyd. Least squares quantization in PCM. IEEE Transactions on
//     Information Theory 28(2).
//   - [Zhang, Tsang & Kwok 2008] K. Zhang, I. W. Tsang, J. T. Kwok. Improved Nyström low-rank
//     approximation and error analysis. ICML.
package kmeans
