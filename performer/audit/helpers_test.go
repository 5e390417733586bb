package audit

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

// positive returns softmax features with m positive features of R^d.
func positive[T dense.Float](m, d int) rff.Map[T] {
	return must(rff.SoftmaxPositive(must(orf.Draw[T](orf.GramSchmidt{}, m, d, source(1))), 1))
}

// linear returns attention with one map for queries and keys.
func linear[T dense.Float](m rff.Map[T], opts performer.LinearOptions) *performer.Linear[T] {
	return must(performer.NewLinear(m, opts))
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

// relativeErrors returns ‖got_i − want_i‖/‖want_i‖.
func relativeErrors[T dense.Float](got, want dense.Matrix[T]) []float64 {
	e := make([]float64, got.Rows)
	for i := range e {
		var far, size float64
		for j, x := range want.Row(i) {
			far += math.Pow(float64(got.At(i, j))-float64(x), 2)
			size += float64(x) * float64(x)
		}
		e[i] = math.Sqrt(far / size)
	}
	return e
}
