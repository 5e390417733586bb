package performer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// On streams of several kinds the error of steps that are not measured is within the tolerance,
// reported errors are near true errors, and a head with large scores of random keys reads all keys.
func TestTolerance(t *testing.T) { densetest.Both(t, testTolerance[float32], testTolerance[float64]) }

func testTolerance[T dense.Float](t *testing.T) {
	const heads, d, first, n = 4, 16, 1024, 2560
	rng := rand.New(densetest.Source(811))
	q, k, v := densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, heads*d, 0, 1)
	for i := range n {
		for l := range d {
			q.Row(i)[l] *= 0.2 // nearly equal weights of values with a mean
			v.Row(i)[l]++
			q.Row(i)[d+l] *= T(4 / float64(l+1)) // the first coordinates matter
			if q.Row(i)[2*d+l] *= 1.5; i > 0 {   // neighbours are alike
				k.Row(i)[2*d+l] = 0.8*k.Row(i - 1)[2*d+l] + 0.6*k.Row(i)[2*d+l]
				v.Row(i)[2*d+l] = 0.8*v.Row(i - 1)[2*d+l] + 0.6*v.Row(i)[2*d+l]
			}
			q.Row(i)[3*d+l] *= 0.7 // many keys matter, whose values have the mean zero
		}
	}
	for bits, tolerances := range map[int][]float64{0: {0.1, 0.25}, 8: {0.25}} {
		whole := stateOf(must.Have(performer.NewExact[T](performer.ExactOptions{Bits: bits})), heads, heads, d, d)
		want := whole.Step(dense.Matrix[T]{}, q, k, v).RowRange(first, n)
		for _, tolerance := range tolerances {
			s := stateOf(must.Have(performer.NewExact[T](performer.ExactOptions{TopK: 128, Tolerance: tolerance, Bits: bits})), heads, heads, d, d)
			s.Append(k.RowRange(0, first), v.RowRange(0, first))
			got := s.Step(dense.Matrix[T]{}, q.RowRange(first, n), k.RowRange(first, n), v.RowRange(first, n))
			keys, errs := s.TopK()
			for h := range heads {
				difference, norm := 0.0, 0.0
				for i := want.Rows / 2; i < want.Rows; i++ {
					measured := true
					for l := h * d; l < (h+1)*d; l++ {
						g, w := float64(got.At(i, l)), float64(want.At(i, l))
						difference, norm, measured = difference+(g-w)*(g-w), norm+w*w, measured && g == w
					}
					if keys[h] > 0 && h > 0 {
						assert.Equal(t, i%64 == h*16, measured, "head %d, token %d", h, i)
					}
				}
				e := math.Sqrt(difference / norm)
				t.Logf("tolerance %v, %d bits, head %d: %d keys, measured %.4f, true %.4f", tolerance, bits, h, keys[h], errs[h], e)
				assert.LessOrEqual(t, e, tolerance, "head %d", h)
				assert.LessOrEqual(t, errs[h], tolerance, "head %d", h)
				assert.InEpsilon(t, e+0.01, errs[h]+0.01, 0.5, "head %d", h)
			}
			if tolerance == 0.1 {
				assert.Equal(t, 0, keys[3])
			}
			assert.Equal(t, 32, keys[0])
		}
	}
}

// The error is relative to the whole output. So a mean of 1000 in the values hides the error of the
// rest from the Tolerance, and few keys are read.
func TestToleranceIsOfTheMeanToo(t *testing.T) {
	densetest.Both(t, testToleranceOfMeans[float32], testToleranceOfMeans[float64])
}

func testToleranceOfMeans[T dense.Float](t *testing.T) {
	const n, d = 2500, 8
	rng, none := rand.New(densetest.Source(812)), dense.Matrix[T]{}
	q, k := densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, d, 0, 1)
	for _, mean := range []float64{0, 1000} {
		v := densetest.Normal[T](rng, n, d, mean, 1)
		s := must.Have(must.Have(performer.NewExact[T](performer.ExactOptions{TopK: 256, Tolerance: 0.05})).NewState(d, d))
		s.Step(none, q, k, v)
		keys, errs := s.TopK()
		if mean == 0 {
			assert.True(t, keys[0] == 0 || keys[0] > 128, "%d keys", keys[0])
		} else {
			assert.Equal(t, 32, keys[0])
			assert.Less(t, errs[0], 1e-3)
		}
	}
}
