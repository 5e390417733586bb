package performer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// Attention over a composed map is attention on the points that its affine map leads
// to, in log space and backwards too.
func TestAttentionOverAComposedMap(t *testing.T) {
	const n, d, r, dv = 150, 5, 3, 4
	random := func(seed uint64, rows, cols int) dense.Matrix[float64] {
		w, err := orf.Draw[float64](orf.IID{}, rows, cols, exprand.NewSource(seed))
		require.NoError(t, err)
		return w.Frequencies().Clone()
	}
	q, k, v := random(1, n, d), random(2, n, d), random(3, n, dv)
	first, err := rff.PCA(k, r, true)
	require.NoError(t, err)
	w, err := orf.Draw[float64](orf.IID{}, 40, r, exprand.NewSource(4))
	require.NoError(t, err)
	then, err := rff.Draw(rff.SoftmaxHyperbolic{Scale: 0.5}, w)
	require.NoError(t, err)
	f, err := rff.Compose(first, then)
	require.NoError(t, err)
	affine, err := rff.Draw[float64](first, nil)
	require.NoError(t, err)

	for _, causal := range []bool{false, true} {
		opts := performer.LinearOptions{Causal: causal}
		a, err := performer.NewLinear(f, opts)
		require.NoError(t, err)
		b, err := performer.NewLinear(then, opts)
		require.NoError(t, err)
		var none dense.Matrix[float64]
		zq, zk := affine.Transform(none, q), affine.Transform(none, k)
		want, got := b.Forward(none, zq, zk, v), a.Forward(none, q, k, v)
		assert.InDeltaSlice(t, want.Data, got.Data, 1e-12, "causal %v", causal)

		back := affine.(rff.Differentiable[float64])
		dout := random(5, n, dv)
		require.NoError(t, a.CanBackward())
		dq, dk, dvs := a.Backward(none, none, none, q, k, v, dout)
		dzq, dzk, want3 := b.Backward(none, none, none, zq, zk, v, dout)
		assert.InDeltaSlice(t, back.Backward(none, q, dzq).Data, dq.Data, 1e-11, "causal %v", causal)
		assert.InDeltaSlice(t, back.Backward(none, k, dzk).Data, dk.Data, 1e-11, "causal %v", causal)
		assert.InDeltaSlice(t, want3.Data, dvs.Data, 1e-11, "causal %v", causal)
	}
}
