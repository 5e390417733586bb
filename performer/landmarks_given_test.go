package performer_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
)

// Landmarks that are given are those that are chosen, to rounding; given twice, they count once.
func testGivenLandmarks[T dense.Float](t *testing.T) {
	const d, n, r = 6, 80, 10
	for _, plain := range []bool{false, true} {
		exact := performer.ExactOptions{Unnormalised: plain}
		chosen := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: r, Scale: exact.Scale, Unnormalised: exact.Unnormalised}, densetest.Source(1)))
		q, k, v, dout := densetest.Decaying[T](1, 40, d, 3), densetest.Decaying[T](2, n, d, 3), densetest.Decaying[T](3, n, 3, 1), densetest.Decaying[T](4, 40, 3, 1)
		z := dense.Copy(dense.Matrix[T]{}, newByLandmarks(chosen, k).z)
		require.Equal(t, r, z.Rows)
		twice := dense.New[T](2*r, d)
		for i := range twice.Rows {
			copy(twice.Row(i), z.Row(i%r))
		}
		none := dense.Matrix[T]{}
		want := wide(chosen.Forward(none, q, k, v))
		wantQ, wantK, wantV := chosen.Backward(none, none, none, q, k, v, dout)
		for _, points := range []dense.Matrix[T]{z, twice} {
			given := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Scale: exact.Scale, Unnormalised: exact.Unnormalised, Points: points}, nil))
			tolerance := 1e4 * densetest.Roundoff[T]()
			assert.Less(t, frobeniusError(given.Forward(none, q, k, v), want), tolerance)
			dq, dk, dv := given.Backward(none, none, none, q, k, v, dout)
			assert.Less(t, frobeniusError(dq, wide(wantQ)), tolerance)
			assert.Less(t, frobeniusError(dk, wide(wantK)), tolerance)
			assert.Less(t, frobeniusError(dv, wide(wantV)), tolerance)
			for _, x := range given.Forward(none, q, k.RowRange(0, 0), v.RowRange(0, 0)).Data {
				assert.Zero(t, x)
			}
		}
	}
}

func TestGivenLandmarks(t *testing.T) {
	densetest.Both(t, testGivenLandmarks[float32], testGivenLandmarks[float64])
}

func TestGivenLandmarksErrors(t *testing.T) {
	z := densetest.Decaying[float32](1, 5, 2, 1)
	nan, long := z.Clone(), z.Clone()
	nan.Set(3, 1, float32(math.NaN()))
	long.Set(2, 0, 1e25)
	for want, f := range map[string]func() (performer.Landmarks[float32], error){
		"performer: Points is 0×2, want at least 1×1": func() (performer.Landmarks[float32], error) {
			return performer.NewLandmarks(performer.LandmarkOptions[float32]{Points: z.RowRange(0, 0)}, nil)
		},
		"performer: Points[3][1] = NaN, want a finite number": func() (performer.Landmarks[float32], error) {
			return performer.NewLandmarks(performer.LandmarkOptions[float32]{Points: nan}, nil)
		},
		"performer: z[2] has a squared norm outside the range of float32": func() (performer.Landmarks[float32], error) {
			return performer.NewLandmarks(performer.LandmarkOptions[float32]{Points: long}, nil)
		},
		"performer: Scale = +Inf, want a finite number of at least 0": func() (performer.Landmarks[float32], error) {
			return performer.NewLandmarks(performer.LandmarkOptions[float32]{Scale: math.Inf(1), Points: z}, nil)
		},
		"performer: Landmarks = 5 with Points of 5×2, want one of them": func() (performer.Landmarks[float32], error) {
			return performer.NewLandmarks(performer.LandmarkOptions[float32]{Landmarks: 5, Points: z}, nil)
		},
	} {
		_, err := f()
		assert.EqualError(t, err, want)
	}
	l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[float32]{Points: z}, nil))
	x := dense.New[float32](4, 3)
	assert.PanicsWithValue(t, "performer: q is 4×3, k is 4×3: heads have dimension 3, but the attention takes points of R^2", func() { l.Forward(dense.Matrix[float32]{}, x, x, x) })
	_, err := performer.NewBatch[float32](1, 1, l, attention(maptest.Positive[float32](4, 3), performer.LinearOptions{}))
	assert.Error(t, err)
}
