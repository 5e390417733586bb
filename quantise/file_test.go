package quantise_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"testing/iotest"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

func fileOf[T dense.Float](t *testing.T, c quantise.Codes[T]) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := c.WriteTo(&b)
	require.NoError(t, err)
	assert.Equal(t, int64(b.Len()), n)
	return b.Bytes()
}

// aligned returns the bytes at the beginning of a word, or so many bytes beyond it.
func aligned(data []byte, beyond int) []byte {
	words := make([]uint64, len(data)/8+2)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))[beyond:][:len(data)]
	copy(b, data)
	return b
}

// sameCodes has all that can be asked of codes.
func sameCodes[T dense.Float](t *testing.T, want, got quantise.Codes[T], query []T, what string) {
	t.Helper()
	n, q := want.Len(), want.Quantiser()
	require.Equal(t, n, got.Len(), what)
	assert.Equal(t, want.Bytes(), got.Bytes(), what)
	odd, ids := make(quantise.Bitmap, (n+63)/64), make([]int, 0, n)
	for i := n - 1; i >= 0; i-- {
		odd.Set(i, i%2 == 1)
		ids = append(ids, i)
	}
	for _, by := range measures {
		prepared := q.Prepare(nil, query, by, 0)
		answers := func(c quantise.Codes[T]) (all []quantise.Estimate, lists [][]quantise.Hit) {
			all = append(c.Estimates(make([]quantise.Estimate, n), prepared, 0), c.EstimateRows(make([]quantise.Estimate, n), prepared, ids)...)
			lists = [][]quantise.Hit{c.Search(make([]quantise.Hit, 5), prepared)}
			for _, o := range []quantise.SearchOptions[T]{{}, {Only: []quantise.Set{odd}}, {Except: []quantise.Set{odd}}, {Centres: 1}} {
				some := [][]quantise.Hit{make([]quantise.Hit, 5), make([]quantise.Hit, 9)}
				require.NoError(t, q.Search(t.Context(), some, []*quantise.Query{prepared, prepared}, o, c), what)
				lists = append(lists, some...)
			}
			return all, lists
		}
		wantAll, wantLists := answers(want)
		gotAll, gotLists := answers(got)
		assert.Equal(t, wantAll, gotAll, what)
		assert.Equal(t, wantLists, gotLists, what)
	}
	assert.Equal(t, want.Decode(dense.Matrix[T]{}, 0, n), got.Decode(dense.Matrix[T]{}, 0, n), what)
	file := fileOf(t, want)
	assert.Equal(t, file, fileOf(t, got), what)
	moved, err := q.Encode(t.Context(), dense.New[T](0, len(query)))
	require.NoError(t, err)
	require.NoError(t, moved.AppendRows(got, nil), what)
	assert.Equal(t, file, fileOf(t, moved), what)
}

// Codes come back from a reader that gives few bytes at a time, and from bytes in memory at any
// place.
//
//ci:portable
func TestFileRoundTrip(t *testing.T) {
	x, query := random[float32](9, 100, 1), random[float32](1, 100, 2).Row(0)
	for _, o := range lawOptions(1, 2, 4, 8) {
		c := encode(t, x, o)
		data := fileOf(t, c)
		more := []byte("more")
		file := bytes.NewReader(append(slices.Clone(data), more...))
		read, err := quantise.Read[float32](iotest.OneByteReader(file))
		require.NoError(t, err)
		assert.Equal(t, len(more), file.Len())
		sameCodes(t, c, read, query, fmt.Sprint(o))
		for beyond := range 8 {
			view, err := quantise.View[float32](append(aligned(data, beyond), more...)[:len(data)])
			require.NoError(t, err)
			sameCodes(t, c, view, query, fmt.Sprint(o))
		}
		require.NoError(t, read.Append(t.Context(), x), "and goes on")
		assert.Equal(t, estimates(c, nil, query, quantise.Cosine), estimates(read, nil, query, quantise.Cosine)[9:])
	}
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
	assert.NotEqual(t, want[290], estimates(view, nil, query, quantise.InnerProduct)[290])
}

// The quantiser reads codes over rotations of the caller.
//
//ci:portable
func TestFileOver(t *testing.T) {
	plane := newHaarPlane(16, 1)
	c := newCodes(t, quantise.Options{}, plane)
	require.NoError(t, c.Append(t.Context(), random[float64](4, 16, 3)))
	data := fileOf(t, c)
	_, err := quantise.View[float64](data)
	assert.EqualError(t, err, "quantise: the quantiser has rotations of the caller, which the bytes do not hold: use NewRotated")

	read, err := c.Quantiser().View(data)
	require.NoError(t, err)
	assert.Equal(t, data, fileOf(t, read))
	read, err = c.Quantiser().Read(bytes.NewReader(data))
	require.NoError(t, err)
	assert.Equal(t, data, fileOf(t, read))
	other := newCodes(t, quantise.Options{Bits: 2}, plane).Quantiser()
	_, err = other.View(data)
	assert.EqualError(t, err, "quantise: the codes are of another quantiser")
	_, err = other.Read(nil)
	assert.EqualError(t, err, "quantise: r is nil")
}

// Of a file that is cut off anywhere the whole parts remain, and the error says what is missing; so
// of one that is damaged in a part.
//
//ci:portable
func TestFileCutOff(t *testing.T) {
	const d, n, part = 8, 600_000, 1 << 22 / 12 // of 1 bit: 12 bytes, with 4 of the word for d' = 8
	x := random[float32](n, d, 7)
	o := quantise.Options{Scheme: quantise.QJL, Bits: 1}
	c := encode(t, x, o)
	data := fileOf(t, c)
	bodies := 80
	for _, rows := range []int{part, n - part} {
		bodies += 32 + 12*rows + 4*(rows%2) + 8
	}
	require.Equal(t, bodies+40-8, len(data))
	for _, at := range []int{0, 15, 79, 80, 100, 80 + 32, 80 + 5000, len(data) / 2, len(data)*2/3 + 1, len(data) - 33, len(data) - 32, len(data) - 1} {
		kept := 0
		if at >= 80+32+12*part+4*(part%2)+8 {
			kept = part
		}
		if at >= len(data)-32 {
			kept = n
		}
		read, err := quantise.Read[float32](bytes.NewReader(data[:at]))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d bytes", at)
		view, viewErr := quantise.View[float32](data[:at])
		assert.Equal(t, err, viewErr)
		if at >= 80 {
			assert.ErrorContains(t, err, fmt.Sprintf("quantise: rows from %d on: the bytes are cut off after %d: ", kept, at))
		}
		assert.Equal(t, kept, lengthOf(read), "%d bytes", at)
		assert.Equal(t, kept, lengthOf(view), "%d bytes", at)
		if at < len(data)*2/3 {
			continue
		}
		damaged := slices.Clone(data)
		damaged[at-10] ^= 4
		_, err = quantise.View[float32](damaged)
		assert.ErrorContains(t, err, "they are damaged")
	}
	for _, at := range []int{79, 80 + 32 + 12*part + 4*(part%2) + 7} { // zeros after checksums
		data[at] ^= 4
		_, err := quantise.View[float32](data)
		assert.ErrorContains(t, err, "they are damaged")
		data[at] ^= 4
	}
	broken := errors.New("broken")
	_, err := quantise.Read[float32](iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
	_, err = c.WriteTo(&limited{1 << 20, broken})
	require.ErrorIs(t, err, broken)
	_, err = c.WriteTo(nil)
	require.EqualError(t, err, "quantise: w is nil")
	_, err = quantise.Read[float32](nil)
	require.EqualError(t, err, "quantise: r is nil")
}

// lengthOf returns the number of rows, 0 if there are no codes.
func lengthOf(c quantise.Codes[float32]) int {
	if c == nil {
		return 0
	}
	return c.Len()
}

// limited takes so many bytes.
type limited struct {
	n   int
	err error
}

func (w *limited) Write(b []byte) (int, error) {
	if len(b) > w.n {
		return w.n, w.err
	}
	w.n -= len(b)
	return len(b), nil
}

// resealPart writes the checksums of a file of one part and its end, if it is long enough.
func resealPart(b []byte) []byte {
	sum := func(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
	size := int(binary.LittleEndian.Uint32(b[12:]))
	at := (16 + size + 7) / 8 * 8
	end := len(b) - 32
	if size < 52 || at > end-8-32-8 {
		return b
	}
	reseal(b[16 : 16+size])
	head := b[at+8:]
	binary.LittleEndian.PutUint32(b[at:], sum(b[:at]))
	binary.LittleEndian.PutUint32(head[28:], sum(head[:28]))
	binary.LittleEndian.PutUint32(b[end-8:], sum(b[at+8:end-8]))
	binary.LittleEndian.PutUint32(b[end+28:], sum(b[end:end+28]))
	return b
}

//ci:portable
func TestFileErrors(t *testing.T) {
	c := encode(t, random[float32](3, 8, 1), quantise.Options{})
	data := fileOf(t, c)
	with := func(at int, v ...byte) []byte {
		data := slices.Clone(data)
		copy(data[at:], v)
		return resealPart(data)
	}
	nan := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
	for want, data := range map[string][]byte{
		"quantise: bytes begin with \"rfquant\\x00\", want":                     append(marshalled(t, c.Quantiser()), make([]byte, 90)...),
		"quantise: version 2, want 3":                                           with(8, 2),
		"quantise: quantiser of 51 bytes, want at least 52":                     with(12, 51),
		"quantise: quantiser begins with \"xfquant\\x00\", want \"rfquant\\x00": with(16, 'x'),
		"quantise: rows from 0 on: a part of rows from 1 on":                    with(88, 1),
		"quantise: rows from 0 on: a part of 16777219 rows, want at most 2097":  with(96, 3, 0, 0, 1),
		"quantise: rows from 0 on: a part begins with \"rfrowz":                 with(85, 'z'),
		"quantise: rows from 0 on: code 1 of the part has the norm NaN":         with(80+32+4, nan...),
		"code 2 of the part goes beyond its 8 elements":                         with(80+32+40+23, 1),
	} {
		read, err := quantise.View[float32](data)
		assert.ErrorContains(t, err, want)
		assert.Nil(t, read)
		_, err = quantise.Read[float32](bytes.NewReader(data))
		assert.ErrorContains(t, err, want)
	}
	_, err := quantise.View[float32](with(0))
	require.NoError(t, err)

	x, centres := clusters[float32](3, 4, 2, 1, 0.1, 1)
	c, err = around(t, quantise.Options{}, centres).Encode(t.Context(), x)
	require.NoError(t, err)
	data = fileOf(t, c) // with 52 + 8 + 64 bytes of the quantiser, 4 more, and 8 of the checksum
	const first = 16 + 124 + 4 + 8 + 32
	for want, data := range map[string][]byte{
		"row 1 of the part has centre 3 of 2":              with(first+4, 3),
		"code 2 of the part has the product NaN":           with(first+48+8, nan...),
		"quantise: 3 centres of dimension 4 in 64 bytes":   with(16+48, 3),
		"quantise: 256 centres of dimension 4 in 64 bytes": with(16+48, 0, 1),
		"quantise: flags 0xf, want up to 0x7":              with(16+12, 15),
		"quantise: quantiser of 124 bytes, want 52":        with(16+12, 1),
		"quantise: centre 1 has the norm NaN":              with(16+56+32+4, nan...),
	} {
		read, err := quantise.View[float32](data)
		assert.ErrorContains(t, err, want)
		assert.Nil(t, read)
	}
	_, err = quantise.View[float32](with(0))
	require.NoError(t, err)
}

// Bytes that claim rows or a dimension that they do not hold take no memory: the rotations of such
// a dimension would take long to draw.
//
//ci:portable
func TestHostileFile(t *testing.T) {
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	c := encode(t, random[float32](3, 8, 1), quantise.Options{Scheme: quantise.QJL, Bits: 8})
	large := binary.LittleEndian.AppendUint64(nil, 1<<25)
	quantiser := marshalled(t, c.Quantiser())
	copy(quantiser[16:], large)
	assert.Less(t, allocated(func() {
		_, err := quantise.UnmarshalQuantiser[float32](reseal(quantiser))
		assert.EqualError(t, err, "quantise: d' = 8, want 33554432 for d = 33554432")
	}), uint64(1<<16))

	data := fileOf(t, c)
	copy(data[16+16:], large)
	copy(data[16+24:], large)
	data[96] = 1 // row
	assert.Less(t, allocated(func() {
		_, err := quantise.View[float32](resealPart(data))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}), uint64(1<<16))
	assert.Less(t, allocated(func() {
		_, err := quantise.Read[float32](bytes.NewReader(data))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}), uint64(1<<25))
}

// No bytes make it crash, and what it accepts can be searched.
func FuzzFile(f *testing.F) {
	for _, o := range lawOptions(1, 4) {
		q, err := quantise.New[float32](8, o, rand.NewPCG(1, 1))
		require.NoError(f, err)
		c, err := q.Encode(context.Background(), random[float32](3, 8, 1))
		require.NoError(f, err)
		var b bytes.Buffer
		_, err = c.WriteTo(&b)
		require.NoError(f, err)
		f.Add(bytes.Clone(b.Bytes()))

		x, centres := clusters[float32](3, 8, 2, 1, 0.1, 1)
		q, err = q.WithCentres(centres)
		require.NoError(f, err)
		c, err = q.Encode(context.Background(), x)
		require.NoError(f, err)
		b.Reset()
		_, err = c.WriteTo(&b)
		require.NoError(f, err)
		f.Add(bytes.Clone(b.Bytes()))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= 80+32+8+32 {
			data = slices.Clone(data)
			// Sizes stay small: large ones only take time.
			copy(data[16+18:], make([]byte, 6))
			resealPart(data)
		}
		c, err := quantise.Read[float32](bytes.NewReader(data))
		view, viewErr := quantise.View[float32](data)
		assert.Equal(t, err, viewErr)
		assert.Equal(t, lengthOf(c), lengthOf(view))
		if c != nil {
			in, _ := c.Quantiser().Dims()
			assert.Equal(t, search(c, make([]quantise.Hit, 2), make([]float32, in), quantise.SquaredDistance),
				search(view, make([]quantise.Hit, 2), make([]float32, in), quantise.SquaredDistance))
		}
	})
}

var update = flag.Bool("update", false, "write the golden file")

// Codes of later versions and of other platforms have the bytes of testdata.
//
//ci:portable
func TestGolden(t *testing.T) {
	x := dense.New[float32](3, 100)
	for i := range x.Data {
		x.Data[i] = float32((i*i*7919+i*104729)%2047-1023) / 1024
	}
	var all []byte
	for _, o := range lawOptions(1, 2, 4, 8) {
		all = append(all, fileOf(t, encode(t, x, o))...)
	}
	const file = "testdata/codes.golden"
	if *update {
		require.NoError(t, os.WriteFile(file, all, 0o666))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, want, all)
}
