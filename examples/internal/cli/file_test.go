package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A file keeps its content if the new content cannot be computed.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	fails := func(w io.Writer) error {
		_, err := w.Write(make([]byte, 1000))
		require.NoError(t, err)
		return errors.New("overflow")
	}
	assert.EqualError(t, Write(path, fails), "overflow")
	assert.NoFileExists(t, path)
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	require.NoError(t, Write(path, text("long text")))
	require.NoError(t, Write(path, text("text")))
	assert.EqualError(t, Write(path, fails), "overflow")
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "text", string(got))
	assert.ErrorContains(t, Write(filepath.Join(dir, "none", "a"), text("x")), "none/a: no such file or directory")
	assert.ErrorContains(t, Write(dir, text("x")), dir)
}

func TestSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.png")
	var out bytes.Buffer
	save := func(path string) error { return os.WriteFile(path, nil, 0o600) }
	require.NoError(t, Save(&out, "picture", "", save))
	assert.Empty(t, out.String())
	require.NoError(t, Save(&out, "picture", path, save))
	assert.Equal(t, "\nThe picture is in "+path+"\n", out.String())
	err := Save(&out, "picture", path, func(part string) error { return errors.New(part + ": full") })
	assert.EqualError(t, err, path+": full", "the path that the user knows")
}
