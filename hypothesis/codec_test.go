package hypothesis_test

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hypothesis"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
)

// Cells that travelled as bytes are the cells that were written, and go on as these do.
func TestCellsAsBytes(t *testing.T) {
	t.Run("type=float32", testCellsAsBytes[float32])
	t.Run("type=float64", testCellsAsBytes[float64])
}

func testCellsAsBytes[T dense.Float](t *testing.T) {
	src := rand.NewPCG(1, 2)
	rng := rand.New(src)
	phi := gaussian[T](8, 2, 1, src)
	other := must.Have(hypothesis.NewCells(phi, 3, 20))
	require.NoError(t, other.Add(sample[T](rng, 40, 2, gauss), src))
	for _, n := range []int{0, 2, 3, 31, 90} {
		c := must.Have(hypothesis.NewCells(phi, 3, 20))
		require.NoError(t, c.Add(sample[T](rng, n, 2, gauss), src))
		data, err := c.MarshalBinary()
		require.NoError(t, err)
		got := must.Have(hypothesis.NewCells(phi, 3, 20))
		require.NoError(t, got.UnmarshalBinary(data))
		assert.Equal(t, n, got.Rows())
		more := sample[T](rng, 8, 2, gauss)
		var results [2]hypothesis.Result
		for i, cells := range []*hypothesis.Cells[T]{c, got} {
			require.NoError(t, cells.Add(more, rand.NewPCG(3, 4)))
			results[i], err = hypothesis.Compare(t.Context(), cells, other, 99, rand.NewPCG(3, 4))
			require.NoError(t, err)
		}
		assert.Equal(t, results[0], results[1])
		assert.Equal(t, c.Count(), got.Count())
	}
}

func TestCellsFromWrongBytes(t *testing.T) {
	src := rand.NewPCG(1, 2)
	phi := must.Have(rff.Identity[float64](2))
	c := must.Have(hypothesis.NewCells(phi, 3, 20))
	require.NoError(t, c.Add(sample[float64](rand.New(src), 10, 2, gauss), src))
	data, err := c.MarshalBinary()
	require.NoError(t, err)
	forged := func(at int, v uint64) []byte {
		b := append([]byte(nil), data...)
		binary.LittleEndian.PutUint64(b[at:], v)
		end := len(b) - 4
		binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], crc32.MakeTable(crc32.Castagnoli)))
		return b
	}
	const cells = 40 + 16
	for want, b := range map[string][]byte{
		"it is damaged or cut off":   data[:len(data)-1],
		"want 3 to 3 rows":           forged(cells, 0x4010000000000000),      // 4
		"NaN":                        forged(cells+8, 0x7ff8000000000001),    // squares
		"has the mean +Inf":          forged(cells+16, 0x7ff0000000000000),   // mean
		"want 0 to 2 rows":           forged(cells+4*32, 0x4008000000000000), // 3 in part
		"9.007199254740992e+15 rows": forged(cells+3*32, 0x4340000000000000), // 2⁵³ rows
		"for each of 12 tokens":      forged(32, 12),
		"state of 20 bytes, want at": data[:20],
	} {
		got := must.Have(hypothesis.NewCells(phi, 3, 20))
		err := got.UnmarshalBinary(b)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, 0, got.Rows())
	}
	assert.ErrorContains(t, must.Have(hypothesis.NewCells(phi, 3, 2)).UnmarshalBinary(data), "hypothesis: 3 cells, want at most 2")
	assert.ErrorContains(t, must.Have(hypothesis.NewCells(phi, 4, 20)).UnmarshalBinary(data), "rows of a cell = 3, want 4")
	assert.ErrorContains(t, must.Have(hypothesis.NewCells(gaussian[float64](1, 2, 1, src), 3, 20)).UnmarshalBinary(data), "the features differ")
	zero := new(hypothesis.Cells[float64])
	assert.EqualError(t, zero.UnmarshalBinary(data), "hypothesis: the Cells are zero, want those of NewCells")
	_, err = zero.MarshalBinary()
	assert.EqualError(t, err, "hypothesis: the Cells are zero, want those of NewCells")
}
