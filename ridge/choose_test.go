package ridge_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// lengthScales returns maps with the given length-scales.
func lengthScales[T dense.Float](t *testing.T, m, d int, scales ...float64) (maps []rff.Map[T]) {
	for _, l := range scales {
		maps = append(maps, gaussian[T](t, m, d, l, 1))
	}
	return maps
}

// The evidence takes a length-scale in the middle over ones that are far too short and too long,
// and its model predicts better.
func TestChoose(t *testing.T) { densetest.Both(t, testChoose[float32], testChoose[float64]) }

func testChoose[T dense.Float](t *testing.T) {
	maps := lengthScales[T](t, 100, 5, 0.05, 1, 200)
	x, y := friedman[T](600, 5, 1)
	z, truth := friedman[T](300, 5, 2)
	s := must.Have(ridge.Choose(context.Background(), maps, ridge.Block[T]{X: x, Y: y}, ridge.Options{}))
	assert.Equal(t, 1, s.Best, "%v", s.Trials)
	assert.Equal(t, maps[1], s.Model.Map())
	assert.Less(t, rmse(s.Model.Mean(dense.Matrix[T]{}, z), truth), 1.5)
}

func TestChooseErrors(t *testing.T) {
	maps := lengthScales[float64](t, 5, 5, 1)
	x, y := friedman[float64](20, 5, 1)
	rows := ridge.Block[float64]{X: x, Y: y}
	run := func(maps []rff.Map[float64], rows ridge.Rows[float64], o ridge.Options) error {
		_, err := ridge.Choose(context.Background(), maps, rows, o)
		return err
	}
	var none context.Context
	assert.PanicsWithValue(t, "ridge: ctx is nil", func() { _, _ = ridge.Choose(none, maps, rows, ridge.Options{}) })
	assert.EqualError(t, run(nil, rows, ridge.Options{}), "ridge: no maps, want at least 1")
	assert.ErrorContains(t, run(maps, rows, ridge.Options{Noise: -1}), "Noise = -1")
	assert.EqualError(t, run(maps, nil, ridge.Options{}), "ridge: rows is nil, want data")
	var o ridge.Options
	equal := must.Have(ridge.Choose(t.Context(), []rff.Map[float64]{maps[0], maps[0]}, rows, o))
	assert.Zero(t, equal.Best, "the first of equal maps")
	damaged := ridge.Block[float64]{X: x.Clone(), Y: y}
	damaged.X.Set(17, 1, math.NaN())
	assert.EqualError(t, run(maps, damaged, o), "ridge: x[17][1] = NaN, want a finite number")
	assert.EqualError(t, run(maps, ridge.Block[float64]{}, o), "ridge: no rows, want at least 1 with a weight above 0")
	assert.EqualError(t, run([]rff.Map[float64]{nil}, rows, o), "ridge: phi is nil, want a feature map")
	assert.ErrorContains(t, run(maps, ridge.Block[float64]{X: x, Y: dense.New[float64](20, 1)}, o), "does not vary")
	assert.EqualError(t, run(maps, ridge.Block[float64]{X: x, Y: y.RowRange(0, 3)}, ridge.Options{}), "ridge: X has 20 rows, Y 3 and Weights 0")
	broken := errors.New("broken")
	assert.ErrorIs(t, run(maps, failing{broken}, ridge.Options{}), broken)
}

// A map that cannot be fitted says why, and another one is the best.
func TestChooseOfUnfit(t *testing.T) {
	x, y := friedman[float64](50, 5, 1)
	w := must.Have(orf.Draw[float64](orf.IID{}, 4, 5, rand.NewPCG(1, 2)))
	constant := must.Have(rff.New(rff.Scheme[float64]{F: []func(float64) float64{func(float64) float64 { return 1 }}}, w))
	s := must.Have(ridge.Choose(t.Context(), []rff.Map[float64]{constant, gaussian[float64](t, 16, 5, 1, 1)}, ridge.Block[float64]{X: x, Y: y}, ridge.Options{}))
	assert.Equal(t, 1, s.Best)
	assert.True(t, math.IsNaN(s.Trials[0].Score))
	assert.ErrorContains(t, s.Trials[0].Err, "the features do not vary")
	assert.NoError(t, s.Trials[1].Err)
}

// failing are rows that cannot be read.
type failing struct{ err error }

func (f failing) Blocks() iter.Seq2[ridge.Block[float64], error] {
	return func(yield func(ridge.Block[float64], error) bool) { yield(ridge.Block[float64]{}, f.err) }
}

func TestMedianDistance(t *testing.T) {
	x := dense.Of(3, 2, []float64{0, 0, 3, 4, 30, 40})
	got := must.Have(ridge.MedianDistance(x, rand.NewPCG(1, 2)))
	assert.InDelta(t, 45, got, 1e-12)
	many, _ := friedman[float32](2000, 5, 1)
	got = must.Have(ridge.MedianDistance(many, rand.NewPCG(1, 2)))
	assert.InDelta(t, math.Sqrt(5.0/6), got, 0.05, "the mean square of a difference of uniform numbers is 1/6")

	_, err := ridge.MedianDistance(x.RowRange(0, 1), rand.NewPCG(1, 2))
	assert.EqualError(t, err, "ridge: x is 1×2, want at least 2×1")
	_, err = ridge.MedianDistance(x, nil)
	assert.EqualError(t, err, "ridge: src is nil, want a source of randomness")
	_, err = ridge.MedianDistance(dense.New[float64](9, 2), rand.NewPCG(1, 2))
	assert.EqualError(t, err, "ridge: all rows of x are equal, which tells no length-scale: give a length-scale of your own")
	binary := dense.Of(5, 1, []float64{0, 7, 0, 0, 0})
	_, err = ridge.MedianDistance(binary, rand.NewPCG(1, 2))
	assert.EqualError(t, err, "ridge: the rows are equal in 6 of 10 pairs of rows of x, so that the median distance is 0: "+
		"give a length-scale of your own, such as 7, the median of the other distances")
	binary.Data[2] = 7 // 4 equal pairs of 10
	got = must.Have(ridge.MedianDistance(binary, rand.NewPCG(1, 2)))
	assert.Equal(t, 7.0, got)
	_, err = ridge.MedianDistance(dense.Of(2, 1, []float64{math.MaxFloat64, -math.MaxFloat64}), rand.NewPCG(1, 2))
	assert.EqualError(t, err, "ridge: the median distance of the rows of x is +Inf, want a finite number: scale the rows")
	// Another unit of x is another unit of the distance, from the smallest to the largest numbers.
	want := must.Have(ridge.MedianDistance(x, rand.NewPCG(1, 2)))
	for _, e := range []int{-1000, -500, 500, 1000} {
		y := x.Clone()
		for i, v := range y.Data {
			y.Data[i] = math.Ldexp(v, e)
		}
		got = must.Have(ridge.MedianDistance(y, rand.NewPCG(1, 2)))
		assert.InEpsilon(t, math.Ldexp(want, e), got, 1e-12)
	}
	x.Set(1, 1, math.Inf(1))
	_, err = ridge.MedianDistance(x, rand.NewPCG(1, 2))
	assert.EqualError(t, err, "ridge: x[1][1] = +Inf, want a finite number")
}
