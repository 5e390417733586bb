package components

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

const krylovFrom = 200

const unit = 0x1p-52

// leading returns the r largest eigenvalues of the symmetric matrix a, the largest first, and the
// eigenvectors as rows, with the signs of FromSums.
func leading(ctx context.Context, a dense.Matrix[float64], r int) (values []float64, vectors dense.Matrix[float64], err error) {
	if n := a.Rows; n >= krylovFrom && r <= n/16 {
		values, vectors, err = krylov(ctx, a, r)
	}
	if err == nil && values == nil {
		values, vectors, err = all(ctx, a, r)
	}
	if err != nil {
		return nil, vectors, err
	}
	for i := range r {
		row, peak := vectors.Row(i), 0.0
		for _, v := range row {
			if math.Abs(v) > math.Abs(peak) {
				peak = v
			}
		}
		if peak < 0 {
			for j := range row {
				row[j] = -row[j]
			}
		}
	}
	return values, vectors, nil
}

// If ctx ends, gonum's decomposition of a copy of a continues to its end in the background.
func all(ctx context.Context, a dense.Matrix[float64], r int) (values []float64, vectors dense.Matrix[float64], err error) {
	n := a.Rows
	var ascending []float64
	var columns mat.Dense
	copied := mat.NewSymDense(n, dense.Transpose(dense.Matrix[float64]{}, a).Data)
	if err := interrupt.Await(ctx, func() {
		var eigen mat.EigenSym
		if eigen.Factorize(copied, true) {
			ascending = eigen.Values(nil)
			eigen.VectorsTo(&columns)
		}
	}); err != nil {
		return nil, vectors, err
	}
	if ascending == nil {
		return nil, vectors, fmt.Errorf("components: the eigenvalues of the covariance of %d features did not converge", n)
	}
	rows := dense.Transpose(dense.Matrix[float64]{}, gonum.FromMat[float64](&columns))
	vectors = dense.New[float64](r, n)
	for i := range r {
		values = append(values, max(0, ascending[n-1-i]))
		copy(vectors.Row(i), rows.Row(n-1-i))
	}
	return values, vectors, nil
}

// krylov does the work of leading, except for signs, in the space of Q, AQ, A²Q, … for a random Q
// of r + 8 rows [Musco & Musco 2015], to the residuals ‖Av − λv‖ of a decomposition. krylov returns
// nil if this needs a space of more than half of the dimensions.
func krylov(ctx context.Context, a dense.Matrix[float64], r int) (values []float64, vectors dense.Matrix[float64], err error) {
	n := a.Rows
	most, block := n/2, r+8
	basis, images := dense.New[float64](most, n), dense.New[float64](most, n)
	rng := rand.New(rand.NewPCG(1, 2))
	next := dense.New[float64](block, n)
	for i := range next.Data {
		next.Data[i] = rng.NormFloat64()
	}
	checked := 0
	for size := 0; size+block <= most; {
		if err := ctx.Err(); err != nil {
			return nil, vectors, err
		}
		added := extend(ctx, basis, size, next)
		for lo, hi := range interrupt.Ranges(ctx, n, productColumns) {
			matmul.Mul(1, basis.RowRange(size, size+added), a.ColRange(lo, hi), 0, images.RowRange(size, size+added).ColRange(lo, hi))
		}
		size += added
		next = dense.Copy(dense.Matrix[float64]{}, images.RowRange(size-added, size))
		// Decompositions at sizes that grow by a quarter together cost twice the last one.
		if added > 0 && 4*size < 5*checked && size+block <= most {
			continue
		}
		checked = size
		q, aq := basis.RowRange(0, size), images.RowRange(0, size)
		small := dense.New[float64](size, size)
		for lo, hi := range interrupt.Ranges(ctx, size, productColumns) {
			matmul.MulT(1, q, aq.RowRange(lo, hi), 0, small.ColRange(lo, hi))
		}
		count := min(r, size)
		theta, y, err := all(ctx, small, count)
		if err != nil {
			return nil, vectors, err
		}
		v, rest := dense.New[float64](count, n), dense.New[float64](count, n)
		for lo, hi := range interrupt.Ranges(ctx, n, productColumns) {
			matmul.Mul(1, y, q.ColRange(lo, hi), 0, v.ColRange(lo, hi))
			matmul.Mul(1, y, aq.ColRange(lo, hi), 0, rest.ColRange(lo, hi))
		}
		worst := 0.0
		for i, t := range theta {
			vecmath.AddScaled(rest.Row(i), v.Row(i), -t)
			worst = max(worst, vecmath.Dot(rest.Row(i), rest.Row(i)))
		}
		if math.Sqrt(worst) <= float64(n)*unit*theta[0] && count == r {
			return theta, v, nil
		}
		if added == 0 {
			return nil, vectors, nil
		}
	}
	return nil, vectors, nil
}

const productColumns = 256

// extend orthonormalises the rows of next against the first rows of basis and each other.
func extend(ctx context.Context, basis dense.Matrix[float64], first int, next dense.Matrix[float64]) (added int) {
	for i := range interrupt.Ranges(ctx, next.Rows, 1) {
		row := next.Row(i)
		before := math.Sqrt(vecmath.Dot(row, row))
		// The second pass removes the rounding of the first.
		for range 2 {
			for l := range first + added {
				vecmath.AddScaled(row, basis.Row(l), -vecmath.Dot(row, basis.Row(l)))
			}
		}
		norm := math.Sqrt(vecmath.Dot(row, row))
		if !(norm > 64*unit*before) {
			continue
		}
		to := basis.Row(first + added)
		for j, v := range row {
			to[j] = v / norm
		}
		added++
	}
	return added
}

// symmetric returns the symmetric matrix with the given lower triangle divided by 2^e, so that no
// element exceeds 1, and e. A matrix of zeros and elements that are not finite are errors.
func symmetric(lower dense.Matrix[float64]) (dense.Matrix[float64], int, error) {
	largest := 0.0
	for i := range lower.Rows {
		for j, v := range lower.Row(i)[:i+1] {
			if v-v != 0 {
				return lower, 0, fmt.Errorf("components: the sum of products of features %d and %d is %v, want a finite number: scale the features", i, j, v)
			}
			largest = max(largest, math.Abs(v))
		}
	}
	if largest == 0 {
		return lower, 0, errors.New("components: the features do not vary, or by less than 10⁻¹⁶⁰, and have no components: want rows that differ, or features of another scale")
	}
	_, e := math.Frexp(largest)
	for i := range lower.Rows {
		for j := range i + 1 {
			v := math.Ldexp(lower.At(i, j), -e)
			lower.Set(i, j, v)
			lower.Set(j, i, v)
		}
	}
	return lower, e, nil
}
