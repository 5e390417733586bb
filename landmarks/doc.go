// Package landmarks chooses rows of a matrix as landmarks of rff.Nystroem and of attention:
//
//	z, err := landmarks.Pivoted(ctx, k, x, 100, rand.NewPCG(1, 2))
//	f, err := rff.Nystroem(k, z)
//
// The features of rff.Nystroem are accurate at points that are close to a landmark in the space of
// the kernel. Uniform draws rows with equal probabilities, and suffices for data of one kind.
// Pivoted draws each landmark where the error of rff.Nystroem with the earlier landmarks is large,
// and finds rare points that Uniform misses. The centres of package kmeans also serve as landmarks.
// docs/references.md has the papers.
package landmarks
