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
