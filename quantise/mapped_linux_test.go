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
	x, query := random[float32](2000, 96, 1), random[float32](1, 96, 2).Row(0)
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
	require.Equal(t, 4000, mapped.Len())
}

// Estimates of a page read no byte behind it: the next page of memory must not be read.
func TestGuardedBytes(t *testing.T) {
	size := os.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 2*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(memory)) }()
	require.NoError(t, syscall.Mprotect(memory[size:], syscall.PROT_NONE))
	for d := 4; d <= 1024; d = d*5/4 + 1 {
		for _, o := range lawOptions(1, 2, 4, 8) {
			x := random[float32](3, d, 1)
			q := encode(t, x, o).Quantiser()
			n := min(3, size/q.RowBytes())
			page := memory[size-n*q.RowBytes() : size]
			require.NoError(t, q.EncodeBytes(page, x.RowRange(0, n)))
			require.NoError(t, q.EstimateBytes(make([]quantise.Estimate, n), q.Prepare(nil, x.Row(0), quantise.Cosine, 0), page))
		}
	}
}
