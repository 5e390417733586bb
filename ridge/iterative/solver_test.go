package iterative_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/iterative"
)

// gaussian returns 2m features of a Gaussian kernel of points of d columns.
func gaussian[T dense.Float](t testing.TB, m, d int, lengthScale float64) rff.Map[T] {
	t.Helper()
	w, err := orf.Draw[T](orf.Hadamard{}, m, d, rand.NewPCG(1, 2))
	require.NoError(t, err)
	phi, err := rff.Draw(rff.Gaussian{LengthScale: lengthScale}, w)
	require.NoError(t, err)
	return phi
}

// surface returns n points of the unit cube of d columns and two targets, about the given level.
func surface[T dense.Float](n, d int, noise, level float64, seed uint64) ridge.Block[T] {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := ridge.Block[T]{X: dense.New[T](n, d), Y: dense.New[T](n, 2), Weights: make([]T, n)}
	for i := range n {
		for j := range d {
			b.X.Set(i, j, T(rng.Float64()))
		}
		u, v := float64(b.X.At(i, 0)), float64(b.X.At(i, d-1))
		b.Y.Set(i, 0, T(level+math.Sin(6*u)*v+noise*rng.NormFloat64()))
		b.Y.Set(i, 1, T(level+3*math.Cos(4*u+v)+noise*rng.NormFloat64()))
		b.Weights[i] = T(1 + i%3)
	}
	return b
}

// distance returns the largest root of a mean square of the differences of columns, in units of the
// spread of those of y.
func distance[T dense.Float](a, b, y dense.Matrix[T]) float64 {
	largest := 0.0
	for j := range a.Cols {
		var sum, mean, squares float64
		for i := range a.Rows {
			e := float64(a.At(i, j)) - float64(b.At(i, j))
			sum += e * e
			mean += float64(y.At(i, j)) / float64(y.Rows)
		}
		for i := range y.Rows {
			e := float64(y.At(i, j)) - mean
			squares += e * e / float64(y.Rows)
		}
		largest = max(largest, math.Sqrt(sum/float64(a.Rows)/squares))
	}
	return largest
}

// raised are features with a number added, rounded to T.
type raised[T dense.Float] struct {
	rff.Map[T]
	by T
}

func (r raised[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = r.Map.Transform(dst, x)
	for i := range dst.Rows {
		for j := range dst.Row(i) {
			dst.Row(i)[j] += r.by
		}
	}
	return dst
}

// Predictions are those of the direct solution to the tolerance, for both types, whatever the rows
// are.
func TestFitIsTheDirectSolution(t *testing.T) {
	densetest.Both(t, testDirect[float32], testDirect[float64])
}

func testDirect[T dense.Float](t *testing.T) {
	const n, d, m = 900, 4, 60
	phi := gaussian[T](t, m, d, 0.7)
	given := ridge.Options{Noise: 0.01, Prior: 1}
	plain := surface[T](n, d, 0.1, 0, 1)
	unweighted := plain
	unweighted.Weights = nil
	for name, c := range map[string]struct {
		phi  rff.Map[T]
		rows ridge.Block[T]
		o    iterative.Options
	}{
		"weights":          {phi, plain, iterative.Options{Options: given}},
		"no weights":       {phi, unweighted, iterative.Options{Options: given}},
		"no intercept":     {phi, plain, iterative.Options{Options: ridge.Options{Noise: 0.01, Prior: 1, NoIntercept: true}}},
		"high targets":     {phi, surface[T](n, d, 0.1, 1000, 1), iterative.Options{Options: given}},
		"high features":    {raised[T]{phi, 10}, plain, iterative.Options{Options: given}},
		"more features":    {phi, part(plain, 90), iterative.Options{Options: given}},
		"fewer than rank":  {phi, part(plain, 20), iterative.Options{Options: given, Rank: 64}},
		"no sketch":        {phi, plain, iterative.Options{Options: ridge.Options{Noise: 1, Prior: 1}, Rank: -1}},
		"full rank":        {phi, plain, iterative.Options{Options: given, Rank: 1000}},
		"little noise":     {phi, plain, iterative.Options{Options: ridge.Options{Noise: 1e-6, Prior: 1}, Rank: 100}},
		"tight":            {phi, plain, iterative.Options{Options: given, Tolerance: 1e-8}},
		"with samples":     {phi, plain, iterative.Options{Options: given, Samples: 3}},
		"ratio":            {phi, plain, iterative.Options{Options: ridge.Options{Ratio: 0.1}}},
		"one row":          {phi, part(plain, 1), iterative.Options{Options: given}},
		"constant targets": {phi, ridge.Block[T]{X: plain.X, Y: densetest.Filled(n, 2, T(3))}, iterative.Options{Options: given}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := iterative.Fit(t.Context(), c.phi, c.rows, c.o, rand.NewPCG(3, 4))
			require.NoError(t, err)
			sums, err := ridge.Sum(t.Context(), c.phi, c.rows)
			require.NoError(t, err)
			direct, err := sums.Fit(t.Context(), c.o.Options)
			require.NoError(t, err)
			tolerance := c.o.Tolerance
			if tolerance == 0 {
				tolerance = 1e-4
			}
			z := surface[T](150, d, 0, 0, 2)
			got, want := m.Mean(dense.Matrix[T]{}, z.X), direct.Mean(dense.Matrix[T]{}, z.X)
			level := math.Abs(float64(c.rows.Y.At(0, 0)))
			t.Log(distance(got, want, z.Y), m.Bound())
			assert.Less(t, distance(got, want, z.Y), tolerance+8*densetest.Roundoff[T]()*(1+level), "at other points")
			assert.InEpsilonSlice(t, direct.Noise(), m.Noise(), 1e-4)
			assert.InEpsilonSlice(t, direct.Prior(), m.Prior(), 1e-4)
		})
	}
}

// part returns the first n rows.
func part[T dense.Float](b ridge.Block[T], n int) ridge.Block[T] {
	return ridge.Block[T]{X: b.X.RowRange(0, n), Y: b.Y.RowRange(0, n), Weights: b.Weights[:n]}
}
