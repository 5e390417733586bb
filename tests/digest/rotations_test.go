package digest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/givens"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// rotation has the methods of both kinds of rotations.
type rotation[T dense.Float] interface {
	Apply(dst, x dense.Matrix[T]) dense.Matrix[T]
	ApplyTransposed(dst, y dense.Matrix[T]) dense.Matrix[T]
}

func rotations(t *testing.T, add func(name string, v ...any)) {
	for _, d := range []int{1, 5, 28, 100, 768} {
		r, err := hadamard.NewRotation[float32](d, hadamard.RotationOptions{}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		addRotation(d, r, add)
		s, err := hadamard.NewRotation[float64](d, hadamard.RotationOptions{Factors: 2}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		addRotation(d, s, add)
	}
}

func products(t *testing.T, add func(name string, v ...any)) {
	for _, d := range []int{1, 2, 64, 100} {
		r, err := givens.RandomProduct[float32](d, 0, rand.NewPCG(1, 2))
		require.NoError(t, err)
		addRotation(d, r, add)
		s, err := givens.RandomProduct[float64](d, 0, rand.NewPCG(1, 2))
		require.NoError(t, err)
		addRotation(d, s, add)
	}
}

func addRotation[T dense.Float](d int, r rotation[T], add func(name string, v ...any)) {
	y := r.Apply(dense.Matrix[T]{}, points[T](7, 20, d))
	add(fmt.Sprintf("%T d=%d", T(0), d), y.Data, r.ApplyTransposed(dense.Matrix[T]{}, y).Data)
}

// sums adds results of package vecmath whose roundings are the same in every tier.
func sums(_ *testing.T, add func(name string, v ...any)) {
	for _, n := range []int{1, 31, 64, 1000} {
		x, y := points[float64](8, 1, n).Data, points[float64](9, 1, n).Data
		z, u := points[float32](8, 1, n).Data, points[float32](9, 1, n).Data
		all := []float64{vecmath.HalfSquaredNorm(x), vecmath.Dot(x, y), vecmath.HalfSquaredNorm(z), float64(vecmath.Dot(z, u))}
		vecmath.AddScaled(x, y, 0.3)
		vecmath.AddScaled(z, u, 0.3)
		vecmath.Affine(x, x, 0.7, 0.1)
		vecmath.Affine(z, z, 0.7, 0.1)
		add(fmt.Sprintf("n=%d", n), all, x, z)
	}
}
