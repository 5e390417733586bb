package layer_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
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
	const d, heads, keyHeads, n = 4, 4, 2, 100
	rng := rand.New(source(242))
	x, g := densetest.Normal[T](rng, n, heads*d, 0.4, 0.2), densetest.Normal[T](rng, n, heads*d, 0, 1)
	projections := must(layer.Draw[T](layer.Widths{Input: heads * d, Heads: heads, KeyHeads: keyHeads, Bias: true}, source(243)))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, gap := range []int{0, 7} {
		for _, form := range everyForm[T](d) {
			l := must(layer.New(projections, batch(heads, keyHeads, form)))
			var want dense.Matrix[T]
			var wantW []layer.Parameter[T]
			for at, more := range []int{0, 1, 30, 200, 1000} {
				runtime.GOMAXPROCS(1 + at)
				q, valid := densetest.Padded(x, gap, more, at)
				dout := dense.New[T](n+more, heads*d)
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
						require.True(t, isZero(got.Row(i)), "%T %+v: row %d of padding", form, form, i)
						continue
					}
					require.True(t, densetest.Identical(want.RowRange(i, i+1), got.RowRange(i, i+1)), "%T %+v, gap %d, %d rows of padding: row %d", form, form, gap, more, i)
					require.False(t, slices.ContainsFunc(got.Row(i), func(v T) bool { return v != v }))
				}
				for i, p := range dw.Parameters() {
					require.True(t, densetest.Identical(wantW[i].Value, p.Value), "%T %+v, gap %d, %d rows of padding: %s", form, form, gap, more, p.Name)
					require.False(t, slices.ContainsFunc(p.Value.Data, func(v T) bool { return v != v }))
				}
			}
			require.False(t, isZero(want.Data))
		}
	}
}
