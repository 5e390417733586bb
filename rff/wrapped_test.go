package rff_test

import (
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
	patches := kernels.Patches{Height: 2, Width: 2, Size: 2}
	for name, wrap := range map[string]func(m rff.Map[float64]) (rff.Map[float64], error){
		"compose":     func(m rff.Map[float64]) (rff.Map[float64], error) { return rff.Compose(pca, m) },
		"homogeneous": func(m rff.Map[float64]) (rff.Map[float64], error) { return rff.Homogeneous(m) },
		"convolution": func(m rff.Map[float64]) (rff.Map[float64], error) { return rff.Convolution(m, patches) },
	} {
		wrapped, err := wrap(pair)
		require.NoError(t, err)
		keys := rff.Keys(wrapped)
		want, err := wrap(pair.Keys())
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
	f, err := rff.Homogeneous[float64](holder{inner, []int{1}})
	require.NoError(t, err)
	x := points[float64](5, 9, 3, 1)
	assert.Equal(t, f.Transform(dense.Matrix[float64]{}, x), f.Keys().Transform(dense.Matrix[float64]{}, x))
}
