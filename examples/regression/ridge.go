package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

const (
	dim   = 8
	noise = 0.3 // standard deviation
)

// data are points (n×dim) and a value each.
type data struct {
	x dense.Matrix[float64]
	y []float64
}

// draw returns n points of the data set that the program's description defines.
func draw(n int, src rand.Source) data {
	uniform := distuv.Uniform{Min: -1, Max: 1, Src: src}
	normal := distuv.Normal{Sigma: noise, Src: src}
	d := data{x: dense.New[float64](n, dim), y: make([]float64, n)}
	for i := range d.y {
		x := d.x.Row(i)
		for j := range x {
			x[j] = uniform.Rand()
		}
		d.y[i] = truth(x) + normal.Rand()
	}
	return d
}

// truth is the function without the noise.
func truth(x []float64) float64 {
	return math.Sin(math.Pi*x[0]*x[1]) + 2*(x[2]-0.5)*(x[2]-0.5) + x[3] + 0.5*x[4]
}

// kernelRidge returns k(x, train)·(K + λI)⁻¹·y, the prediction at every row of x, in O(n³).
func kernelRidge(k kernels.Kernel, train data, x dense.Matrix[float64], lambda float64) ([]float64, error) {
	gram := kernels.Gram(dense.Matrix[float64]{}, k, train.x, dense.Matrix[float64]{})
	a, err := solve(gram, train.y, lambda)
	if err != nil {
		return nil, err
	}
	return times(kernels.Gram(dense.Matrix[float64]{}, k, x, train.x), a), nil
}

// featureRidge returns φ(x)·(ΦᵀΦ + λI)⁻¹·Φᵀy, the prediction at every row of x, in O(n·D² + D³).
func featureRidge(f rff.Map[float64], train data, x dense.Matrix[float64], lambda float64) ([]float64, error) {
	m, err := ridge.Fit(context.Background(), f, train.x, dense.Of(len(train.y), 1, train.y), ridge.Options{Noise: lambda, Prior: 1, NoIntercept: true})
	if err != nil {
		return nil, err
	}
	return m.Mean(dense.Matrix[float64]{}, x).Data, nil
}

// solve returns (a + λI)⁻¹·b for a symmetric positive semi-definite a, to whose diagonal it adds λ.
func solve(a dense.Matrix[float64], b []float64, lambda float64) ([]float64, error) {
	for i := range a.Rows {
		a.Row(i)[i] += lambda
	}
	var c mat.Cholesky
	if !c.Factorize(mat.NewSymDense(a.Rows, a.Data)) {
		return nil, fmt.Errorf("the system is singular to working precision: λ = %v is too small", lambda)
	}
	var x mat.VecDense
	if err := c.SolveVecTo(&x, mat.NewVecDense(len(b), b)); err != nil {
		return nil, fmt.Errorf("λ = %v is too small: %w", lambda, err)
	}
	return x.RawVector().Data, nil
}

// times returns a·x.
func times(a dense.Matrix[float64], x []float64) []float64 {
	var y mat.VecDense
	y.MulVec(gonum.ToMat(a), mat.NewVecDense(len(x), x))
	return y.RawVector().Data
}

// rmse returns the root mean square of a − b.
func rmse(a, b []float64) float64 {
	return floats.Distance(a, b, 2) / math.Sqrt(float64(len(a)))
}
