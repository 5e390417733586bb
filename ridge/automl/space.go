package automl

import (
	"context"
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// space is the affine map z = L·(f∘(x − c)) from rows to the points of a kernel.
type space struct {
	centre, factors []float64
	metric          dense.Matrix[float64] // L, r×d; zero for the identity
	kernel          kernels.Kernel        // the kernel of a family that has only one; nil for others
}

// before returns the map that applies the space and then phi, or the space alone for a nil phi.
func before[T dense.Float](s space, phi rff.Map[T]) (rff.Map[T], error) {
	scale, err := rff.Scale[T](s.centre, s.factors)
	if err == nil && s.metric.Rows > 0 {
		var l rff.Map[T]
		l, err = rff.Affine(dense.Copy(dense.Matrix[T]{}, s.metric), nil)
		if err == nil && phi != nil {
			l, err = rff.Compose(l, phi)
		}
		phi = l
	}
	if err != nil || phi == nil {
		return scale, err
	}
	return rff.Compose(scale, phi)
}

// points returns z of the rows of x.
func (s space) points(x dense.Matrix[float64]) (dense.Matrix[float64], error) {
	phi, err := before[float64](s, nil)
	if err != nil {
		return x, err
	}
	return phi.Transform(dense.Matrix[float64]{}, x), nil
}

// build returns the map of the kernel in the space, with the landmarks x; a nil kernel is linear.
// build returns as soon as ctx ends. The factorisation of the landmarks then goes on for a while.
func build[T dense.Float](ctx context.Context, s space, k kernels.Kernel, x dense.Matrix[float64]) (rff.Map[T], error) {
	if k == nil {
		return before[T](s, nil)
	}
	z, err := s.points(x)
	if err != nil {
		return nil, err
	}
	var phi rff.Map[T]
	stop := interrupt.Await(ctx, func() { phi, err = rff.Nystroem(k, dense.Copy(dense.Matrix[T]{}, z)) })
	if stop != nil {
		return nil, stop
	}
	if err != nil {
		return nil, err
	}
	return before[T](s, phi)
}

// standardised returns the space of columns with mean 0 and deviation 1, or with one factor for all
// columns that vary if equal is set.
func standardised(x dense.Matrix[float64], equal bool) (space, error) {
	phi, err := rff.Standardise(x)
	if err != nil {
		return space{}, err
	}
	k := phi.Kernel().(kernels.Pullback)
	s := space{centre: k.Centre, factors: make([]float64, x.Cols)}
	for j := range s.factors {
		s.factors[j] = k.A.At(j, j)
	}
	one := math.Sqrt(2*float64(x.Cols)) / distance(x)
	for j, f := range s.factors {
		if equal && f > 0 {
			s.factors[j] = one
		}
	}
	return s, nil
}

// distance returns the root mean square distance of two rows of z.
func distance(z dense.Matrix[float64]) float64 {
	sum, column := 0.0, make([]float64, z.Rows)
	for j := range z.Cols {
		for i := range column {
			column[i] = z.At(i, j)
		}
		sum += 2 * stat.Variance(column, nil)
	}
	return math.Sqrt(sum)
}

// indicators returns the rows with an output for each class in place of the class.
func indicators(b ridge.Block[float64], classes int) ridge.Block[float64] {
	if classes == 0 {
		return b
	}
	y := dense.New[float64](b.X.Rows, classes)
	for i := range y.Rows {
		y.Set(i, int(b.Y.At(i, 0)), 1)
	}
	return ridge.Block[float64]{X: b.X, Y: y, Weights: b.Weights}
}
