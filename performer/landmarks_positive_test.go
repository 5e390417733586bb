package performer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// hostileHead draws queries and keys as trained heads have them: norms of about 10 at d = 64, means
// away from zero, few wide directions, and logits with a spread of 2 that reach ±20. It draws
// points for landmarks from the law of the keys.
func hostileHead[T dense.Float](seed uint64, n int) (q, k, v, z dense.Matrix[T]) {
	const d, dv, landmarks = 64, 32, 256
	rng := rand.New(rand.NewPCG(seed, 1))
	rank := 10 + int(seed%4)*2
	means, wide := dense.New[float64](2, d), dense.New[float64](2*rank, d)
	for j := range d {
		means.Row(0)[j], means.Row(1)[j] = 0.5*rng.NormFloat64(), 0.9*rng.NormFloat64()
		for i := range rank {
			x := rng.NormFloat64()
			wide.Row(rank + i)[j], wide.Row(i)[j] = x, 0.6*x+0.8*rng.NormFloat64()
		}
	}
	draw := func(n, side int, size float64) dense.Matrix[T] {
		x := dense.New[T](n, d)
		for i := range n {
			row := append([]float64(nil), means.Row(side)...)
			for f := range rank {
				by := size * 3 * rng.NormFloat64() / math.Sqrt(float64((f+1)*rank))
				for j, y := range wide.Row(side*rank + f) {
					row[j] += by * y
				}
			}
			for j, y := range row {
				x.Row(i)[j] = T(y + 0.25*rng.NormFloat64())
			}
		}
		return x
	}
	q, k, z = draw(n, 0, 0.5), draw(n, 1, 0.6), draw(landmarks, 1, 0.6)
	v = dense.New[T](n, dv)
	for i := range v.Data {
		v.Data[i] = T(rng.NormFloat64())
	}
	return q, k, v, z
}

// Landmarks of other texts make denominators near zero: without positive weights the worst of these
// heads has an error of 1880 times its outputs. An average of values, be it a bad one, has an
// error of about 1.
func testLandmarksCancel[T dense.Float](t *testing.T) {
	const n = 600
	none := dense.Matrix[T]{}
	for seed := range uint64(4) {
		q, k, v, z := hostileHead[T](seed, n)
		exact := must.Have(performer.NewExact[T](performer.ExactOptions{}))
		want := wide(exact.Forward(none, q, k, v))
		for _, r := range []int{64, 128, 256} {
			l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Scale: exact.Options().Scale, Unnormalised: exact.Options().Unnormalised, Points: z.RowRange(0, r)}, nil))
			got := l.Forward(none, q, k, v)
			assert.Less(t, frobeniusError(got, want), 2.0, "head %d, %d landmarks", seed, r)
			require.True(t, densetest.Identical(got, l.Forward(dense.Matrix[T]{}, dense.Copy(dense.Matrix[T]{}, q), k, v)))
		}
	}
}

func TestLandmarksCancel(t *testing.T) {
	densetest.Both(t, testLandmarksCancel[float32], testLandmarksCancel[float64])
}
