package rff_test

import (
	"math"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/limittest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// TestSizes: what no memory can hold is an error that names the argument and the value.
func TestSizes(t *testing.T) {
	densetest.Both(t, testSizes[float32], testSizes[float64])
}

func testSizes[T dense.Float](t *testing.T) {
	// memory holds large numbers, but not the square of it
	const most, large = math.MaxInt/2 + 1, 1 << 23
	memory := limittest.Memory(t, "rff")

	for _, n := range []int{math.MaxInt, most, most / 2} {
		memory("d = %d: ", n)(rff.Draw[T](rff.Identity{D: n}, nil))
		memory("d = %d: ", n)(rff.Draw[T](rff.ELU{D: n}, nil))
		memory("d = %d: ", n)(rff.Draw[T](rff.Quadratic{D: n}, nil))
		memory("w is %d×3, for points and 2·%d features: ", n, n)(rff.Draw[T](rff.Gaussian{LengthScale: 1}, vast[T]{n, 3}))
		memory("w is 3×%d, ", n)(rff.Draw[T](rff.Gaussian{LengthScale: 1}, vast[T]{3, n}))
	}
	memory("d = %d, for the features of all pairs", large)(rff.Draw[T](rff.Quadratic{D: large}, nil))
	memory("the frequencies of w as a matrix, %d×%d: ", large, large)(rff.Draw[T](rff.SoftmaxOptimal{Scale: 1, A: 0}, vast[T]{large, large}))

	row := dense.New[T](1, 1<<22)
	memory("the second moments of points of R^4194304: ")(rff.FitSADERF(row, row, 1))
	memory("the second moments of points of R^4194304: ")(rff.FitADERF(row, row, 1))
	memory("the second moments of points of R^4194304: ")(rff.FitSDERF(row, row, 1))
	column := dense.New[T](1<<22, 1)
	memory("landmarks is 4194304×1, its Gram matrix 4194304×4194304: ")(rff.Nystroem(kernels.Gaussian{}, column))
	memory("x is 4194304×1, its Gram matrix 4194304×4194304: ")(rff.Spectral(kernels.Gaussian{}, column, 1))

	thin := dense.New[float64](1, 1<<22)
	constant := must.Have(rff.Draw[T](rff.Affine{A: thin}, nil))
	memory("the matrix of 4194304 factors: ")(rff.Draw[T](rff.Affine{Factors: thin.Data}, nil))
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
