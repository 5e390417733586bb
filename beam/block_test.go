package beamfeat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

func testBlock[T dense.Float](t *testing.T) {
	wide := dense.Of(2, 3, []T{1, T(math.Inf(1)), 3, -4, 5, 6})
	for _, b := range []ridge.Block[T]{
		{X: wide, Y: dense.Of(2, 1, []T{7, 8}), Weights: []T{9, 10}},
		{X: wide.ColRange(1, 3), Y: wide.ColRange(0, 1)},
		{X: wide, Y: dense.New[T](2, 0)},
		{X: dense.New[T](0, 3), Y: dense.New[T](0, 1)},
	} {
		data, err := encodeBlock(b)
		require.NoError(t, err)
		got, err := decodeBlock[T](data)
		require.NoError(t, err)
		assert.Equal(t, b.X.Clone(), got.X)
		assert.Equal(t, b.Y.Clone(), got.Y)
		assert.Equal(t, b.Weights, got.Weights)
		for cut := range data {
			_, err := decodeBlock[T](data[:cut])
			assert.Error(t, err)
		}
	}
	_, err := encodeBlock(ridge.Block[T]{X: wide, Y: dense.New[T](3, 1)})
	assert.ErrorContains(t, err, "Y of 3×1")
}

func TestBlock(t *testing.T) {
	t.Run("float32", testBlock[float32])
	t.Run("float64", testBlock[float64])
}

// FuzzBlock: bytes are a block, whose bytes they are, or an error.
func FuzzBlock(f *testing.F) {
	data, err := encodeBlock(ridge.Block[float32]{X: dense.Of(1, 2, []float32{1, 2}), Y: dense.Of(1, 1, []float32{3})})
	require.NoError(f, err)
	f.Add(data)
	f.Add(make([]byte, blockHeader))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := decodeBlock[float32](data)
		if err != nil {
			return
		}
		again, err := encodeBlock(b)
		require.NoError(t, err)
		assert.Equal(t, data, again)
	})
}
