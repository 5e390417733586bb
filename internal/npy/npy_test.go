package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

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

func TestRead(t *testing.T) {
	elements := []float32{1, 2, 3, 4, 5, 6}
	two := append([]byte("\x93NUMPY\x02\x00"), binary.LittleEndian.AppendUint32(nil, uint32(len(dict("<f4", "False", "(3, 2)")+"\n")))...)
	two = append(two, dict("<f4", "False", "(3, 2)")+"\n"...)
	two, _ = binary.Append(two, binary.LittleEndian, elements)
	for _, data := range [][]byte{file(dict("<f4", "False", "(3, 2)"), elements), two} {
		r, err := newReader(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		assert.Equal(t, []int{3, 2}, []int{r.Rows, r.Cols})
		dst := dense.New[float64](2, 2)
		n, err := Read(r, dst)
		require.NoError(t, err)
		assert.Equal(t, 2, n)
		assert.Equal(t, []float64{1, 2, 3, 4}, dst.Data)
		n, err = Read(r, dst)
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		assert.Equal(t, []float64{5, 6}, dst.Row(0))
		n, err = Read(r, dst)
		require.NoError(t, err)
		assert.Zero(t, n)
	}
}

func TestBadFiles(t *testing.T) {
	four := []float32{1, 2, 3, 4}
	for want, data := range map[string][]byte{
		"not a NumPy file":                       []byte("hello, world"),
		"not a NumPy file (.npy)":                []byte("\x93NUMPY\x02\x00\x01\x00"),
		"NumPy format version 9":                 append([]byte("\x93NUMPY\x09\x00"), make([]byte, 20)...),
		"a header of 4294967295 bytes":           []byte("\x93NUMPY\x02\x00\xff\xff\xff\xffabc"),
		"not one that NumPy writes":              file("{'shape': (2, 2), 'descr': '<f4'}", four),
		`dtype "<f2"`:                            file(dict("<f2", "False", "(2, 2)"), make([]byte, 8)),
		"in Fortran order":                       file(dict("<f4", "True", "(2, 2)"), four),
		"has rank 3":                             file(dict("<f4", "False", "(1, 2, 2)"), four),
		"want one or two sizes":                  file(dict("<f4", "False", "()"), four),
		"shape (, 2), want one or two":           file(dict("<f4", "False", "(, 2)"), four),
		"no element":                             file(dict("<f4", "False", "(0, 2)"), four),
		"does not fit the 16":                    file(dict("<f4", "False", "(2, 3)"), four),
		"shape (4611686018427387904, 4) of 4-by": file(dict("<f4", "False", "(4611686018427387904, 4)"), four),
	} {
		_, err := newReader(bytes.NewReader(data), int64(len(data)))
		assert.ErrorContains(t, err, want)
	}
	_, err := Open(t.TempDir())
	assert.ErrorContains(t, err, "not a regular file")
	path := filepath.Join(t.TempDir(), "x.npy")
	require.NoError(t, os.WriteFile(path, file(dict("<f4", "False", "(2, 2)"), four[:3]), 0o600))
	_, err = Open(path)
	assert.ErrorContains(t, err, path)
}

func FuzzReader(f *testing.F) {
	f.Add(file(dict("<f4", "False", "(2, 2)"), []float32{1, 2, 3, 4}))
	f.Add(file(dict(">f8", "False", "(2,)"), []float64{1, 2}))
	f.Add(file(dict("<f4", "False", "(4000000000, 4000000000)"), []float32{1}))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := newReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		assert.LessOrEqual(t, 4*r.Rows*r.Cols, len(data))
		n, err := Read(r, dense.New[float32](r.Rows, r.Cols))
		require.NoError(t, err)
		assert.Equal(t, r.Rows, n)
	})
}
