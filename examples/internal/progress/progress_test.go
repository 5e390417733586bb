package progress

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSilentUnlessTerminal(t *testing.T) {
	var b bytes.Buffer
	bar := New(&b, 2, "working")
	bar.Step()
	bar.Close()
	assert.Empty(t, b.String())

	path := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(path)
	require.NoError(t, err)
	bar = New(f, 2, "working")
	bar.Step()
	bar.Close()
	require.NoError(t, f.Close())
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Empty(t, got)
}
