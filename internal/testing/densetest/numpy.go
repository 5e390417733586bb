package densetest

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// python returns the name of a Python that has NumPy, "" if there is none.
var python = sync.OnceValue(func() string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import numpy").Run() == nil {
			return name
		}
	}
	return ""
})

// NumPy runs a script of Python with the paths of a file, of the numbers x, and of the numbers that
// it writes, which NumPy returns. A test ends here, skipped, without Python's NumPy.
func NumPy(t *testing.T, script string, file []byte, x []float64) []float64 {
	t.Helper()
	if python() == "" {
		t.Skip("no Python with NumPy")
	}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	var raw bytes.Buffer
	require.NoError(t, binary.Write(&raw, binary.LittleEndian, x))
	require.NoError(t, os.WriteFile(path("file"), file, 0o666))
	require.NoError(t, os.WriteFile(path("x"), raw.Bytes(), 0o666))
	out, err := exec.Command(python(), script, path("file"), path("x"), path("y")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	result, err := os.ReadFile(path("y"))
	require.NoError(t, err)
	y := make([]float64, len(result)/8)
	require.NoError(t, binary.Read(bytes.NewReader(result), binary.LittleEndian, y))
	return y
}
