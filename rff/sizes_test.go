package rff_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/limittest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// TestSizes: what no memory can hold is an error that names the argument and the value.
func TestSizes(t *testing.T) {
	densetest.Both(t, testSizes[float32], testSizes[float64])
}

func testSizes[T dense.Float](t *testing.T) {
	const most, large = math.MaxInt/2 + 1, 1 << 23 // memory holds large numbers, but not the square of it
	src := func() rand.Source { return exprand.NewSource(1) }
	memory := limittest.Memory(t, "rff")

	for _, n := range []int{math.MaxInt, most, most / 2} {
		memory("d = %d: ", n)(rff.Identity[T](n))
		memory("d = %d: ", n)(rff.ELU[T](n))
		memory("d = %d: ", n)(rff.Quadratic[T](n))
		memory("d = %d: ", n)(rff.Taylor[T](n, 1))
		memory("d = %d: ", n)(rff.Laplacian[T](3, n, 1, src()))
		memory("m = %d: ", n)(rff.Laplacian[T](n, 3, 1, src()))
		memory("features = %d: ", n)(rff.Boxes[T](boxKernel(3, 2), n, src()))
		memory("w is %d×3, for points and 2·%d features: ", n, n)(rff.Gaussian[T](vast[T]{n, 3}, 1))
		memory("w is 3×%d, ", n)(rff.Gaussian[T](vast[T]{3, n}, 1))
	}
	memory("d = %d, for the features of all pairs", large)(rff.Quadratic[T](large))
	memory("d = %d, for the features of all pairs", large)(rff.Taylor[T](large, 1))
	memory("m = %d, d = %d: ", large, large)(rff.Laplacian[T](large, large, 1, src()))
	memory("the frequencies of w as a matrix, %d×%d: ", large, large)(rff.SoftmaxOptimal[T](vast[T]{large, large}, 1, 0))
	memory("the frequencies of w as a matrix, %d×%d: ", large, large)(rff.GaussianOptimal[T](vast[T]{large, large}, 1, 0))

	row := dense.New[T](1, 1<<22)
	wide := vast[T]{1, 1 << 22}
	memory("the second moments of points of R^4194304: ")(rff.SADERF[T](wide, row, row, 1))
	memory("the second moments of points of R^4194304: ")(rff.ADERF[T](wide, row, row, 1))
	memory("the second moments of points of R^4194304: ")(rff.SDERF[T](wide, row, row, 1))
	column := dense.New[T](1<<22, 1)
	memory("landmarks is 4194304×1, its Gram matrix 4194304×4194304: ")(rff.Nystroem(kernels.Gaussian{}, column))
	memory("x is 4194304×1, its Gram matrix 4194304×4194304: ")(rff.Spectral(kernels.Gaussian{}, column, 1))

	thin := dense.New[float64](1, 1<<22)
	constant, err := rff.Affine(dense.New[T](1, 1<<22), nil)
	require.NoError(t, err)
	memory("w has 4194304 columns, for gradients in R^4194304: ")(rff.Gradients(constant, thin))

	memory("maps up to maps[1] have %d features: ", math.MaxInt)(rff.Sum([]rff.Map[T]{many[T]{}, nearlyAll[T]{}}, []float64{1, 1}))
}

// vast is a projection that says how large it is and holds nothing.
type vast[T dense.Float] struct{ m, d int }

func (v vast[T]) Shape() (m, d int) { return v.m, v.d }

func (v vast[T]) Project(dst, x dense.Matrix[T]) dense.Matrix[T] { panic("not to be projected") }

func (v vast[T]) Frequencies() dense.Matrix[T] { panic("not to be asked for") }

var _ orf.Projection[float64] = vast[float64]{}

// many is a map of numbers to more features than there is memory for as many cells.
type many[T dense.Float] struct{}

func (many[T]) Dims() (in, out int) { return 1, 1 << 23 }

func (many[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] { panic("not to be mapped") }

func (many[T]) Kernel() kernels.Kernel { return nil }

// nearlyAll is a map of numbers to so many features that another map of many makes their number too
// large.
type nearlyAll[T dense.Float] struct{ many[T] }

func (nearlyAll[T]) Dims() (in, out int) { return 1, math.MaxInt - 1<<23 }
