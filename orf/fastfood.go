package orf

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// Fastfood is the law of frequencies in blocks of d': the rows of
//
//	(1/√d')·S·H·G·Π·H·B
//
// with random signs B, a uniform permutation Π, a diagonal G of standard normal numbers, and a
// diagonal S that makes the lengths of rows independent draws from χ(d'). H is a Hadamard matrix of
// order d' = hadamard.FastOrder(d). Vectors of R^d are padded with zeros: W is d columns of the
// frequencies of R^d'. The last block has m mod d' rows when d' does not divide m.
//
// Every frequency is exactly a standard Gaussian vector: the diagonal of G over its norm is uniform
// on the sphere, and the signs, Π, H/√d' and B are orthogonal maps. Estimates are unbiased for
// every kernel, unlike estimates with Hadamard. The frequencies of a block are neither independent
// nor orthogonal. For the dot product the error of a whole block equals the error of GramSchmidt
// where x = y is along an axis, and is nearly twice the error of IID where x and y have many
// coordinates of one size.
//
// Cost: d' random bits, d' normal numbers and a permutation per block; Project applies two
// transforms of order d' to a row for each block, however few rows of the block are in use, and
// never forms W: O(n·m·log d) operations for m ≥ d'.
//
// Source: [Le et al. 2013].
type Fastfood struct {
	// FixedLength gives every frequency of R^d' the length √d'; see the package documentation.
	FixedLength bool
}

func (Fastfood) ensemble() {}

// String returns Fastfood, with FixedLength in parentheses if it is set.
func (e Fastfood) String() string { return describe("Fastfood", e.FixedLength, "", 0) }

// fastfood draws m frequencies of R^d.
func fastfood[T dense.Float](e Fastfood, m, d int, src rand.Source) (Projection[T], error) {
	order := hadamard.FastOrder(d)
	images := new(pool.Of[[]T])
	return stack(m, d, order, e, src, lengths(e.FixedLength, src), func() (operator[T], error) {
		return newTransforms(d, order, images, src)
	})
}

// transforms is the operator H·G·Π·R with G of norm 1 and R = (1/√d')·H·B. Its rows have length 1.
type transforms[T dense.Float] struct {
	r      *hadamard.Rotation[T]
	from   []int32 // Π: coordinate i of the image is coordinate from[i]
	scale  []T     // the diagonal of G
	images *pool.Of[[]T]
}

func newTransforms[T dense.Float](d, order int, images *pool.Of[[]T], src rand.Source) (*transforms[T], error) {
	r, err := hadamard.NewRotation[T](d, hadamard.RotationOptions{Factors: 1, Order: order}, src)
	if err != nil {
		return nil, err
	}
	rng := rand.New(src)
	f := &transforms[T]{r: r, from: permutation(rng, order, order), scale: make([]T, order), images: images}
	g := make([]float64, order)
	direction(g, 1, rng)
	for i, v := range g {
		f.scale[i] = T(v)
	}
	return f, nil
}

// direction fills x with a uniform draw from the sphere of the given radius.
func direction(x []float64, radius float64, rng *rand.Rand) {
	norm := 0.0
	for norm == 0 { // in R¹ that may happen
		gaussian(x, rng)
		norm = floats.Norm(x, 2)
	}
	floats.Scale(radius/norm, x)
}

func (f *transforms[T]) Apply(dst, x dense.Matrix[T]) dense.Matrix[T] {
	image := f.image(x.Rows)
	y := f.r.Apply(dense.Of(x.Rows, len(f.from), *image), x)
	for i := range y.Rows {
		vecmath.Pick(dst.Row(i)[:len(f.from)], y.Row(i), f.from, f.scale)
	}
	f.images.Put(image)
	hadamard.TransformRows(dst)
	return dst
}

func (f *transforms[T]) ApplyTransposed(dst, y dense.Matrix[T]) dense.Matrix[T] {
	image := f.image(y.Rows + 1)
	order := len(f.from)
	z, v := dense.Of(y.Rows, order, (*image)[:y.Rows*order]), (*image)[y.Rows*order:]
	for i := range y.Rows {
		copy(v, y.Row(i))
		hadamard.TransformTransposed(v)
		to, scale := z.Row(i), f.scale[:order]
		for k, j := range f.from {
			to[j] = scale[k] * v[k]
		}
	}
	f.r.ApplyTransposed(dst, z)
	f.images.Put(image)
	return dst
}

// image returns memory for n images.
func (f *transforms[T]) image(n int) *[]T {
	s := f.images.Get()
	if size := n * len(f.from); cap(*s) < size {
		*s = make([]T, size)
	} else {
		*s = (*s)[:size]
	}
	return s
}
