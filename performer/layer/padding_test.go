package layer_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// Neither what padding holds nor how much of it there is at the end changes a bit of the
// gradients of valid tokens or of parameters, whatever GOMAXPROCS is; gradients of padding are
// zero.
func TestPaddingDoesNotMatterForGradients(t *testing.T) {
	densetest.Both(t, testPaddingGradients[float32], testPaddingGradients[float64])
}

func testPaddingGradients[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(242))
	x, g := densetest.Normal[T](rng, 100, 16, 0.4, 0.2), densetest.Normal[T](rng, 100, 16, 0, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, gap := range []int{0, 7} {
		for at, form := range everyForm[T](4) {
			for _, name := range []string{"none", sortedBetween[at%len(sortedBetween)]} {
				testPaddingGradientsOf(t, form, name, x, g, gap)
			}
		}
	}
}

// testPaddingGradientsOf tests the gradients of one layer of between, or of one without norms and
// positions.
func testPaddingGradientsOf[T dense.Float](t *testing.T, form performer.Attention[T], name string, x, g dense.Matrix[T], gap int) {
	const heads, keyHeads, d = 4, 2, 4
	projections := drawnBetween[T](name, layer.Widths{Input: x.Cols, Heads: heads, KeyHeads: keyHeads, HeadDim: d, Bias: true}, 243)
	l := must.Have(layer.New(projections, batch(heads, keyHeads, form), between[name].opts))
	var want dense.Matrix[T]
	var wantW []layer.Parameter[T]
	for at, more := range []int{0, 1, 200} {
		runtime.GOMAXPROCS(1 + at)
		q, valid := densetest.Padded(x, gap, more, at)
		dout := dense.New[T](x.Rows+more, x.Cols)
		for i, counts := range valid {
			if counts {
				copy(dout.Row(i), g.Row(i))
			}
		}
		dw := new(layer.Projections[T])
		got := l.Backward(dense.Matrix[T]{}, dw, q, dout, performer.Sequences{Valid: valid})
		if at == 0 {
			want, wantW = got, dw.Parameters()
		}
		for i, counts := range valid {
			if !counts {
				require.True(t, layout.IsZero(got.Row(i)), "%s, %T %+v: row %d of padding", name, form, form, i)
				continue
			}
			require.True(t, densetest.Identical(want.RowRange(i, i+1), got.RowRange(i, i+1)), "%s, %T %+v, gap %d, %d rows of padding: row %d", name, form, form, gap, more, i)
			require.False(t, slices.ContainsFunc(got.Row(i), func(v T) bool { return v != v }))
		}
		for i, p := range dw.Parameters() {
			require.True(t, densetest.Identical(wantW[i].Value, p.Value), "%s, %T %+v, gap %d, %d rows of padding: %s", name, form, form, gap, more, p.Name)
			require.False(t, slices.ContainsFunc(p.Value.Data, func(v T) bool { return v != v }))
		}
	}
	require.False(t, layout.IsZero(want.Data))
}
