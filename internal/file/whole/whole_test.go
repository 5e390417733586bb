package whole

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// holds checks what a folder holds: one file with a text.
func holds(t *testing.T, dir, name, want string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	got, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	assert.Equal(t, want, string(got))
}

// An error after half of a file leaves the old file, or none.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	broken := errors.New("broken")
	half := func(w io.Writer) error { return errors.Join(text("half")(w), broken) }
	err := Write(path, half)
	assert.ErrorIs(t, err, broken)
	assert.EqualError(t, err, path+": broken")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)

	require.NoError(t, Write(path, text("a long text")))
	require.NoError(t, Write(path, text("text")))
	holds(t, dir, "a", "text")
	require.NoError(t, os.Chmod(path, 0o604))
	assert.ErrorIs(t, Write(path, half), broken)
	holds(t, dir, "a", "text")
	require.NoError(t, Write(path, text("new")))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o604), info.Mode())
}

func TestWriteThroughALink(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(other, "link")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, Write(link, text("text")))
	holds(t, dir, "a", "text")
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.Equal(t, fs.ModeSymlink, info.Mode().Type())
}

// Devices stay what they are.
func TestWriteInPlace(t *testing.T) {
	require.NoError(t, Write(os.DevNull, text("text")))
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	assert.False(t, info.Mode().IsRegular())
	if _, err := os.Stat("/dev/full"); err == nil {
		assert.EqualError(t, Write("/dev/full", text("text")), "/dev/full: no space left on device")
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	err := Write(filepath.Join(dir, "none", "a"), text(""))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.Contains(t, err.Error(), filepath.Join(dir, "none", "a")+": ")
	assert.ErrorContains(t, Write(dir, text("")), dir+": ")
}
