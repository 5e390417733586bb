package text

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDefaultFollowsGOROOT(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "src", "testdata", "Isaac.Newton-Opticks.txt")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("All Colours are homogeneal."), 0o600))
	t.Setenv("GOROOT", root)
	s, err := Read("")
	require.NoError(t, err)
	assert.Equal(t, "All Colours are homogeneal.", s.Text)
}

func TestDefaultFallsBackOnREADME(t *testing.T) {
	t.Setenv("GOROOT", t.TempDir())
	t.Setenv("PATH", "")
	got, err := Read("")
	require.NoError(t, err)
	for _, path := range []string{"README.md", "docs/maps.md"} {
		page, err := os.ReadFile(filepath.Join("..", "..", "..", path))
		require.NoError(t, err)
		assert.Contains(t, got.Text, string(page))
	}
	assert.Contains(t, got.Name, "README")
	assert.Greater(t, len(Words(got.Text)), 2000, "enough for the examples")

	t.Chdir(t.TempDir())
	_, err = Read("")
	assert.ErrorContains(t, err, "neither Newton's Opticks in the Go distribution nor a module's pages: ")
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	_, err := Read(path)
	assert.ErrorContains(t, err, "a.txt")
	require.NoError(t, os.WriteFile(path, []byte{'a', 0xff}, 0o600))
	_, err = Read(path)
	assert.EqualError(t, err, path+": not UTF-8 text")
	require.NoError(t, os.WriteFile(path, []byte("light"), 0o600))
	s, err := Read(path)
	require.NoError(t, err)
	assert.Equal(t, Source{Title: "a.txt", Name: path, Text: "light"}, s)
}
