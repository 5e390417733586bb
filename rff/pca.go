package rff

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/argument"
)

// PCA fits principal components to the rows of x (n×d) and returns the affine map on the first r =
// components,
//
//	z = Vᵀ(x − μ),  or diag(1/σ)·Vᵀ(x − μ) if whiten is set,
//
// where μ is the mean of the rows, the columns of V are the eigenvectors of their covariance,
// largest variance first, and σ_k² is the variance of component k, with the divisor n − 1. Over the
// rows of x, z has mean 0 and uncorrelated coordinates, with variance 1 after whitening. With
// components = d and no whitening the map is a translation and an orthogonal map, which keep
// distances. Each column of V has its element of largest absolute value positive; components of
// equal variance are unique up to a rotation.
//
// Fitting costs O(n·d·min(n, d)), in float64.
//
// An error reports fewer than two rows, no columns, an element that is not finite, components
// outside 1 … min(n, d), a singular value decomposition that did not converge, and with whiten a
// component whose variance is zero to rounding: σ_k·√(n−1) ≤ max(n, d)·ε·‖x‖_F, with ε = 2⁻⁵² and
// the Frobenius norm.
func PCA[T dense.Float](x dense.Matrix[T], components int, whiten bool) (Map[T], error) {
	return build[Map[T]](pcaSamples[T]{x, components, whiten})
}

// pcaSamples has the arguments of PCA.
type pcaSamples[T dense.Float] struct {
	x          dense.Matrix[T]
	components int
	whiten     bool
}

func fitPCA[T dense.Float](s pcaSamples[T]) (Map[T], error) {
	x, components, whiten := s.x, s.components, s.whiten
	n, d := x.Rows, x.Cols
	if n < 2 || d < 1 {
		return nil, fmt.Errorf("rff: x is %d×%d, want at least 2×1", n, d)
	}
	if components < 1 || components > min(n, d) {
		return nil, fmt.Errorf("rff: components = %d, want 1 to %d for x of %d×%d", components, min(n, d), n, d)
	}
	if err := argument.Finite("rff: x", x); err != nil {
		return nil, err
	}
	data := dense.Copy(dense.Matrix[float64]{}, x)
	e := toUnit(data)
	var pc stat.PC
	if !pc.PrincipalComponents(gonum.ToMat(data), nil) {
		return nil, fmt.Errorf("rff: the singular value decomposition of x, %d×%d, did not converge", n, d)
	}
	variances := pc.VarsTo(nil)
	var vectors mat.Dense
	pc.VectorsTo(&vectors)
	v := upright(gonum.FromMat[float64](&vectors))

	size := mat.Norm(gonum.ToMat(data), 2)
	zero := float64(max(n, d)) * 0x1p-52 * size / math.Sqrt(float64(n-1))
	a := dense.New[float64](components, d)
	for k := range components {
		scale := 1.0
		if whiten {
			sigma := math.Sqrt(variances[k])
			if !(sigma > zero) {
				return nil, fmt.Errorf("rff: component %d of x has the variance %.3g, zero to rounding, and cannot be whitened: want at most %d components", k, math.Ldexp(variances[k], 2*e), k)
			}
			scale = math.Ldexp(1/sigma, -e)
		}
		for j := range d {
			a.Set(k, j, scale*v.At(j, k))
		}
	}
	mean := make([]float64, d)
	column := make([]float64, n)
	for j := range mean {
		for i := range n {
			column[i] = data.At(i, j)
		}
		mean[j] = math.Ldexp(accurateMean(column), e)
	}
	return newPCA(pcaRecipe[T]{a, mean, whiten})
}

// pcaRecipe is what PCA fits: Vᵀ or diag(1/σ)·Vᵀ, and μ.
type pcaRecipe[T dense.Float] struct {
	A      dense.Matrix[float64]
	Centre []float64 `archive:"center"`
	Whiten bool
}

func newPCA[T dense.Float](r pcaRecipe[T]) (Map[T], error) {
	return affineMap[T](fmt.Sprintf("PCA(whiten=%v)", r.Whiten), r.A, r.Centre, nil, r)
}

// accurateMean returns the mean of x, which it overwrites. The rounding of the first pass grows
// with the distance of x from zero. The second pass corrects it, so that only the rounding of the
// result is left, for every order of summation.
func accurateMean(x []float64) float64 {
	mean := stat.Mean(x, nil)
	floats.AddConst(-mean, x)
	return mean + stat.Mean(x, nil)
}

// toUnit divides x by 2^e, the least power of two above its elements, and returns e. Squares of the
// quotients do not overflow, and do not all underflow. No digit changes.
func toUnit(x dense.Matrix[float64]) (e int) {
	var peak float64
	for i := range x.Rows {
		for _, v := range x.Row(i) {
			peak = max(peak, math.Abs(v))
		}
	}
	_, e = math.Frexp(peak)
	for i := range x.Rows {
		row := x.Row(i)
		for j, v := range row {
			row[j] = math.Ldexp(v, -e)
		}
	}
	return e
}
