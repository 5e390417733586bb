package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// The composition is the map on what the affine map leads to.
func testCompose[T dense.Float](t *testing.T) {
	const n, d, r = 300, 4, 3
	x := points[T](1, n, d, 1)
	first := narrowing[T](d)
	z := must.Have(rff.Draw[T](first, nil)).Transform(dense.Matrix[T]{}, x)
	for name, then := range allMaps[T](t, r) {
		f := must.Have(rff.Compose(first, then))
		_, out := then.Dims()
		in, got := f.Dims()
		assert.Equal(t, [2]int{d, out}, [2]int{in, got})
		assert.Equal(t, then.Transform(dense.Matrix[T]{}, z), f.Transform(dense.Matrix[T]{}, x), name)

		logs, positive := then.(rff.LogMap[T])
		composedLogs, composedPositive := f.(rff.LogMap[T])
		require.Equal(t, positive, composedPositive, name)
		if positive {
			assert.Equal(t, logs.LogTransform(dense.Matrix[T]{}, z), composedLogs.LogTransform(dense.Matrix[T]{}, x), name)
		}
		back, differentiable := then.(rff.Differentiable[T])
		composedBack, ok := f.(rff.Differentiable[T])
		require.Equal(t, differentiable, ok, name)
		if differentiable {
			assert.Equal(t, back.CanBackward(), composedBack.CanBackward(), name)
		}
		_, both := then.(rff.DifferentiableLog[T])
		_, ok = f.(rff.DifferentiableLog[T])
		assert.Equal(t, both, ok, name)

		if then.Kernel() == nil {
			assert.Nil(t, f.Kernel(), name)
			continue
		}
		a, b := wide(x).Row(0), wide(x).Row(1)
		want := then.Kernel().Eval(wide(z).Row(0), wide(z).Row(1))
		assert.InDelta(t, want, f.Kernel().Eval(a, b), 200*densetest.Roundoff[T]()*(1+math.Abs(want)), name)
	}
}

func TestCompose(t *testing.T) {
	densetest.Both(t, testCompose[float32], testCompose[float64])
}

// logOnly and backward hide what else a map can do.
type (
	logOnly  struct{ rff.LogMap[float64] }
	backward struct{ rff.Differentiable[float64] }
	separate struct {
		rff.LogMap[float64]
		back rff.Differentiable[float64]
	}
)

func (s separate) Backward(dst, x, g dense.Matrix[float64]) dense.Matrix[float64] {
	return s.back.Backward(dst, x, g)
}

func (s separate) CanBackward() error { return s.back.CanBackward() }

func TestComposeKeepsWhatAMapCanDo(t *testing.T) {
	first := rff.Affine{A: points[float64](1, 3, 2, 1)}
	w := must.Have(orf.Draw[float64](orf.IID{}, 5, 3, exprand.NewSource(1)))
	drawn := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w))
	positive := logs(drawn)
	x, g := points[float64](2, 4, 2, 1), points[float64](3, 4, 5, 1)
	whole := must.Have(rff.Compose(first, rff.Map[float64](positive)))
	all := whole.(rff.DifferentiableLog[float64])
	for _, c := range []struct {
		then       rff.Map[float64]
		logs, back bool
	}{
		{logOnly{positive}, true, false}, {backward{slopes[float64](positive)}, false, true}, {separate{positive, slopes[float64](positive)}, true, true},
		{struct{ rff.Map[float64] }{positive}, false, false},
	} {
		f := must.Have(rff.Compose(first, c.then))
		logs, isLog := f.(rff.LogMap[float64])
		back, isBack := f.(rff.Differentiable[float64])
		_, both := f.(rff.DifferentiableLog[float64])
		assert.Equal(t, []bool{c.logs, c.back, false}, []bool{isLog, isBack, both}, "%T", c.then)
		if isLog {
			assert.Equal(t, all.LogTransform(dense.Matrix[float64]{}, x), logs.LogTransform(dense.Matrix[float64]{}, x))
		}
		if isBack {
			assert.Equal(t, all.Backward(dense.Matrix[float64]{}, x, g), back.Backward(dense.Matrix[float64]{}, x, g))
		}
	}
}
