package kernels_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
)

func TestAgainstIsGram(t *testing.T) {
	x, y := cloud[float64](1, 150, 5, 0.1, 1), cloud[float64](2, 37, 5, 0, 1)
	with := append([]kernels.Kernel{kernels.Sum{kernels.ELU{}, kernels.Product{kernels.Gaussian{}, kernels.ELU{}}}}, all...)
	boxes := kernels.Boxes{Thresholds: dense.New[float64](5, 2), Weights: dense.New[float64](5, 2)}
	for j := range 5 {
		copy(boxes.Thresholds.Row(j), []float64{-0.5, 0.5})
		copy(boxes.Weights.Row(j), []float64{1, 2})
	}
	for _, k := range append(with, boxes) {
		a := must.Have(kernels.Against(k, y))
		want := kernels.Gram(dense.Matrix[float64]{}, k, x, y)
		for _, n := range []int{150, 3, 70} {
			assert.Equal(t, want.RowRange(0, n), a.Gram(dense.Matrix[float64]{}, x.RowRange(0, n)), "%v", k)
		}
		before := runtime.GOMAXPROCS(4)
		assert.Equal(t, want, a.Gram(dense.Matrix[float64]{}, x), "%v on four processors", k)
		runtime.GOMAXPROCS(before)
		assert.Equal(t, y.Clone(), a.Points())
	}
}

func TestAgainstKeepsItsPoints(t *testing.T) {
	x, y := cloud[float64](1, 5, 3, 0, 1), cloud[float64](2, 4, 3, 0, 1)
	a := must.Have(kernels.Against(kernels.Gaussian{}, y))
	want := a.Gram(dense.Matrix[float64]{}, x)
	y.Set(0, 0, 99)
	assert.Equal(t, want, a.Gram(dense.Matrix[float64]{}, x))
}

func TestAgainstErrors(t *testing.T) {
	y := cloud[float64](2, 4, 3, 0, 1)
	_, err := kernels.Against(nil, y)
	assert.EqualError(t, err, "kernels: k is nil")
	_, err = kernels.Against(kernels.Gaussian{LengthScale: -1}, y)
	assert.EqualError(t, err, "kernels: Gaussian.LengthScale = -1, want a positive finite number, or 0 for 1")
	a := must.Have(kernels.Against(kernels.Gaussian{}, y))
	assert.PanicsWithValue(t, "kernels: x is 2×5, y is 4×3: columns differ", func() { a.Gram(dense.Matrix[float64]{}, dense.New[float64](2, 5)) })
	assert.Panics(t, func() { a.Gram(dense.New[float64](2, 2), dense.New[float64](2, 3)) })
}

// No points are no points, not those of x.
func TestAgainstNothing(t *testing.T) {
	a := must.Have(kernels.Against(kernels.Pullback{K: kernels.Gaussian{}, A: dense.New[float64](2, 3)}, dense.Matrix[float64]{}))
	assert.PanicsWithValue(t, "kernels: x is 2×3, y is 0×0: columns differ", func() { a.Gram(dense.Matrix[float64]{}, dense.New[float64](2, 3)) })
}
