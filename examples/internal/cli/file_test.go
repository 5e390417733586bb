package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// names returns what stands in a folder.
func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// A file that cannot be written whole leaves what was there, and nothing beside it.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	full := func(w io.Writer) error {
		_, err := w.Write(make([]byte, 1000))
		require.NoError(t, err)
		return errors.New("disk full")
	}
	assert.EqualError(t, Write(path, full), "disk full")
	assert.Empty(t, names(t, dir))
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	require.NoError(t, Write(path, text("long text")))
	require.NoError(t, Write(path, text("text")))
	assert.EqualError(t, Write(path, full), "disk full")
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "text", string(got))
	assert.Equal(t, []string{"a"}, names(t, dir))

	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, Write(link, text("through")))
	got, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "through", string(got))

	assert.ErrorContains(t, Write(filepath.Join(dir, "none", "a"), full), "none/a: no such file or directory")
	assert.ErrorContains(t, Write(dir, text("x")), dir)
	assert.ErrorContains(t, Write("/dev/full", text("x")), "/dev/full: no space left on device")
	require.NoError(t, Write(os.DevNull, text("x")))
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	assert.False(t, info.Mode().IsRegular())
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

// A signal ends a program with status 130, and removes the temporary folders.
func TestSignals(t *testing.T) {
	if dir := os.Getenv("CLI_TEST_FOLDER"); dir != "" {
		Main("program", func([]string, io.Writer) error {
			return Write(filepath.Join(dir, "file"), func(w io.Writer) error {
				for {
					if _, err := io.WriteString(w, "more"); err != nil {
						return err
					}
					time.Sleep(time.Millisecond)
				}
			})
		})
	}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		dir := t.TempDir()
		c := exec.Command(os.Args[0], "-test.run=^TestSignals$")
		c.Env = append(os.Environ(), "CLI_TEST_FOLDER="+dir)
		var stderr strings.Builder
		c.Stderr = &stderr
		require.NoError(t, c.Start())
		require.Eventually(t, func() bool {
			parts, err := filepath.Glob(filepath.Join(dir, ".file.*", "file"))
			return err == nil && len(parts) == 1
		}, 10*time.Second, 5*time.Millisecond)
		require.NoError(t, c.Process.Signal(s))
		assert.Error(t, c.Wait())
		assert.Equal(t, 130, c.ProcessState.ExitCode())
		assert.Equal(t, "program: "+s.String()+"\n", stderr.String())
		assert.Empty(t, names(t, dir))
	}
}
