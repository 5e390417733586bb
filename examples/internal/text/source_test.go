package text

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat"
)

func TestDefaultFollowsGOROOT(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "src", "testdata", "Isaac.Newton-Opticks.txt")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("All Colours are homogeneal."), 0o600))
	t.Setenv("GOROOT", root)
	assert.Equal(t, "All Colours are homogeneal.", Default().Text)
}

func TestDefaultFallsBackOnREADME(t *testing.T) {
	t.Setenv("GOROOT", t.TempDir())
	t.Setenv("PATH", "")
	got := Default()
	for _, path := range []string{"README.md", "docs/maps.md"} {
		page, err := randfeat.Pages.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, got.Text, string(page))
	}
	assert.Contains(t, got.Name, "README")
	assert.Greater(t, len(Words(got.Text)), 2000, "enough for the examples")
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
