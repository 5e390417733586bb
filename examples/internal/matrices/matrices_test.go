package matrices_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/npy"
)

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	for _, shape := range [][]int{{3, 4}, {2, 3, 2}, {1, 12}} {
		in := matrices.Tensor[float32]{Shape: shape, Data: make([]float32, 12)}
		for i := range in.Data {
			in.Data[i] = float32(i) + 0.1
		}
		require.NoError(t, matrices.Write(path, in))
		out, err := matrices.Read[float32](path)
		require.NoError(t, err)
		assert.Equal(t, in, out)
	}
}

func TestHeads(t *testing.T) {
	x := matrices.Tensor[float64]{Shape: []int{2, 1, 2}, Data: []float64{1, 2, 3, 4}}
	assert.Equal(t, 2, x.Heads())
	assert.Equal(t, dense.Of(1, 2, []float64{3, 4}), x.Head(1))
	x.Shape = []int{2, 2}
	assert.Equal(t, 1, x.Heads())
	assert.Equal(t, dense.Of(2, 2, []float64{1, 2, 3, 4}), x.Head(0))
}

func TestHalfPrecision(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	require.NoError(t, npy.WriteFile(path, half.Encode[half.Float16](nil, []float32{1, -2.5}), 1, 2))
	x, err := matrices.Read[float32](path)
	require.NoError(t, err)
	assert.Equal(t, []float32{1, -2.5}, x.Data)
}

func TestErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	for _, c := range []struct {
		shape []int
		value float32
		want  string
	}{
		{[]int{4}, 1, "shape [4] has rank 1, want 2 (L×d) or 3 (heads×L×d)"},
		{[]int{1, 1, 2, 2}, 1, "shape [1 1 2 2] has rank 4"},
		{[]int{2, 2}, float32(math.NaN()), "element [1 0] is NaN"},
		{[]int{1, 2, 2}, float32(math.Inf(-1)), "element [0 1 0] is -Inf"},
	} {
		require.NoError(t, npy.WriteFile(path, []float32{1, 2, c.value, 4}, c.shape...))
		_, err := matrices.Read[float32](path)
		assert.ErrorContains(t, err, path+": "+c.want)
	}
	require.NoError(t, npy.WriteFile(path, []float32{1, 2}, 2))
	_, err := matrices.Read[float64](path)
	assert.ErrorContains(t, err, "rank 1")
	require.NoError(t, npy.WriteFile(path, []bool{true, false}, 1, 2))
	x, err := matrices.Read[float32](path)
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 0}, x.Data)
	require.NoError(t, npy.WriteFile(path, []float32{}, 2, 0))
	_, err = matrices.Read[float64](path)
	assert.EqualError(t, err, path+": shape [2 0] has no element")
	_, err = matrices.Read[float64]("missing.npy")
	assert.ErrorContains(t, err, "missing.npy: no such file")
}
