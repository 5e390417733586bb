package rff_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// What is made of a map that is Paired is Paired: its estimate is that of the pair.
func TestMapsOfPairedMaps(t *testing.T) {
	const d = 4
	w, err := orf.Draw[float64](orf.IID{}, 30, d, exprand.NewSource(1))
	require.NoError(t, err)
	x, y := points[float64](2, 9, d, 1), points[float64](3, 9, d, 0.2)
	pair, err := rff.SADERF(w, x, y, 1)
	require.NoError(t, err)
	alone, err := rff.SoftmaxPositive(w, 1)
	require.NoError(t, err)
	pca, err := rff.PCA(points[float64](4, 40, d, 1), d, false)
	require.NoError(t, err)
	for name, wrap := range map[string]func(m rff.Map[float64]) (rff.Map[float64], error){
		"compose": func(m rff.Map[float64]) (rff.Map[float64], error) { return rff.Compose(pca, m) },
		"sum": func(m rff.Map[float64]) (rff.Map[float64], error) {
			return rff.Sum([]rff.Map[float64]{alone, m}, []float64{2, 0.5})
		},
	} {
		wrapped, err := wrap(pair)
		require.NoError(t, err)
		keys := rff.Keys(wrapped)
		assert.Equal(t, wrapped.Kernel(), keys.Kernel(), name)
		want, err := wrap(rff.Keys[float64](pair))
		require.NoError(t, err)
		assert.Equal(t, want.Transform(dense.Matrix[float64]{}, y), keys.Transform(dense.Matrix[float64]{}, y), name)
		assert.NotEqual(t, wrapped.Transform(dense.Matrix[float64]{}, y), keys.Transform(dense.Matrix[float64]{}, y), name)
		assert.True(t, rff.Keys(keys) == wrapped, name)

		own, err := wrap(alone)
		require.NoError(t, err)
		assert.True(t, rff.Keys(own) == own, name)
	}
}

// holder is a map of a type that can be compared, with a part that cannot.
type holder struct {
	rff.Map[float64]
	part any
}

func TestMapsOfMapsThatCannotBeCompared(t *testing.T) {
	inner, err := rff.Identity[float64](3)
	require.NoError(t, err)
	f, err := rff.Sum([]rff.Map[float64]{holder{inner, []int{1}}}, []float64{2})
	require.NoError(t, err)
	x := points[float64](5, 9, 3, 1)
	assert.Equal(t, f.Transform(dense.Matrix[float64]{}, x), rff.Keys(f).Transform(dense.Matrix[float64]{}, x))
}

// optional has the optional interfaces of a map: LogMap, Differentiable, DifferentiableLog.
func optional(m rff.Map[float64]) (found [3]bool) {
	_, found[0] = m.(rff.LogMap[float64])
	_, found[1] = m.(rff.Differentiable[float64])
	_, found[2] = m.(rff.DifferentiableLog[float64])
	return found
}

func TestPair(t *testing.T) {
	const d = 3
	w, err := orf.Draw[float64](orf.IID{}, 20, d, exprand.NewSource(1))
	require.NoError(t, err)
	positive, err := rff.SoftmaxPositive(w, 1)
	require.NoError(t, err)
	gaussian, err := rff.GaussianPositive(w, 1)
	require.NoError(t, err)
	x, y, g := points[float64](2, 9, d, 1), points[float64](3, 9, d, 1), points[float64](4, 9, 20, 1)
	none := dense.Matrix[float64]{}

	pair, err := rff.Pair[float64](positive, gaussian, kernels.ELU{})
	require.NoError(t, err)
	keys := rff.Keys(pair)
	assert.True(t, rff.Keys(keys) == pair)
	assert.Equal(t, []kernels.Kernel{kernels.ELU{}, kernels.ELU{}}, []kernels.Kernel{pair.Kernel(), keys.Kernel()})
	assert.Equal(t, fmt.Sprint(positive), fmt.Sprint(pair))
	for _, side := range []struct{ of, want rff.Map[float64] }{{pair, positive}, {keys, gaussian}} {
		got, want := side.of.(rff.DifferentiableLog[float64]), side.want.(rff.DifferentiableLog[float64])
		require.NoError(t, got.CanBackward())
		assert.Equal(t, want.Transform(none, x), got.Transform(none, x))
		assert.Equal(t, want.LogTransform(none, y), got.LogTransform(none, y))
		assert.Equal(t, want.Backward(none, x, g), got.Backward(none, x, g))
		assert.Equal(t, want.LogBackward(none, x, g), got.LogBackward(none, x, g))
	}

	// A pair of what is a pair has the keys that it had.
	again, err := rff.Pair(pair, keys, kernels.Softmax{Gamma: 1})
	require.NoError(t, err)
	assert.Equal(t, gaussian.Transform(none, y), rff.Keys(again).Transform(none, y))
	assert.Equal(t, kernels.Softmax{Gamma: 1}, again.Kernel())

	// Each side has the optional interfaces of its map.
	waves, err := rff.DotProduct(w)
	require.NoError(t, err)
	plain := struct{ rff.Map[float64] }{waves}
	logs := struct{ rff.LogMap[float64] }{positive}
	logsAndSlopes := struct {
		rff.LogMap[float64]
		withDerivatives
	}{positive, logSlopes(positive)}
	for _, c := range []struct{ query, key rff.Map[float64] }{
		{waves, waves}, {waves, plain}, {plain, waves}, {plain, plain},
		{positive, logs}, {logs, positive}, {logsAndSlopes, logs}, {logs, logsAndSlopes},
	} {
		pair, err := rff.Pair(c.query, c.key, nil)
		require.NoError(t, err)
		assert.Equal(t, optional(c.query), optional(pair), "%T", c.query)
		assert.Equal(t, optional(c.key), optional(rff.Keys(pair)), "%T", c.key)
		assert.Nil(t, pair.Kernel())
	}
}

type withDerivatives interface {
	Backward(dst, x, dphi dense.Matrix[float64]) dense.Matrix[float64]
	CanBackward() error
}

func TestPairErrors(t *testing.T) {
	w, err := orf.Draw[float64](orf.IID{}, 8, 3, exprand.NewSource(1))
	require.NoError(t, err)
	positive, err := rff.SoftmaxPositive(w, 1)
	require.NoError(t, err)
	hyperbolic, err := rff.SoftmaxHyperbolic(w, 1)
	require.NoError(t, err)
	dot, err := rff.DotProduct(w)
	require.NoError(t, err)
	saderf, err := rff.SADERF(w, points[float64](2, 5, 3, 1), points[float64](3, 5, 3, 1), 1)
	require.NoError(t, err)
	for _, c := range []struct {
		query, key rff.Map[float64]
		want       string
	}{
		{nil, dot, "rff: query = <nil>, key = DotProduct(): R^3 → R^8, want two maps"},
		{dot, nil, "rff: query = DotProduct(): R^3 → R^8, key = <nil>, want two maps"},
		{positive, hyperbolic, "rff: query is a map of R^3 to R^8, key one of R^3 to R^16, want the same"},
		{positive, dot, "want two LogMaps or none"},
		{dot, positive, "want two LogMaps or none"},
		{positive, saderf, "is paired with another map, keys of SADERF("},
		{saderf, positive, "is paired with another map, keys of SADERF("},
	} {
		_, err := rff.Pair(c.query, c.key, nil)
		assert.ErrorContains(t, err, c.want)
	}
}
