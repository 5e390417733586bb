package npy_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/npy"
)

// testdata/arrays.npz is of NumPy 2.4.6:
//
//	np.savez_compressed("arrays.npz", q=np.arange(6, dtype=np.float16).reshape(2, 3),
//	    columns=np.asfortranarray(np.arange(6, dtype=">i4").reshape(3, 2)),
//	    many=np.zeros(100000, np.float32), kind=np.array([True, False]))
const arrays = "testdata/arrays.npz"

func TestReadZip(t *testing.T) {
	q, shape, err := npy.ReadZip[float32](arrays, "q")
	require.NoError(t, err)
	assert.Equal(t, []int{2, 3}, shape)
	assert.Equal(t, []float32{0, 1, 2, 3, 4, 5}, q)
	columns, shape, err := npy.ReadZip[float64](arrays, "columns")
	require.NoError(t, err)
	assert.Equal(t, []int{3, 2}, shape)
	assert.Equal(t, []float64{0, 1, 2, 3, 4, 5}, columns, "C order")
	many, _, err := npy.ReadZip[float32](arrays, "many")
	require.NoError(t, err)
	assert.Equal(t, make([]float32, 100000), many)
	kind, _, err := npy.ReadZip[bool](arrays, "kind")
	require.NoError(t, err)
	assert.Equal(t, []bool{true, false}, kind)

	_, _, err = npy.ReadZip[bool](arrays, "q")
	assert.ErrorContains(t, err, "npy: testdata/arrays.npz(q): elements are float16, want booleans")
	_, _, err = npy.ReadZip[float32](arrays, "x")
	assert.ErrorContains(t, err, `npy: testdata/arrays.npz: there is no array "x", but ["q" "columns" "many" "kind"]`)
	_, _, err = npy.ReadZip[float32]("testdata/none.npz", "x")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, _, err = npy.ReadZip[float32]("testdata/headers.jsonl", "x")
	assert.ErrorIs(t, err, zip.ErrFormat)
}

// An array that Write has written is read again. A changed element is an error, and so is a text.
func TestWrittenZip(t *testing.T) {
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for _, first := range []float64{7, 1.5} { // NumPy reads the last array of a name
		w, err := z.CreateHeader(&zip.FileHeader{Name: "x.npy", Method: zip.Store})
		require.NoError(t, err)
		require.NoError(t, npy.Write(w, []float64{first, -2.5}, 2))
	}
	w, err := z.Create("text.npy")
	require.NoError(t, err)
	_, err = w.Write([]byte("text"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	path := filepath.Join(t.TempDir(), "x.npz")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
	x, shape, err := npy.ReadZip[float64](path, "x")
	require.NoError(t, err)
	assert.Equal(t, []int{2}, shape)
	assert.Equal(t, []float64{1.5, -2.5}, x)
	_, _, err = npy.ReadZip[float64](path, "text")
	assert.ErrorContains(t, err, "x.npz(text): not a NumPy file")
	damaged := bytes.Replace(file.Bytes(), []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x40}, 1)
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
	_, _, err = npy.ReadZip[float64](path, "x")
	assert.ErrorIs(t, err, zip.ErrChecksum)
}
