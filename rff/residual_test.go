package rff_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/residual"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// residuals returns k(x, x) − ‖φ(x)‖² of the rows of x, or nil if m lacks nothing.
func residuals[T dense.Float](m rff.Map[T], x dense.Matrix[T]) []float64 {
	r := residual.Of[T](m)
	if r == nil {
		return nil
	}
	dst := make([]float64, x.Rows)
	r.AddResiduals(dst, x, m.Transform(dense.Matrix[T]{}, x), 1)
	return dst
}

// Residuals are 0 at landmarks, and the difference of the kernel and the squared norm elsewhere,
// also behind Compose and in Sum. Other maps, and pairs, have none.
func testResiduals[T dense.Float](t *testing.T) {
	const d, n = 3, 12
	x := dense.Copy(dense.Matrix[T]{}, points[float64](1, 40, d, 1))
	k := kernels.Sum{kernels.Matern{Nu: 1.5, LengthScale: 2}, kernels.DotProduct{}}
	nystroem := must.Have(rff.Nystroem(k, x.RowRange(0, n)))
	spectral := must.Have(rff.Spectral(kernels.Gaussian{}, x.RowRange(0, n), 7))
	scale := rff.Affine{Centre: []float64{1, 2, 3}, Factors: []float64{0.5, 1, 2}}
	composed := must.Have(rff.Compose[T](scale, nystroem))
	w := must.Have(orf.Draw[T](orf.IID{}, 20, d, rand.NewPCG(1, 2)))
	gaussian := must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, w))
	sum := must.Have(rff.Sum([]rff.Map[T]{gaussian, composed, spectral, nystroem}, []float64{3, 0.7, 2, 0}))
	for name, m := range map[string]rff.Map[T]{"Nystroem": nystroem, "Spectral": spectral, "Compose": composed, "Sum": sum} {
		got, phi := residuals(m, x), m.Transform(dense.Matrix[T]{}, x)
		for i, v := range got {
			point := dense.Copy(dense.Matrix[float64]{}, x.RowRange(i, i+1)).Data
			own, rest := m.Kernel().Eval(point, point), 0.0
			for _, f := range phi.Row(i) {
				rest += float64(f) * float64(f)
			}
			require.InDelta(t, own-rest, v, 16*own*densetest.Roundoff[T](), "%s, row %d", name, i)
			require.GreaterOrEqual(t, v, 0.0)
			if name == "Nystroem" && i < n {
				require.Zero(t, v, "row %d", i)
			}
		}
		assert.Greater(t, got[n+1], 0.01, name)
	}
	spec := must.Have(rff.FitSADERF(x, x, 1))
	pair := must.Have(rff.Draw(spec, w))
	paired := must.Have(rff.Sum([]rff.Map[T]{nystroem, pair}, []float64{1, 1}))
	centred := must.Have(rff.Centred[T](pair, nil, nil))
	after := must.Have(rff.Compose[T](scale, gaussian))
	plain := must.Have(rff.Sum([]rff.Map[T]{gaussian, nystroem}, []float64{1, 0}))
	for _, m := range []rff.Map[T]{gaussian, after, plain, pair, paired, centred} {
		assert.Nil(t, residuals(m, x), "%v", m)
	}
}

func TestResiduals(t *testing.T) { densetest.Both(t, testResiduals[float32], testResiduals[float64]) }
