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

func TestHeads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	for _, want := range [][]int{{3, 4}, {2, 3, 2}, {1, 12}} {
		data := make([]float32, 12)
		for i := range data {
			data[i] = float32(i) + 0.1
		}
		require.NoError(t, npy.WriteFile(path, data, want...))
		x, shape, err := matrices.Read(path)
		require.NoError(t, err)
		assert.Equal(t, want, shape)
		heads := append([]int{1}, shape...)[len(shape)-2]
		rows, cols := shape[len(shape)-2], shape[len(shape)-1]
		require.Equal(t, [4]int{1, heads, rows, cols}, x.Shape())
		for h := range heads {
			assert.Equal(t, dense.Of(rows, cols, data[h*rows*cols:(h+1)*rows*cols]), dense.Head(x, 0, h))
		}
	}
}

func TestHalfPrecision(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	require.NoError(t, npy.WriteFile(path, half.Encode[half.Float16](nil, []float32{1, -2.5}), 1, 2))
	x, _, err := matrices.Read(path)
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
		_, _, err := matrices.Read(path)
		assert.ErrorContains(t, err, path+": "+c.want)
	}
	require.NoError(t, npy.WriteFile(path, []float32{1, 2}, 2))
	_, _, err := matrices.Read(path)
	assert.ErrorContains(t, err, "rank 1")
	require.NoError(t, npy.WriteFile(path, []bool{true, false}, 1, 2))
	x, _, err := matrices.Read(path)
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 0}, x.Data)
	require.NoError(t, npy.WriteFile(path, []float32{}, 2, 0))
	_, _, err = matrices.Read(path)
	assert.EqualError(t, err, path+": shape [2 0] has no element")
	_, _, err = matrices.Read("missing.npy")
	assert.ErrorContains(t, err, "missing.npy: no such file")
}

func TestDistance(t *testing.T) {
	a, b := dense.Of(2, 2, []float32{1, 2, 3, 4}), dense.Of(2, 2, []float32{1, 2, 3, 5})
	assert.InDelta(t, 1/math.Sqrt(39), matrices.Distance([]dense.Matrix[float32]{a}, []dense.Matrix[float32]{b}), 1e-12)
}
