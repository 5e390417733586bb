// Package densetest draws matrices for tests, compares matrices, and runs tests for both element
// types.
package densetest

import (
	"math"
	"math/rand/v2"
	"testing"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
)

// Both runs a test for float32 and for float64, as subtests.
func Both(t *testing.T, single, double func(t *testing.T)) {
	t.Run("type=float32", single)
	t.Run("type=float64", double)
}

// Roundoff returns the unit roundoff of T: 2⁻²⁴ or 2⁻⁵³.
func Roundoff[T dense.Float]() float64 {
	if _, ok := any(T(0)).(float32); ok {
		return 0x1p-24
	}
	return 0x1p-53
}

// Largest returns the largest finite number of T.
func Largest[T dense.Float]() float64 {
	if _, ok := any(T(0)).(float32); ok {
		return math.MaxFloat32
	}
	return math.MaxFloat64
}

// Source returns the source of a test with this seed.
func Source(seed uint64) rand.Source { return exprand.NewSource(seed) }

// Normal returns an r×c matrix of independent normal numbers.
func Normal[T dense.Float](rng *rand.Rand, r, c int, mean, sd float64) dense.Matrix[T] {
	m := dense.New[T](r, c)
	for i := range m.Data {
		m.Data[i] = T(mean + sd*rng.NormFloat64())
	}
	return m
}

// Sphere returns n points of norm r in R^d, of random directions.
func Sphere[T dense.Float](rng *rand.Rand, n, d int, r float64) dense.Matrix[T] {
	x := Normal[float64](rng, n, d, 0, 1)
	for i := range n {
		norm := 0.0
		for _, v := range x.Row(i) {
			norm = math.Hypot(norm, v)
		}
		for j := range d {
			x.Row(i)[j] *= r / norm
		}
	}
	return dense.Copy(dense.Matrix[T]{}, x)
}

// Decaying returns n normal points of R^d whose coordinate j, from 0 on, has variance
// variance/(1 + j).
func Decaying[T dense.Float](seed uint64, n, d int, variance float64) dense.Matrix[T] {
	m := Normal[T](rand.New(Source(seed)), n, d, 0, 1)
	for i := range n {
		for j := range d {
			m.Row(i)[j] *= T(math.Sqrt(variance / float64(1+j)))
		}
	}
	return m
}

// Gapped returns an r×c matrix of standard normal numbers inside wider rows that are NaN
// elsewhere.
func Gapped[T dense.Float](seed uint64, r, c int) dense.Matrix[T] {
	rng := rand.New(Source(seed))
	m := Filled(r, c+3, T(math.NaN())).ColRange(1, c+1)
	for i := range r {
		for j := range c {
			m.Set(i, j, T(rng.NormFloat64()))
		}
	}
	return m
}

// Counted returns the r×c matrix whose element (i, j) is 100·i + j, with the given stride and −1
// in the gaps between rows.
func Counted[T dense.Float](r, c, stride int) dense.Matrix[T] {
	m := dense.Matrix[T]{Rows: r, Cols: c, Data: make([]T, r*stride), Stride: stride}
	for i := range m.Data {
		m.Data[i] = -1
		if j := i % stride; j < c {
			m.Data[i] = T(100*(i/stride) + j)
		}
	}
	return m
}

// Filled returns an r×c matrix whose elements are all x.
func Filled[T dense.Float](r, c int, x T) dense.Matrix[T] {
	m := dense.New[T](r, c)
	for i := range m.Data {
		m.Data[i] = x
	}
	return m
}

// Padded returns the rows of x, where every row one after a multiple of gap is padding unless gap
// is zero, and more rows of padding after them; and which rows are valid. Rows of padding hold
// zeros, large numbers, infinities and NaN in turn, from number salt on.
func Padded[T dense.Float](x dense.Matrix[T], gap, more, salt int) (padded dense.Matrix[T], valid []bool) {
	paddings := []float64{0, 1e30, math.Inf(1), math.NaN(), -1}
	padded, valid = dense.New[T](x.Rows+more, x.Cols), make([]bool, x.Rows+more)
	for i := range padded.Rows {
		row := padded.Row(i)
		if valid[i] = i < x.Rows && (gap == 0 || i%gap != 1); valid[i] {
			copy(row, x.Row(i))
			continue
		}
		for j := range row {
			row[j] = T(paddings[(salt+i)%len(paddings)])
		}
	}
	return padded, valid
}
