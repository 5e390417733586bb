package estimate

import (
	"math"
	"math/rand/v2"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// source returns the source of a test with this seed.
func source(seed uint64) rand.Source { return exprand.NewSource(seed) }

// must returns v unless there is an error.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// frequencies returns m Gram–Schmidt frequencies of R^d.
func frequencies[T dense.Float](m, d int) orf.Projection[T] {
	return must(orf.Draw[T](orf.GramSchmidt{}, m, d, source(1)))
}

// positive returns softmax features with m positive features of R^d.
func positive[T dense.Float](m, d int) rff.Map[T] {
	return must(rff.SoftmaxPositive(frequencies[T](m, d), 1))
}

// centred takes vectors off queries and keys.
func centred[T dense.Float](m rff.Map[T]) rff.Map[T] {
	d, _ := m.Dims()
	means := densetest.Normal[T](rand.New(source(7)), 2, d, 0, 0.5)
	return must(rff.Centred(m, means.Row(0), means.Row(1)))
}

// linear returns attention with one map for queries and keys.
func linear[T dense.Float](m rff.Map[T], causal bool) *performer.Linear[T] {
	return must(performer.NewLinear(m, performer.LinearOptions{Causal: causal}))
}

// sphere returns n points of norm r in R^d.
func sphere[T dense.Float](rng *rand.Rand, n, d int, r float64) dense.Matrix[T] {
	x := densetest.Normal[float64](rng, n, d, 0, 1)
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

// distance returns the root mean square of a − b.
func distance[T dense.Float](a, b dense.Matrix[T]) float64 {
	sum := 0.0
	for i := range a.Rows {
		for j, x := range a.Row(i) {
			sum += math.Pow(float64(x)-float64(b.At(i, j)), 2)
		}
	}
	return math.Sqrt(sum / float64(a.Rows*a.Cols))
}
