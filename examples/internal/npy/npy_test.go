package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sbinet/npyio"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
)

// file returns a version 1 file with the given dictionary and elements.
func file(dict string, elements any) []byte {
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	_ = binary.Write(&b, binary.LittleEndian, uint16(len(dict)+1))
	b.WriteString(dict + "\n")
	_ = binary.Write(&b, binary.LittleEndian, elements)
	return b.Bytes()
}

func dict(dtype, order, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", dtype, order, shape)
}

func put(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "q.npy")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func roundTrip[T dense.Float](t *testing.T) {
	for _, shape := range [][]int{{3, 4}, {2, 3, 4}, {1, 1}} {
		n := 1
		for _, s := range shape {
			n *= s
		}
		in := Tensor[T]{Shape: shape, Data: make([]T, n)}
		for i := range in.Data {
			in.Data[i] = T(i) + 0.1
		}
		path := filepath.Join(t.TempDir(), "x.npy")
		require.NoError(t, Write(path, in))

		h, err := Stat(path)
		require.NoError(t, err)
		assert.Equal(t, Header{Type: reflect.TypeFor[T]().Kind(), Shape: shape}, h)
		out, err := Read[T](path)
		require.NoError(t, err)
		assert.Equal(t, in, out)

		var data []T
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Zero(t, (10+int(raw[8]))%64, "elements are aligned")
		require.NoError(t, npyio.Read(bytes.NewReader(raw), &data))
		assert.Equal(t, in.Data, data, "another reader agrees")
	}
}

func TestRoundTrip(t *testing.T) {
	t.Run("type=float32", roundTrip[float32])
	t.Run("type=float64", roundTrip[float64])
}

func TestHeads(t *testing.T) {
	x := Tensor[float64]{Shape: []int{2, 1, 2}, Data: []float64{1, 2, 3, 4}}
	assert.Equal(t, 2, x.Heads())
	assert.Equal(t, dense.Of(1, 2, []float64{3, 4}), x.Head(1))
	x.Shape = []int{2, 2}
	assert.Equal(t, 1, x.Heads())
	assert.Equal(t, dense.Of(2, 2, []float64{1, 2, 3, 4}), x.Head(0))
}

func TestReadWhatOthersWrite(t *testing.T) {
	big := file(dict(">f4", "False", "(1, 2)"), []byte{0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0})
	x, err := Read[float32](put(t, big))
	require.NoError(t, err)
	assert.Equal(t, []float32{1, -2}, x.Data)

	// A header that leaves the elements off any boundary makes buffers end
	// inside an element.
	const n = 40000
	elements := make([]float64, n)
	for i := range elements {
		elements[i] = float64(i)
	}
	odd := file(dict("<f8", "False", fmt.Sprintf("(%d, 1)", n)), elements)
	y, err := Read[float64](put(t, odd))
	require.NoError(t, err)
	assert.Equal(t, elements, y.Data)

	text := dict("<f8", "False", "(1, 1)") + "\n"
	two := binary.LittleEndian.AppendUint32([]byte("\x93NUMPY\x02\x00"), uint32(len(text)))
	two = append(append(two, text...), 0, 0, 0, 0, 0, 0, 0xf0, 0x3f)
	z, err := Read[float64](put(t, two))
	require.NoError(t, err)
	assert.Equal(t, []float64{1}, z.Data, "version 2")
}

func TestBadFiles(t *testing.T) {
	four := []float32{1, 2, 3, 4}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":           {nil, "not a NumPy file"},
		"text":            {[]byte("hello, world, this is not a tensor"), "not a NumPy file"},
		"cut in prefix":   {[]byte("\x93NUMPY\x02\x00\x01\x00"), "not a NumPy file"},
		"version":         {append([]byte("\x93NUMPY\x09\x00"), make([]byte, 20)...), "NumPy format version 9"},
		"header length":   {[]byte("\x93NUMPY\x02\x00\xff\xff\xff\xffabc"), "a header of 4294967295 bytes in a file of 15"},
		"dictionary":      {file("{'shape': (2, 2), 'descr': '<f4'}", four), "not one that NumPy writes"},
		"keys":            {file("{'shape': , 'fortran_order': 'descr': }", four), "not one that NumPy writes"},
		"float16":         {file(dict("<f2", "False", "(2, 2)"), make([]byte, 8)), `dtype "<f2", want float32`},
		"int64":           {file(dict("<i8", "False", "(2, 2)"), make([]byte, 32)), `dtype "<i8", want float32`},
		"rank 1":          {file(dict("<f4", "False", "(4,)"), four), "rank 1, want 2 (L×d) or 3 (heads×L×d)"},
		"rank 0":          {file(dict("<f4", "False", "()"), four[:1]), "rank 0"},
		"rank 4":          {file(dict("<f4", "False", "(1, 1, 2, 2)"), four), "rank 4"},
		"fortran":         {file(dict("<f4", "True", "(2, 2)"), four), "Fortran order"},
		"no rows":         {file(dict("<f4", "False", "(0, 2)"), []float32{}), "no element"},
		"short":           {file(dict("<f4", "False", "(2, 3)"), four), "needs 24 bytes, the file has 16"},
		"long":            {file(dict("<f4", "False", "(1, 3)"), four), "needs 12 bytes, the file has 16"},
		"huge":            {file(dict("<f4", "False", "(1000000000, 1000000000)"), four), "needs 4000000000000000000 bytes"},
		"beyond int64":    {file(dict("<f4", "False", "(2000000000, 2000000000, 2000000000)"), four), "more than a file can hold"},
		"beyond int":      {file(dict("<f4", "False", "(99999999999999999999, 1)"), four), "out of range"},
		"nan":             {file(dict("<f4", "False", "(2, 2)"), []float32{1, 2, float32(math.NaN()), 4}), "element [1 0] is NaN"},
		"inf":             {file(dict("<f4", "False", "(1, 2, 2)"), []float32{1, float32(math.Inf(-1)), 3, 4}), "element [0 0 1] is -Inf"},
		"other precision": {file(dict("<f8", "False", "(1, 2)"), []float64{1, 2}), "elements are float64, want float32"},
	} {
		t.Run(name, func(t *testing.T) {
			path := put(t, c.data)
			_, err := Read[float32](path)
			assert.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, err, path)
		})
	}
}

func TestFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	_, err := Stat(filepath.Join(dir, "missing.npy"))
	assert.ErrorContains(t, err, "missing.npy")
	_, err = Stat(dir)
	assert.EqualError(t, err, dir+": not a regular file")
	assert.Error(t, Write(filepath.Join(dir, "no", "x.npy"), Tensor[float32]{Shape: []int{1, 1}, Data: []float32{1}}))
}

func FuzzDecode(f *testing.F) {
	f.Add(file(dict("<f4", "False", "(2, 2)"), []float32{1, 2, 3, 4}))
	f.Add(file(dict(">f4", "False", "(1, 2, 2)"), []float32{1, 2, 3, 4}))
	f.Add(file(dict("<f4", "False", "(4000000000, 4000000000)"), []float32{1}))
	f.Add(file(dict("<f4", "False", "()"), []float32{1}))
	f.Add(file(dict("<f4", "False", "(, ,1 2)"), []float32{1}))
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := decode[float32](bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		last := x.Head(x.Heads() - 1)
		assert.Positive(t, last.Rows*last.Cols)
		assert.LessOrEqual(t, 4*len(x.Data), len(data), "no more than the file holds")
		var b bytes.Buffer
		require.NoError(t, encode(&b, x))
		y, err := decode[float32](&b, int64(b.Len()))
		require.NoError(t, err)
		assert.Equal(t, x, y)
	})
}
