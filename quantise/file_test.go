package quantise_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/quantise"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// Codes come back from a reader that gives few bytes at a time, and from bytes in memory at any
// place, also without rows and for the other element type.
//
//ci:portable
func TestFileRoundTrip(t *testing.T) {
	beyond := 0 // bytes from an aligned address to a view
	bothKinds(t, 9, 100, func(q quantise.Quantiser[float32], x dense.Matrix[float32]) {
		what := fmt.Sprint(q.Options())
		c, query := codesOf(t, q, x), x.Row(3)
		data := fileOf(t, c)
		read, err := quantise.Read[float32](iotest.OneByteReader(bytes.NewReader(data)))
		require.NoError(t, err)
		sameCodes(t, c, read, query, what)
		view, err := quantise.View[float32](aligned(data, beyond))
		require.NoError(t, err)
		assert.Equal(t, ranked(c, query, quantise.Cosine), ranked(view, query, quantise.Cosine), what)
		assert.Equal(t, data, fileOf(t, view), what)
		beyond = (beyond + 1) % 5
		require.NoError(t, read.Append(t.Context(), x), "and goes on")
		assert.Equal(t, estimates(c, nil, query, quantise.Cosine), estimates(read, nil, query, quantise.Cosine)[9:])

		none, err := quantise.View[float64](fileOf(t, codesOf(t, q, x.RowRange(0, 0))))
		require.NoError(t, err)
		assert.Equal(t, q.Options(), none.Quantiser().Options())
		require.NoError(t, none.Append(t.Context(), dense.Copy(dense.Matrix[float64]{}, x)))
		assert.InDeltaSlice(t, estimates(c, nil, query, quantise.Cosine), estimates(none, nil, doubles(query), quantise.Cosine), 0.02, what)
	})
}

// Views use the bytes themselves, and Append leaves them alone.
//
//ci:portable
func TestViewSharesBytes(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("big endian")
	}
	x, query := random[float64](300, 64, 3), random[float64](1, 64, 4).Row(0)
	c := encode(t, x, quantise.Options{Bits: 8})
	data := aligned(fileOf(t, c), 0)
	view, err := quantise.View[float64](data)
	require.NoError(t, err)
	before := slices.Clone(data)
	require.NoError(t, view.Append(t.Context(), x.RowRange(0, 3)))
	require.NoError(t, view.Append(t.Context(), x.RowRange(3, 10)))
	assert.Equal(t, before, data)
	want := estimates(c, nil, query, quantise.InnerProduct)
	assert.Equal(t, append(want, want[:10]...), estimates(view, nil, query, quantise.InnerProduct))
	clear(data[len(data)/2:])
	assert.NotEqual(t, want, estimates(view, nil, query, quantise.InnerProduct)[:300])
}

// Errors of readers and writers, other bytes and files of older versions are refused.
//
//ci:portable
func TestFileOfOthers(t *testing.T) {
	data := fileOf(t, encode(t, random[float32](5, 8, 1), quantise.Options{}))
	broken := errors.New("broken")
	_, err := quantise.Read[float32](iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
	c, err := quantise.View[float32](data)
	require.NoError(t, err)
	require.ErrorIs(t, c.Write(limited{broken}), broken)
	require.EqualError(t, c.Write(nil), "quantise: w is nil")
	_, err = quantise.Read[float32](nil)
	require.EqualError(t, err, "quantise: r is nil")
	_, err = quantise.View[float32](append(slices.Clone(data), 0))
	require.ErrorContains(t, err, "quantise: safetensors: bytes follow the last tensor")
	// of older versions
	_, err = quantise.View[float32]([]byte("rfcodes\x00\x03\x00\x00\x00\x34\x00\x00\x00"))
	require.ErrorContains(t, err, "not a safetensors file")
}

// limited writes one byte.
type limited struct{ err error }

func (w limited) Write(b []byte) (int, error) { return min(len(b), 1), w.err }

// changed returns a file with changes and the right checksum.
func changed(t *testing.T, data []byte, change func(f *safetensors.File)) []byte {
	t.Helper()
	return must.Have(archive.Changed(data, change))
}

// Files with a right checksum that Write cannot have written are refused.
//
//ci:portable
func TestFileErrors(t *testing.T) {
	x, centres := clusters[float32](3, 20, 2, 1, 0.1, 1)
	data := fileOf(t, codesOf(t, around(t, quantise.Options{}, centres), x))
	number := func(name string, at int, v uint32) func(f *safetensors.File) {
		return func(f *safetensors.File) { binary.LittleEndian.PutUint32(f.Tensors[name].Data[4*at:], v) }
	}
	word := func(name, v string) func(f *safetensors.File) {
		return func(f *safetensors.File) { f.Metadata[name] = v }
	}
	short := func(name string, n int) func(f *safetensors.File) {
		return func(f *safetensors.File) {
			tensor := f.Tensors[name]
			tensor.Data, tensor.Shape = tensor.Data[:len(tensor.Data)/tensor.Shape[0]*n], append([]int{n}, tensor.Shape[1:]...)
			f.Tensors[name] = tensor
		}
	}
	nan := math.Float32bits(float32(math.NaN()))
	for want, change := range map[string]func(f *safetensors.File){
		"quantise: Bits = 3, want 1, 2, 4 or 8, or 0 for 4":                word("codes.bits", "3"),
		"quantise: d = 0, want at least 1":                                 word("codes.d", "0"),
		"quantise: centres are 2×20, want K×19":                            word("codes.d", "19"),
		`quantise: metadata: "codes.d" is "x", want a whole number`:        word("codes.d", "x"),
		"quantise: seed of 1 words, want 2":                                short("codes.seed", 1),
		"quantise: 5 words of codes for 3 rows, want 6":                    short("codes.words", 5),
		"quantise: centres of 2 rows, want 3":                              short("codes.labels", 2),
		"quantise: 2 of the number ratio for 3 rows":                       short("codes.ratios", 2),
		"quantise: row 1 has centre 3 of 2":                                number("codes.labels", 1, 3),
		"quantise: code 1 has the norm NaN":                                number("codes.norms", 1, nan),
		"quantise: code 2 has the product NaN":                             number("codes.centreProducts", 2, nan),
		"quantise: code 2 goes beyond its 20 elements":                     number("codes.words", 11, 1<<31),
		"quantise: centre 1 has the norm NaN":                              number("codes.centres", 2*20+1, 0x7ff80000),
		"quantise: the file has version \"1\" of the format, this package": word("version", "1"),
		`quantise: tensor "codes.ratios" is missing`:                       func(f *safetensors.File) { delete(f.Tensors, "codes.ratios") },
		`quantise: tensor "more" is unknown`:                               func(f *safetensors.File) { f.Tensors["more"] = f.Tensors["codes.norms"] },
	} {
		bad := changed(t, data, change)
		_, err := quantise.View[float32](bad)
		assert.ErrorContains(t, err, want)
		_, err = quantise.Read[float32](bytes.NewReader(bad))
		assert.ErrorContains(t, err, want)
	}
	_, err := quantise.View[float32](changed(t, data, func(*safetensors.File) {}))
	require.NoError(t, err)
}

var update = flag.Bool("update", false, "write the golden files")

// Files and rows of later versions and of other platforms have the bytes of testdata.
//
//ci:portable
func TestGolden(t *testing.T) {
	x := dense.New[float32](3, 100)
	for i := range x.Data {
		x.Data[i] = float32((i*i*7919+i*104729)%2047-1023) / 1024
	}
	var files, rows []byte
	for _, o := range options(1, 2, 4, 8) {
		q, err := quantise.New[float32](100, o, rand.NewPCG(1, 2))
		require.NoError(t, err)
		files = append(files, fileOf(t, codesOf(t, q, x))...)
		rows = append(rows, pageOf(t, q, x.RowRange(0, 2))...)
		rows = append(rows, pageOf(t, around(t, o, x.RowRange(1, 2)), x.RowRange(0, 2))...)
	}
	for name, got := range map[string][]byte{"testdata/codes.golden": files, "testdata/rows.golden": rows} {
		if *update {
			require.NoError(t, os.WriteFile(name, got, 0o666))
		}
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}
