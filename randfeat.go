// Package randfeat is the root of a library for kernel methods, attention and vector search on
// large data: kernels, feature maps, orthogonal frequencies, fast transforms, linear-time
// attention, learning on features, and codes of vectors.
//
// The code is in the folders below, each a package with an essay of its own: docs/packages.md says
// what each is for.
//
// This package itself holds nothing.
package randfeat
