// Package kmeans divides the rows of a matrix into clusters. Each cluster has the rows that are
// nearest to its mean:
//
//	c, err := kmeans.Cluster(ctx, x, 16, kmeans.Options[float32]{}, rand.NewPCG(1, 2))
//	c.Centres.Row(c.Labels[i]) // the centre nearest to row i of x
//
// The centres serve as landmarks of rff.Nystroem, as centres of a vector quantiser, and as
// summaries of keys. Kernel k-means is k-means on features φ with φ(x)ᵀφ(y) = k(x, y): pass the
// result of Transform of a map to Cluster. Page docs/learning.md has the objective.
//
// # References
//
//   - [Arthur & Vassilvitskii 2007] k-means++: the advantages of careful seeding. SODA.
//   - [Lloyd 1982] Least squares quantization in PCM. IEEE Trans. Inf. Theory 28(2).
package kmeans
