package npy_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/npy"
)

// verdict is a line of testdata/headers.jsonl: a file, and what NumPy reads in it.
type verdict struct {
	Name    string
	File    string // bytes as Latin-1
	Refused bool   // NumPy reads no array
	Other   bool   // NumPy reads an array of something else than numbers
	Type    string
	Shape   []int
	Values  []string
}

func (v verdict) bytes() []byte {
	var b []byte
	for _, r := range v.File {
		b = append(b, byte(r))
	}
	return b
}

func verdicts(t testing.TB) []verdict {
	t.Helper()
	text, err := os.ReadFile("testdata/headers.jsonl")
	require.NoError(t, err)
	var all []verdict
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		var v verdict
		require.NoError(t, json.Unmarshal(lines.Bytes(), &v))
		all = append(all, v)
	}
	require.NotEmpty(t, all)
	return all
}

// NumPy's verdicts are those in testdata.
func TestVerdicts(t *testing.T) {
	text, err := os.ReadFile("testdata/headers.jsonl")
	require.NoError(t, err)
	densetest.NumPy(t, "testdata/headers.py", text, nil)
}

// A file is read as NumPy reads it, or refused as NumPy refuses it.
func TestFilesOfOthers(t *testing.T) {
	t.Run("float32", filesOfOthers[float32])
	t.Run("float64", filesOfOthers[float64])
}

func filesOfOthers[T dense.Float](t *testing.T) {
	for _, v := range verdicts(t) {
		t.Run(v.Name, func(t *testing.T) {
			path := put(t, v.bytes())
			got, shape, err := npy.ReadFile[T](path)
			switch {
			case v.Refused:
				assert.ErrorContains(t, err, "npy: "+path+": ")
				return
			case v.Other:
				assert.ErrorContains(t, err, "dtype ")
				return
			case v.Name == "bytes after the elements": // NumPy ignores them
				assert.ErrorContains(t, err, "shape (3,) of 4-byte elements does not fit the 16 bytes")
				return
			}
			want, wrong := numbers[T](t, v)
			if wrong != "" {
				assert.ErrorContains(t, err, wrong)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, v.Shape, append([]int{}, shape...))
			same(t, want, got)

			r, err := npy.Open(path)
			require.NoError(t, err)
			assert.Equal(t, v.Type, r.Type)
			assert.Equal(t, v.Shape, append([]int{}, r.Shape...))
			for _, n := range []int{1, 2, 1 << 14} {
				same(t, want, rows[T](t, r, n))
				require.NoError(t, r.Close())
				r, err = npy.Open(path)
				require.NoError(t, err)
			}
			require.NoError(t, r.Close())
		})
	}
}

// numbers returns the elements of v as T, or the error of the first integer that T does not have.
func numbers[T dense.Float](t *testing.T, v verdict) (want []T, wrong string) {
	for i, text := range v.Values {
		f, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		want = append(want, T(f))
		if exact, ok := new(big.Rat).SetString(text); ok && strings.Contains(v.Type, "int") {
			if new(big.Rat).SetFloat64(float64(T(f))).Cmp(exact) != 0 && wrong == "" {
				cols := 1
				for _, n := range v.Shape[1:] {
					cols *= n
				}
				wrong = fmt.Sprintf("row %d, column %d: %s %s is not exact in %T", i/cols, i%cols, v.Type, text, want[i])
			}
		}
	}
	return want, wrong
}

// rows reads all rows, n at a time.
func rows[T dense.Float](t *testing.T, r *npy.Reader, n int) []T {
	var all []T
	for total := 0; ; {
		dst := dense.New[T](n, r.Cols)
		m, err := npy.Read(r, dst)
		require.NoError(t, err)
		if total += m; m == 0 {
			assert.Equal(t, r.Rows, total)
			return all
		}
		all = append(all, dst.Data[:m*r.Cols]...)
	}
}

// same compares numbers with their signs, where NaN equals NaN.
func same[T dense.Float](t *testing.T, want, got []T) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		w, g := float64(want[i]), float64(got[i])
		assert.True(t, w == g && math.Signbit(w) == math.Signbit(g) || w != w && g != g, "%d: want %v, got %v", i, w, g)
	}
}

// Columns of more rows than a part, from a file whose array does not begin at its first byte.
func TestFortranOrder(t *testing.T) {
	const n, d = 20000, 3
	want, stored := make([]float64, n*d), make([]int32, n*d)
	for i := range n {
		for j := range d {
			want[i*d+j] = float64(i - 1000*j)
			stored[j*n+i] = int32(i - 1000*j)
		}
	}
	data := file(dict("<i4", "True", "(20000, 3)"), stored)
	for _, block := range []int{n, n - 1, 8160, 999} {
		f := bytes.NewReader(append([]byte("another array"), data...))
		_, err := f.Seek(int64(f.Len()-len(data)), io.SeekStart)
		require.NoError(t, err)
		r, err := npy.NewReader(f, int64(len(data)))
		require.NoError(t, err)
		require.Equal(t, want, rows[float64](t, r, block))
	}
	got, shape, err := npy.ReadFile[float64](put(t, data))
	require.NoError(t, err)
	assert.Equal(t, []int{n, d}, shape)
	assert.Equal(t, want, got)

	// A file that is read once has no way back to the second row.
	_, err = npy.NewReader(io.MultiReader(bytes.NewReader(data)), int64(len(data)))
	assert.ErrorContains(t, err, "npy: in Fortran order, want a file that can seek or C order (numpy.ascontiguousarray)")
	vector := file(dict("<i4", "True", "(3, 1)"), []int32{1, 2, 3})
	r, err := npy.NewReader(io.MultiReader(bytes.NewReader(vector)), int64(len(vector)))
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 2, 3}, rows[float64](t, r, 2))

	// What is cut or no float names its place.
	stored[n+7] = 1<<24 + 1
	data = file(dict("<i4", "True", "(20000, 3)"), stored)
	_, _, err = npy.ReadFile[float32](put(t, data))
	assert.ErrorContains(t, err, "npy: row 7, column 1: int32 16777217 is not exact in float32")
	r, err = npy.NewReader(bytes.NewReader(data[:len(data)-4]), int64(len(data)))
	require.NoError(t, err)
	_, err = npy.Read(r, dense.New[float64](n, d))
	assert.EqualError(t, err, "npy: row 16384, column 2: unexpected EOF")
}

// Arrays without elements are written and read.
func TestEmpty(t *testing.T) {
	for _, shape := range [][]int{{0}, {0, 3}, {3, 0}, {2, 0, 1}} {
		var b bytes.Buffer
		require.NoError(t, npy.Write(&b, []float32{}, shape...))
		got, sides, err := npy.ReadFile[float64](put(t, b.Bytes()))
		require.NoError(t, err)
		assert.Empty(t, got)
		assert.Equal(t, shape, sides)
	}
}
