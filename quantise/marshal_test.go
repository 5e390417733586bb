package quantise_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/quantise"
)

func bytesOf(t *testing.T, m interface{ MarshalBinary() ([]byte, error) }) []byte {
	t.Helper()
	b, err := m.MarshalBinary()
	require.NoError(t, err)
	return b
}

func TestMarshal(t *testing.T) {
	x, query := random[float32](9, 100, 1), random[float32](1, 100, 2).Row(0)
	for _, o := range lawOptions(1, 2, 4, 8) {
		c := encode(t, x, o)
		data := bytesOf(t, c)
		var read quantise.Codes[float32]
		require.NoError(t, read.UnmarshalBinary(data))
		assert.Equal(t, data, bytesOf(t, &read))
		assert.Equal(t, c.Estimates(nil, query, quantise.Cosine), read.Estimates(nil, query, quantise.Cosine))
		require.NoError(t, read.Append(t.Context(), x), "and goes on")
		assert.Equal(t, c.Estimates(nil, query, quantise.Cosine), read.Estimates(nil, query, quantise.Cosine)[9:])

		var q quantise.Quantiser[float64] // of the other element type
		require.NoError(t, q.UnmarshalBinary(bytesOf(t, c.Quantiser())))
		assert.Equal(t, c.Quantiser().Options(), q.Options())
		y, err := q.Encode(t.Context(), dense.Copy(dense.Matrix[float64]{}, x))
		require.NoError(t, err)
		assert.InDeltaSlice(t, c.Estimates(nil, query, quantise.Cosine), y.Estimates(nil, doubles(query), quantise.Cosine), 0.02, "%v", o)
		m1, v1 := q.Theory(0.3)
		m2, v2 := c.Quantiser().Theory(0.3)
		assert.Equal(t, []float64{m2, v2}, []float64{m1, v1})
	}
}

// Codes over rotations of the caller need the quantiser.
func TestMarshalOver(t *testing.T) {
	x := random[float64](4, 16, 3)
	plane := newHaarPlane(16, 1)
	c := newCodes(t, quantise.Options{}, plane)
	require.NoError(t, c.Append(t.Context(), x))
	data := bytesOf(t, c)
	var alone quantise.Codes[float64]
	assert.EqualError(t, alone.UnmarshalBinary(data), "quantise: the quantiser has rotations of the caller, which the bytes do not hold: use NewRotated")
	read := newCodes(t, quantise.Options{}, plane)
	require.NoError(t, read.UnmarshalBinary(data))
	assert.Equal(t, data, bytesOf(t, read))
	other := newCodes(t, quantise.Options{Bits: 2}, plane)
	assert.EqualError(t, other.UnmarshalBinary(data), "quantise: the codes are of another quantiser")
}

// reseal writes the checksum of what is before it.
func reseal(b []byte) []byte {
	end := len(b) - 4
	binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func TestUnmarshalErrors(t *testing.T) {
	c := encode(t, random[float32](3, 8, 1), quantise.Options{})
	codes, quantiser := bytesOf(t, c), bytesOf(t, c.Quantiser())
	with := func(data []byte, at int, v ...byte) []byte {
		data = slices.Clone(data)
		copy(data[at:], v)
		return reseal(data)
	}
	nan := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
	for want, data := range map[string][]byte{
		"quantise: 79 bytes, want at least 80":                             codes[:79],
		"quantise: bytes begin with \"rfquant\\x00\", want":                append(slices.Clone(quantiser), make([]byte, 90)...),
		"quantise: version 2, want 1":                                      with(codes, 8, 2),
		"they are damaged or cut off":                                      codes[:len(codes)-1],
		"quantise: codes of 48 bytes, want 16 for each of 4 rows":          with(codes, 16, 4),
		"quantise: row 1 has the norm or ratio NaN":                        with(codes, 76+4, nan...),
		"quantise: bytes begin with \"xfquant\\x00\", want \"rfquant\\x00": with(codes, 24, 'x'),
	} {
		var read quantise.Codes[float32]
		assert.ErrorContains(t, read.UnmarshalBinary(data), want)
		assert.Nil(t, read.Quantiser())
	}
	for want, data := range map[string][]byte{
		"quantise: 51 bytes, want at least 52":                         quantiser[:51],
		"quantise: quantiser of 56 bytes, want 52":                     reseal(append(slices.Clone(quantiser), 0, 0, 0, 0)),
		"quantise: Scheme = 9, want one of the constants":              with(quantiser, 10, 9),
		"quantise: Bits = 3, want 1, 2, 4 or 8, or 0 for 4":            with(quantiser, 11, 3),
		"quantise: d' = 9, want 8 for d = 8":                           with(quantiser, 24, 9),
		"quantise: d = 0, want at least 1":                             with(quantiser, 16, 0),
		"quantise: d = 18446744073709551615, want one that fits in an": with(quantiser, 16, 255, 255, 255, 255, 255, 255, 255, 255),
	} {
		var read quantise.Quantiser[float32]
		assert.ErrorContains(t, read.UnmarshalBinary(data), want)
		in, _ := read.Dims()
		assert.Zero(t, in)
	}
	assert.EqualError(t, c.Quantiser().UnmarshalBinary(quantiser), "quantise: the quantiser is in use, want a zero one")
}

// TestUnmarshalDrawsNothing has bytes that do not fit a dimension whose rotations take long to draw.
func TestUnmarshalDrawsNothing(t *testing.T) {
	c := encode(t, random[float32](3, 8, 1), quantise.Options{Scheme: quantise.QJL, Bits: 8})
	large := binary.LittleEndian.AppendUint64(nil, 1<<25)
	quantiser := bytesOf(t, c.Quantiser())
	copy(quantiser[16:], large)
	var q quantise.Quantiser[float32]
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	assert.Less(t, allocated(func() {
		assert.EqualError(t, q.UnmarshalBinary(reseal(quantiser)), "quantise: d' = 8, want 33554432 for d = 33554432")
	}), uint64(1<<16))

	codes := bytesOf(t, c)
	copy(codes[24+16:], large)
	copy(codes[24+24:], large)
	reseal(codes[24:76])
	var read quantise.Codes[float32]
	assert.Less(t, allocated(func() {
		assert.EqualError(t, read.UnmarshalBinary(reseal(codes)), "quantise: codes of 36 bytes, want 33554436 for each of 3 rows")
	}), uint64(1<<16))
}

// TestUnmarshalBitsBeyond sets a bit behind the last code of a row.
func TestUnmarshalBitsBeyond(t *testing.T) {
	for _, o := range lawOptions(1, 2, 4) {
		c := encode(t, random[float32](2, 12, 1), o) // d' = 12 fills no word of codes of 1, 2 and 4 bits
		data := bytesOf(t, c)
		data[len(data)-5] |= 0x80 // the last bit of the last row
		var read quantise.Codes[float32]
		err := read.UnmarshalBinary(reseal(data))
		if elements := 12 * map[bool]int{true: o.Bits, false: 1}[o.Scheme == quantise.QJL]; assert.Error(t, err, "%v", o) {
			assert.EqualError(t, err, fmt.Sprintf("quantise: row 1 has codes beyond its %d", elements))
		}
		assert.Nil(t, read.Quantiser())
	}
}

// TestZero calls the methods of a Quantiser and of Codes that nothing has made.
func TestZero(t *testing.T) {
	const want = "quantise: the Quantiser is zero, want one of New or NewRotated"
	var q quantise.Quantiser[float64]
	codes, err := q.Encode(t.Context(), dense.New[float64](2, 3))
	assert.EqualError(t, err, want)
	assert.EqualError(t, codes.Append(t.Context(), dense.New[float64](1, 3)), want)
	_, err = q.MarshalBinary()
	assert.EqualError(t, err, want)
	assert.PanicsWithValue(t, want, func() { q.Theory(0.5) })
	var c quantise.Codes[float64]
	assert.Zero(t, c.Len()+c.Bytes())
	assert.EqualError(t, c.Append(t.Context(), dense.New[float64](1, 3)), want)
	_, err = c.MarshalBinary()
	assert.EqualError(t, err, want)
	for _, f := range []func(){
		func() { c.Search(make([]quantise.Hit, 1), nil, quantise.Cosine) },
		func() { c.Estimates(nil, nil, quantise.Cosine) },
		func() { c.Decode(dense.Matrix[float64]{}, 0, 0) },
	} {
		assert.PanicsWithValue(t, want, f)
	}
	assert.PanicsWithValue(t, "quantise: rows 0 and 0 of 0", func() { c.Between(0, 0, quantise.Cosine) })
	var none *hadamard.Rotation[float64]
	_, err = quantise.NewRotated[float64](quantise.Options{}, none)
	assert.EqualError(t, err, "quantise: rotation 0 is nil")
}

// No bytes make it crash, and what it accepts can be searched.
func FuzzUnmarshal(f *testing.F) {
	for _, o := range lawOptions(1, 4) {
		q, err := quantise.New[float32](8, o, rand.NewPCG(1, 1))
		require.NoError(f, err)
		c, err := q.Encode(context.Background(), random[float32](3, 8, 1))
		require.NoError(f, err)
		data, err := c.MarshalBinary()
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= 80 {
			// Sizes stay small: large ones only take time.
			copy(data[42:], make([]byte, 6))
			reseal(data[24:76])
			reseal(data)
		}
		var c quantise.Codes[float32]
		if c.UnmarshalBinary(data) == nil {
			in, _ := c.Quantiser().Dims()
			c.Search(make([]quantise.Hit, 2), make([]float32, in), quantise.SquaredDistance)
		}
	})
}

var update = flag.Bool("update", false, "write the golden file")

// Codes of later versions and of other platforms have the bytes of testdata.
func TestGolden(t *testing.T) {
	x := dense.New[float32](3, 100)
	for i := range x.Data {
		x.Data[i] = float32((i*i*7919+i*104729)%2047-1023) / 1024
	}
	var all []byte
	for _, o := range lawOptions(1, 2, 4, 8) {
		all = append(all, bytesOf(t, encode(t, x, o))...)
	}
	const file = "testdata/codes.golden"
	if *update {
		require.NoError(t, os.WriteFile(file, all, 0o666))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, want, all)
}
