package automl

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
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
	// the kernel of a family that has only one; nil for others
	kernel kernels.Kernel
	ratio  float64 // λ of the fit that has learnt the space, or 0
}

// before returns the map that applies the space and then phi, or the space alone for a nil phi.
func before[T dense.Float](s space, phi rff.Map[T]) (rff.Map[T], error) {
	scale, metric := rff.Affine{Centre: s.centre, Factors: s.factors}, rff.Affine{A: s.metric}
	var err error
	switch {
	case s.metric.Rows > 0 && phi == nil:
		phi, err = rff.Draw[T](metric, nil)
	case s.metric.Rows > 0:
		phi, err = rff.Compose(metric, phi)
	}
	if err != nil {
		return nil, err
	}
	if phi == nil {
		return rff.Draw[T](scale, nil)
	}
	return rff.Compose(scale, phi)
}

func (s space) points(x dense.Matrix[float64]) (dense.Matrix[float64], error) {
	phi, err := before[float64](s, nil)
	if err != nil {
		return x, err
	}
	return phi.Transform(dense.Matrix[float64]{}, x), nil
}

// build returns the map of the kernel in the space, with the landmarks x, or a linear map. build
// returns as soon as ctx ends. The factorisation of the landmarks then goes on for a while.
func build[T dense.Float](ctx context.Context, s space, k kernels.Kernel, x dense.Matrix[float64]) (rff.Map[T], error) {
	if _, linear := k.(kernels.DotProduct); linear {
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

type units int

const (
	deviations units = iota // each column to deviation 1
	equal                   // all columns by one factor
	pairs                   // columns of two values to the difference 1, and others to deviation 1
)

// standardised returns the space of columns with mean 0 and the units. Columns that do not vary
// have the factor 0.
func standardised(x dense.Matrix[float64], u units) (space, error) {
	scale, err := rff.Standardise(x)
	if err != nil {
		return space{}, err
	}
	s := space{centre: scale.Centre, factors: scale.Factors}
	var varying []float64 // the deviations of columns that vary
	for _, f := range s.factors {
		if f > 0 {
			varying = append(varying, 1/f)
		}
	}
	one := math.Sqrt(float64(len(varying))) / floats.Norm(varying, 2)
	for j, f := range s.factors {
		switch low, high, pair := limits(x.ColRange(j, j+1)); {
		case f == 0:
		case u == equal:
			s.factors[j] = one
		case u == pairs && pair:
			s.factors[j] = 1 / (high - low)
		}
	}
	return s, nil
}

func limits(column dense.Matrix[float64]) (low, high float64, pair bool) {
	values := dense.Copy(dense.Matrix[float64]{}, column).Data
	low, high = slices.Min(values), slices.Max(values)
	return low, high, low < high && !slices.ContainsFunc(values, func(v float64) bool { return v != low && v != high })
}

// Columns can have one unit, such as pixels, if three quarters of those that vary cover a quarter
// of the range of all, and have more than two values, unless all have two.
func equalUnits(x dense.Matrix[float64]) bool {
	var ranges []float64
	pairs, lowest, highest := 0, math.Inf(1), math.Inf(-1)
	for j := range x.Cols {
		low, high, pair := limits(x.ColRange(j, j+1))
		if low < high {
			ranges = append(ranges, high-low)
			lowest, highest = min(lowest, low), max(highest, high)
		}
		if pair {
			pairs++
		}
	}
	n := len(ranges)
	slices.Sort(ranges)
	return n > 0 && ranges[n/4] >= (highest-lowest)/4 && (4*pairs <= n || pairs == n)
}

// anyColumn reports whether is is true for the limits of a column.
func anyColumn(x dense.Matrix[float64], is func(low, high float64, pair bool) bool) bool {
	for j := range x.Cols {
		if is(limits(x.ColRange(j, j+1))) {
			return true
		}
	}
	return false
}

func anyPair(x dense.Matrix[float64]) bool {
	return anyColumn(x, func(_, _ float64, pair bool) bool { return pair })
}

func distance(z dense.Matrix[float64]) float64 {
	sum, columns := 0.0, dense.Transpose(dense.Matrix[float64]{}, z)
	for j := range columns.Rows {
		sum += 2 * stat.Variance(columns.Row(j), nil)
	}
	return math.Sqrt(sum)
}

func indicators[T dense.Float](b ridge.Block[T], classes int) ridge.Block[T] {
	if classes == 0 {
		return b
	}
	y := dense.New[T](b.X.Rows, classes)
	for i := range y.Rows {
		y.Set(i, int(b.Y.At(i, 0)), 1)
	}
	return ridge.Block[T]{X: b.X, Y: y, Weights: b.Weights}
}
