package quantise_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/quantise"
)

// Codes are searched in a mapped file that cannot be written.
//
//ci:portable
func TestMappedFile(t *testing.T) {
	x, query := random[float32](500, 96, 1), random[float32](1, 96, 2).Row(0)
	c := encode(t, x, quantise.Options{Bits: 4})
	path := filepath.Join(t.TempDir(), "codes")
	require.NoError(t, os.WriteFile(path, fileOf(t, c), 0o666))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	data, err := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(data)) }()
	mapped, err := quantise.View[float32](data)
	require.NoError(t, err)
	sameCodes(t, c, mapped, query, "mapped")
	require.NoError(t, mapped.Append(t.Context(), x))
	require.Equal(t, 1000, mapped.Len())
}

// Estimates of a page read no byte behind it: the next page of memory must not be read.
func TestGuardedBytes(t *testing.T) {
	size := os.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 2*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(memory)) }()
	require.NoError(t, syscall.Mprotect(memory[size:], syscall.PROT_NONE))
	for d := 4; d <= 1024; d = d*4/3 + 1 {
		for _, o := range options(1, 2, 4, 8) {
			x := random[float32](3, d, 1)
			q := newQuantiser[float32](t, d, o)
			rows := pageOf(t, q, x)
			n := min(3, 3*size/len(rows))
			page := memory[size-n*len(rows)/3 : size]
			copy(page, rows)
			require.NoError(t, q.EstimateBytes(make([]quantise.Estimate, n), q.Prepare(nil, x.Row(0), quantise.Cosine, 0), page))
		}
	}
}
