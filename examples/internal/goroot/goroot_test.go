package goroot

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "src"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "src", "a.txt"), []byte("light"), 0o600))
	t.Setenv("GOROOT", root)
	data, ok := Read("src", "a.txt")
	assert.True(t, ok)
	assert.Equal(t, "light", string(data))
	t.Setenv("PATH", "")
	_, ok = Read("src", "b.txt")
	assert.False(t, ok)
	t.Setenv("GOROOT", "")
	_, ok = Read("src", "a.txt")
	assert.False(t, ok)
}
