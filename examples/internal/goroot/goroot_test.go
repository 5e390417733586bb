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

func TestHeldOut(t *testing.T) {
	root := t.TempDir()
	file := func(name, text string) {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	page := strings.Repeat("light ", 50)
	var name string // of a file that is held out
	for i := range 16000 {
		base := fmt.Sprintf("%d.go", i)
		if hash(base)%40 != 0 {
			continue
		}
		name = base
		file("src/a/"+base, base+" src/a "+page)
		file("src/b/"+base, base+" src/b "+page)
		file("src/a/testdata/"+base, page)
		file("lib/"+base, page)
	}
	file("src/c/"+name, "package a")
	file("src/d/"+name, strings.Repeat(page, 1000))
	file("src/e/"+name, strings.Repeat("\xff", 300))
	t.Setenv("GOROOT", root)
	texts, err := HeldOut()
	require.NoError(t, err)
	// 16000 names are held out with probability 1/40 each: 400 ± 20, and two files for each.
	assert.InDelta(t, 800, len(texts), 2*4.5*20)
	folders := make(map[string]int)
	mixed := 0
	for i, text := range texts {
		folders[strings.Fields(text)[0]]++
		if i > 0 && strings.Fields(text)[1] != strings.Fields(texts[i-1])[1] {
			mixed++
		}
	}
	for base, n := range folders {
		assert.Equal(t, 2, n, "%s is held out in both folders", base)
	}
	// Neighbours differ in every second place: 400 ± 14.
	assert.InDelta(t, float64(len(texts))/2, mixed, 4.5*15)

	t.Setenv("GOROOT", filepath.Join(root, "lib"))
	texts, err = HeldOut()
	require.NoError(t, err)
	assert.Empty(t, texts)
	t.Setenv("GOROOT", "")
	t.Setenv("PATH", "")
	_, err = HeldOut()
	assert.ErrorContains(t, err, "there is no Go distribution")
}
