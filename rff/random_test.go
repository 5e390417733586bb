package rff_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// Maps of Random have the kernel, and its values at pairs on average over 60 maps, within 4.5
// standard errors. At pairs of equal points they are exact.
func testRandom[T dense.Float](t *testing.T) {
	const d, draws = 2, 60
	x := dense.Copy(dense.Matrix[T]{}, points[float64](1, 6, d, 1))
	pulled := kernels.Pullback{K: kernels.Gaussian{LengthScale: 2}, A: dense.Of(1, 2, []float64{1, -2}), Centre: []float64{1, 2}, Offset: []float64{3}}
	centred := pulled
	centred.Offset = nil
	for _, k := range []kernels.Kernel{
		kernels.Gaussian{}, kernels.Matern{LengthScale: 2}, kernels.Matern{Nu: 2.5}, kernels.Laplacian{}, kernels.DotProduct{}, pulled, centred,
		kernels.Sum{kernels.Scaled{K: kernels.Gaussian{LengthScale: 3}, By: 2}, pulled, kernels.DotProduct{}},
	} {
		wide := dense.Copy(dense.Matrix[float64]{}, x)
		want := kernels.Gram(dense.Matrix[float64]{}, k, wide, dense.Matrix[float64]{})
		mean, squares := dense.New[float64](x.Rows, x.Rows), dense.New[float64](x.Rows, x.Rows)
		for seed := range uint64(draws) {
			m := must.Have(rff.Random[T](k, 100, d, rand.NewPCG(seed, 3)))
			in, out := m.Dims()
			require.Equal(t, d, in)
			require.LessOrEqual(t, out, 100)
			require.InDelta(t, k.Eval(wide.Row(0), wide.Row(1)), m.Kernel().Eval(wide.Row(0), wide.Row(1)), 1e-12)
			phi := m.Transform(dense.Matrix[T]{}, x)
			if seed == 0 {
				var file bytes.Buffer
				require.NoError(t, rff.Write(&file, m))
				again := must.Have(rff.Read[T](&file))
				require.Equal(t, phi, again.Transform(dense.Matrix[T]{}, x))
			}
			for i := range x.Rows {
				for j := range x.Rows {
					got := 0.0
					for f, v := range phi.Row(i) {
						got += float64(v) * float64(phi.At(j, f))
					}
					mean.Row(i)[j] += got / draws
					squares.Row(i)[j] += got * got / draws
					if i == j {
						require.InDelta(t, want.At(i, i), got, 100*want.At(i, i)*densetest.Roundoff[T](), "%v", k)
					}
				}
			}
		}
		for i, m := range mean.Data {
			e := math.Sqrt(math.Max(squares.Data[i]-m*m, 0) / draws)
			assert.InDelta(t, want.Data[i], m, 4.5*e+100*math.Abs(want.Data[i])*densetest.Roundoff[T](), "%v", k)
		}
	}
}

func TestRandom(t *testing.T) { densetest.Both(t, testRandom[float32], testRandom[float64]) }
