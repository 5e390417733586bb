package quantise_test

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/quantise"
)

func marshalled[T dense.Float](t *testing.T, q quantise.Quantiser[T]) []byte {
	t.Helper()
	b, err := q.MarshalBinary()
	require.NoError(t, err)
	return b
}

func TestMarshal(t *testing.T) {
	x, query := random[float32](9, 100, 1), random[float32](1, 100, 2).Row(0)
	for _, o := range lawOptions(1, 2, 4, 8) {
		c := encode(t, x, o)
		q, err := quantise.UnmarshalQuantiser[float64](marshalled(t, c.Quantiser())) // of the other element type
		require.NoError(t, err)
		assert.Equal(t, c.Quantiser().Options(), q.Options())
		y, err := q.Encode(t.Context(), dense.Copy(dense.Matrix[float64]{}, x))
		require.NoError(t, err)
		assert.InDeltaSlice(t, estimates(c, nil, query, quantise.Cosine), estimates(y, nil, doubles(query), quantise.Cosine), 0.02, "%v", o)
		m1, v1 := q.Theory(0.3)
		m2, v2 := c.Quantiser().Theory(0.3)
		assert.Equal(t, []float64{m2, v2}, []float64{m1, v1})
	}
}

// reseal writes the checksum of what is before it.
func reseal(b []byte) []byte {
	end := len(b) - 4
	binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

//ci:portable
func TestUnmarshalErrors(t *testing.T) {
	c := encode(t, random[float32](3, 8, 1), quantise.Options{})
	quantiser := marshalled(t, c.Quantiser())
	with := func(data []byte, at int, v ...byte) []byte {
		data = slices.Clone(data)
		copy(data[at:], v)
		return reseal(data)
	}
	for want, data := range map[string][]byte{
		"quantise: quantiser of 51 bytes, want at least 52":            quantiser[:51],
		"quantise: quantiser of 56 bytes, want 52":                     reseal(append(slices.Clone(quantiser), 0, 0, 0, 0)),
		"quantise: Scheme = 9, want one of the constants":              with(quantiser, 10, 9),
		"quantise: Bits = 3, want 1, 2, 4 or 8, or 0 for 4":            with(quantiser, 11, 3),
		"quantise: d' = 9, want 8 for d = 8":                           with(quantiser, 24, 9),
		"quantise: d = 0, want at least 1":                             with(quantiser, 16, 0),
		"quantise: d = 18446744073709551615, want one that fits in an": with(quantiser, 16, 255, 255, 255, 255, 255, 255, 255, 255),
	} {
		read, err := quantise.UnmarshalQuantiser[float32](data)
		assert.ErrorContains(t, err, want)
		assert.Nil(t, read)
	}
}

func TestNilRotation(t *testing.T) {
	var none *hadamard.Rotation[float64]
	_, err := quantise.NewRotated[float64](quantise.Options{}, none)
	assert.EqualError(t, err, "quantise: rotation 0 is nil")
}
