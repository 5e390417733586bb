package goroot

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTexts(t *testing.T) {
	root := t.TempDir()
	file := func(name, text string) {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	page := strings.Repeat("light ", 50)
	file("src/a/testdata/a.go", page)
	file("src/a/a.s", page)
	file("src/a/short.go", "package a")
	file("src/a/long.go", strings.Repeat(page, 1000))
	file("src/a/latin.go", strings.Repeat("\xff", 300))
	file("lib/a.go", page)
	file("doc/page.html", page)
	for i := range 400 {
		file(fmt.Sprintf("src/a/%d.go", i), page)
		file(fmt.Sprintf("src/b/%d.go", i), page)
	}
	t.Setenv("GOROOT", root)
	texts, err := Texts()
	require.NoError(t, err)
	assert.Len(t, texts, 801)
	held := make(map[string]bool)
	out := 0
	mixed := 0
	for i, text := range texts {
		assert.Equal(t, page, text.Text)
		base := text.Path[strings.LastIndex(text.Path, "/"):]
		before, twice := held[base]
		assert.True(t, !twice || before == text.HeldOut, "%s is held out with its namesake", text.Path)
		held[base] = text.HeldOut
		if text.HeldOut {
			out++
		}
		if i > 0 && strings.HasPrefix(text.Path, "src/a") != strings.HasPrefix(texts[i-1].Path, "src/a") {
			mixed++
		}
	}
	// 400 names are held out with probability 1/40 each: 10 ± 3, and two files for each.
	assert.InDelta(t, 20, out, 2*4.5*3)
	// Neighbours differ in every second place: 400 ± 14.
	assert.InDelta(t, 400, mixed, 4.5*15)

	t.Setenv("GOROOT", filepath.Join(root, "lib"))
	texts, err = Texts()
	require.NoError(t, err)
	assert.Empty(t, texts)
	t.Setenv("GOROOT", "")
	t.Setenv("PATH", "")
	_, err = Texts()
	assert.ErrorContains(t, err, "there is no Go distribution")
}
