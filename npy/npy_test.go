package npy_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
	"github.com/seed-feabd252/randfeat/npy"
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

func put(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.npy")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func TestReader(t *testing.T) {
	elements := []float32{1, 2, 3, 4, 5, 6}
	two := append([]byte("\x93NUMPY\x02\x00"), binary.LittleEndian.AppendUint32(nil, uint32(len(dict("<f4", "False", "(3, 2)")+"\n")))...)
	two = append(two, dict("<f4", "False", "(3, 2)")+"\n"...)
	two, _ = binary.Append(two, binary.LittleEndian, elements)
	for _, data := range [][]byte{file(dict("<f4", "False", "(3, 2)"), elements), two} {
		r, err := npy.NewReader(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		assert.Equal(t, []int{3, 2, 3, 2}, append([]int{r.Rows, r.Cols}, r.Shape...))
		dst := dense.New[float64](2, 2)
		n, err := npy.Read(r, dst)
		require.NoError(t, err)
		assert.Equal(t, 2, n)
		assert.Equal(t, []float64{1, 2, 3, 4}, dst.Data)
		n, err = npy.Read(r, dst)
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		assert.Equal(t, []float64{5, 6}, dst.Row(0))
		n, err = npy.Read(r, dst)
		require.NoError(t, err)
		assert.Zero(t, n)
		assert.PanicsWithValue(t, "npy: dst is 2×3, want 2 columns for shape [3 2]", func() { _, _ = npy.Read(r, dense.New[float64](2, 3)) })
		assert.NoError(t, r.Close())
	}
}

// numpys are files as NumPy 1.24 writes them: headers are padded to 128 bytes.
var numpys = []struct {
	dict     string
	elements string
	shape    []int
	values   []float64
}{
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\xc0", []int{2, 2}, []float64{1, 2, 3, -4}},
	{"{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "\x00\x00\x00\x00\x00\x00\xf8\x3f", []int{}, []float64{1.5}},
	{"{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }", "\x00\x3c\xff\x7b\x01\x00", []int{3}, []float64{1, 65504, 0x1p-24}},
	{"{'descr': '|b1', 'fortran_order': False, 'shape': (1, 1, 2), }", "\x01\x00", []int{1, 1, 2}, []float64{1, 0}},
	{"{'descr': '|V2', 'fortran_order': False, 'shape': (2,), }", "\x80\x3f\x40\xc0", []int{2}, []float64{1, -3}},
}

// Files of NumPy are read, and written with the same bytes.
func TestNumPy(t *testing.T) {
	for _, c := range numpys {
		whole := "\x93NUMPY\x01\x00\x76\x00" + c.dict + strings.Repeat(" ", 117-len(c.dict)) + "\n" + c.elements
		var b bytes.Buffer
		switch c.dict[12] {
		case 'b':
			got, shape, err := npy.ReadFile[bool](put(t, []byte(whole)))
			require.NoError(t, err)
			assert.Equal(t, c.shape, shape)
			assert.Equal(t, []bool{true, false}, got)
			require.NoError(t, npy.Write(&b, got, shape...))
			numbers, _, err := npy.ReadFile[float32](put(t, []byte(whole)))
			require.NoError(t, err)
			assert.Equal(t, []float32{1, 0}, numbers)
		default:
			got, shape, err := npy.ReadFile[float64](put(t, []byte(whole)))
			require.NoError(t, err)
			assert.Equal(t, c.values, got)
			assert.Equal(t, c.shape, append([]int{}, shape...))
			short, _, err := npy.ReadFile[float32](put(t, []byte(whole)))
			require.NoError(t, err)
			for i, x := range short {
				assert.Equal(t, c.values[i], float64(x))
			}
			switch c.dict[12:14] {
			case "f8":
				require.NoError(t, npy.Write(&b, got, shape...))
			case "f4":
				require.NoError(t, npy.Write(&b, short, shape...))
			case "f2":
				require.NoError(t, npy.Write(&b, half.Encode[half.Float16](nil, got), shape...))
			case "V2":
				require.NoError(t, npy.Write(&b, half.Encode[half.BFloat16](nil, got), shape...))
			}
			_, _, err = npy.ReadFile[bool](put(t, []byte(whole)))
			assert.ErrorContains(t, err, "want booleans ('|b1')")
		}
		assert.Equal(t, whole, b.String())
	}
	for descr, elements := range map[string]any{">f8": []uint64{0x000000000000f83f}, ">f4": []uint32{0x0000c03f}, ">f2": []uint16{0x003e}, "<V2": []uint16{0x3fc0}} {
		got, _, err := npy.ReadFile[float64](put(t, file(dict(descr, "False", "(1,)"), elements)))
		require.NoError(t, err, descr)
		assert.Equal(t, []float64{1.5}, got, descr)
		r, err := npy.Open(put(t, file(dict(descr, "False", "(1,)"), elements)))
		require.NoError(t, err, descr)
		assert.Equal(t, map[string]string{">f8": "float64", ">f4": "float32", ">f2": "float16", "<V2": "bfloat16"}[descr], r.Type)
		require.NoError(t, r.Close())
	}
}

// What is written is read: every rank, both precisions, numbers that are not finite too.
func TestRoundTrip(t *testing.T) {
	t.Run("float32", roundTrip[float32])
	t.Run("float64", roundTrip[float64])
}

func roundTrip[T dense.Float](t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	for _, shape := range [][]int{{6}, {2, 3}, {1, 2, 3}, {1, 2, 1, 3}, {6, 1, 1, 1, 1}} {
		want := []T{1, -0.1, T(math.Inf(1)), T(math.Inf(-1)), T(math.Copysign(0, -1)), 1e-38}
		require.NoError(t, npy.WriteFile(path, want, shape...))
		got, sides, err := npy.ReadFile[T](path)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Equal(t, shape, sides)
	}
	require.NoError(t, npy.WriteFile(path, []T{T(math.NaN())}))
	got, sides, err := npy.ReadFile[T](path)
	require.NoError(t, err)
	assert.True(t, got[0] != got[0])
	assert.Empty(t, sides)
}

// failing is a writer that fails after n bytes.
type failing struct{ n int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	x := make([]float32, 6)
	path := filepath.Join(t.TempDir(), "x.npy")
	for want, shape := range map[string][]int{
		"npy: shape [2 2] does not fit 6 elements":     {2, 2},
		"npy: shape [] does not fit 6 elements":        {},
		"npy: shape [6 0] does not fit 6 elements":     {6, 0},
		"npy: shape [-2 -3] has a negative side":       {-2, -3},
		"npy: shape has 65 sides, want at most 64":     append(make([]int, 64), 6),
		"npy: shape [3 3] does not fit 6 elements":     {3, 3},
		fmt.Sprint("npy: shape [2 ", math.MaxInt, "]"): {2, math.MaxInt},
	} {
		assert.ErrorContains(t, npy.Write(&bytes.Buffer{}, x, shape...), want)
		assert.ErrorContains(t, npy.WriteFile(path, x, shape...), want)
	}
	for _, shape := range [][]int{{1}, {3}, {5, 4}, {math.MaxInt, 3}, {}} {
		var b bytes.Buffer
		want := fmt.Sprintf("npy: shape %v does not fit 0 elements", shape)
		assert.EqualError(t, npy.Write(&b, []float64{}, shape...), want)
		assert.EqualError(t, npy.WriteFile[bool](path, nil, shape...), want)
		assert.Zero(t, b.Len())
	}
	assert.NoFileExists(t, path)
	assert.ErrorIs(t, npy.Write(&failing{100}, x, 6), errFull)
	assert.NoError(t, npy.Write(&failing{152}, x, 6))
	assert.Error(t, npy.WriteFile(filepath.Join(path, "x.npy"), x, 6))
}

func TestBadFiles(t *testing.T) {
	four := []float32{1, 2, 3, 4}
	for want, data := range map[string][]byte{
		"not a NumPy file":                         []byte("hello, world"),
		"not a NumPy file (.npy)":                  []byte("\x93NUMPY\x02\x00\x01\x00"),
		"NumPy format version 9.0":                 append([]byte("\x93NUMPY\x09\x00"), make([]byte, 20)...),
		"NumPy format version 1.1":                 append([]byte("\x93NUMPY\x01\x01"), make([]byte, 20)...),
		"a header of 4294967295 bytes":             []byte("\x93NUMPY\x02\x00\xff\xff\xff\xffabc"),
		"a header of 10001 bytes":                  file(dict("<f4", "False", "(2, 2)")+strings.Repeat(" ", 10000-len(dict("<f4", "False", "(2, 2)"))), four),
		"want a dictionary of descr, fortran_orde": file("{'shape': (2, 2), 'descr': '<f4'}", four),
		`dtype "<c8", want floats ('<f2', '<f4'`:   file(dict("<c8", "False", "(2, 1)"), four),
		`dtype "<f16", want`:                       file(dict("<f16", "False", "(1,)"), four),
		`dtype "<M8[ns]", want`:                    file(dict("<M8[ns]", "False", "(2,)"), four),
		`dtype "|O", want`:                         file(dict("|O", "False", "(2,)"), four),
		`dtype [('a', '<f4'), ('b', '<f4')], 'for`: file("{'descr': [('a', '<f4'), ('b', '<f4')], 'fortran_order': False, 'shape': (2,), }", four),
		`dtype ">V2"`:                              file(dict(">V2", "False", "(8, 1)"), four),
		"shape () of 4-byte elements does not":     file(dict("<f4", "False", "()"), four),
		"shape (, 2), want sizes":                  file(dict("<f4", "False", "(, 2)"), four),
		"shape (,), want sizes":                    file(dict("<f4", "False", "(,)"), four),
		"shape (4), want sizes":                    file(dict("<f4", "False", "(4)"), four),
		"(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,":  file(dict("<f4", "False", "("+strings.Repeat("1,", 65)+")"), four[:1]),
		"shape (0, 2) of 4-byte elements does not": file(dict("<f4", "False", "(0, 2)"), four),
		"is more than this machine can hold":       file(dict("<f4", "False", "(0, 4611686018427387904, 4)"), four[:0]),
		"does not fit the 16":                      file(dict("<f4", "False", "(2, 3)"), four),
		"shape (4611686018427387904, 4) of 4-by":   file(dict("<f4", "False", "(4611686018427387904, 4)"), four),
	} {
		_, err := npy.NewReader(bytes.NewReader(data), int64(len(data)))
		assert.ErrorContains(t, err, want)
		assert.Regexp(t, "^npy: ", err.Error())
		_, err = npy.Open(put(t, data))
		assert.ErrorContains(t, err, "x.npy: ")
	}
	_, err := npy.Open(t.TempDir())
	assert.ErrorContains(t, err, "not a regular file")
	_, _, err = npy.ReadFile[float32]("none.npy")
	assert.ErrorIs(t, err, os.ErrNotExist)
	data := file(dict("<f4", "False", "(2, 2)"), four)
	r, err := npy.NewReader(bytes.NewReader(data[:len(data)-4]), int64(len(data)))
	require.NoError(t, err)
	n, err := npy.Read(r, dense.New[float32](2, 2))
	assert.Equal(t, 1, n)
	assert.EqualError(t, err, "npy: row 1: unexpected EOF")
}

func FuzzReader(f *testing.F) {
	f.Add(file(dict("<f4", "False", "(2, 2)"), []float32{1, 2, 3, 4}))
	f.Add(file(dict(">f8", "False", "(2,)"), []float64{1, 2}))
	f.Add(file(dict("<f2", "False", "(1, 2, 1, 2)"), []uint16{1, 2, 3, 4}))
	f.Add(file(dict("|V2", "False", "()"), []uint16{1}))
	f.Add(file(dict("|b1", "False", "(3,)"), []uint8{0, 1, 2}))
	f.Add(file(dict("<f4", "False", "(4000000000, 4000000000)"), []float32{1}))
	f.Add(file(dict("<i8", "True", "(2, 1, 3)"), []int64{1, 1 << 60, 3, -4, 1<<24 + 1, 6}))
	f.Add(file(dict("<u2", "True", "(3, 0, 4)"), []uint16{}))
	f.Add(file(`{"shape":(2L,2L,),'descr':u'|i1', 'fortran_order' : True}`, []int8{1, 2, 3, 4}))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := npy.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		product := 1
		for _, n := range r.Shape {
			product *= n
		}
		assert.Equal(t, product, r.Rows*r.Cols)
		assert.LessOrEqual(t, product, len(data))
		whole := dense.New[float64](r.Rows, r.Cols)
		n, err := npy.Read(r, whole)
		if err != nil {
			require.ErrorContains(t, err, "is not exact in float64")
			return
		}
		assert.Equal(t, r.Rows, n)
		// Rows in two parts are the same rows.
		r, err = npy.NewReader(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		for lo, half := 0, (r.Rows+1)/2; lo < r.Rows; lo += n {
			part := dense.New[float64](half, r.Cols)
			n, err = npy.Read(r, part)
			require.NoError(t, err)
			require.Equal(t, min(half, r.Rows-lo), n)
			assert.Equal(t, bitsOf(whole.RowRange(lo, lo+n).Data[:n*r.Cols]), bitsOf(part.Data[:n*r.Cols]))
		}
	})
}

// bitsOf returns the bits of numbers, so that NaN equals NaN.
func bitsOf(x []float64) []uint64 {
	all := make([]uint64, len(x))
	for i, v := range x {
		all[i] = math.Float64bits(v)
	}
	return all
}

func Example() {
	path := filepath.Join(os.TempDir(), "randfeat-example.npy")
	defer os.Remove(path)
	// One sequence of one head of two tokens in bfloat16, (B, H, L, d) = (1, 1, 2, 2).
	x := half.Encode[half.BFloat16](nil, []float32{1, 2, 3, 0.1})
	if err := npy.WriteFile(path, x, 1, 1, 2, 2); err != nil {
		panic(err)
	}
	y, shape, err := npy.ReadFile[float32](path)
	if err != nil {
		panic(err)
	}
	fmt.Println(shape, y)
	// Output:
	// [1 1 2 2] [1 2 3 0.100097656]
}

// TestWriteFileIsWhole: WriteFile puts a new file in the place of the old one. A reader of the old
// file never sees a part of the new one, and neither does anybody when a disk is full.
func TestWriteFileIsWhole(t *testing.T) {
	dir := t.TempDir()
	path, old := filepath.Join(dir, "x.npy"), filepath.Join(dir, "old.npy")
	require.NoError(t, npy.WriteFile(path, []float64{1, 2, 3}, 3))
	require.NoError(t, os.Link(path, old))
	require.NoError(t, npy.WriteFile(path, []float64{4}, 1))
	for path, want := range map[string][]float64{path: {4}, old: {1, 2, 3}} {
		got, _, err := npy.ReadFile[float64](path)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 2)
}
