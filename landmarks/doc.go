// Package landmarks chooses rows of a matrix as landmarks of rff.Nystroem and of attention:
//
//	z, err := landmarks.Pivoted(ctx, k, x, 100, rand.NewPCG(1, 2))
//	f, err := rff.Nystroem(k, z)
//
// The features of rff.Nystroem are accurate at points that are close to a landmark in the space of
// the kernel. Uniform draws rows with equal probabilities, and suffices for data of one kind.
// Pivoted draws each landmark where the error of rff.Nystroem with the earlier landmarks is large,
// finds rare points that Uniform misses, and usually has the smallest error. Centres of package
// kmeans are good landmarks of data with about as many clusters. Landmarks have no weights, because
// the features depend only on the span of the landmarks. docs/references.md has the papers.
package landmarks
