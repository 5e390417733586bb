package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// root is the root of the module.
var root = filepath.Join("..", "..")

// TestPage: the page that is committed is the one that the examples make today, and each passage is
// short.
func TestPage(t *testing.T) {
	want, err := page(root)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(root, "docs", "gallery.md"))
	require.NoError(t, err)
	assert.Equal(t, want, string(got), "go run ./tools/gallery -text writes the page again")
	for _, e := range entries {
		code, err := e.code.read(filepath.Join(root, "examples", e.name))
		require.NoError(t, err)
		assert.LessOrEqual(t, strings.Count(code, "\n"), 16, e.name)
	}
}

// TestFiles: the folder has the pictures of the page and their numbers, and no more than a clone
// should have to take along.
func TestFiles(t *testing.T) {
	var want, got []string
	for _, e := range entries {
		want = append(want, e.name+".csv", e.name+".png")
	}
	files, err := os.ReadDir(filepath.Join(root, "docs", "gallery"))
	require.NoError(t, err)
	var size int64
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		size += info.Size()
		got = append(got, f.Name())
	}
	assert.ElementsMatch(t, want, got)
	assert.Less(t, size, int64(1_500_000))
}

// TestEveryExample: an example with a program of its own has a place on the page.
func TestEveryExample(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(root, "examples", "*", "gallery_test.go"))
	require.NoError(t, err)
	var want, got []string
	for _, f := range folders {
		want = append(want, filepath.Base(filepath.Dir(f)))
	}
	for _, e := range entries {
		got = append(got, e.name)
	}
	assert.ElementsMatch(t, want, got)
}

func TestCut(t *testing.T) {
	code, err := cut("func f() {\n\ta()\n\tif b {\n\t\tc()\n\t}\n}\n", "if b", "c()")
	require.NoError(t, err)
	assert.Equal(t, "if b {\n\tc()\n", code)
	_, err = cut("a\nb\n", "a", "c")
	assert.Error(t, err)
	_, err = cut("a\nb\n", "c", "b")
	assert.Error(t, err)
	_, err = passage{"none.go", "f", "a", "b"}.read(".")
	assert.Error(t, err)
	_, err = passage{"main.go", "f", "a", "b"}.read(".")
	assert.ErrorContains(t, err, "no function f")
}

// TestCaption: the README says what its picture shows.
func TestCaption(t *testing.T) {
	f, err := os.Open(filepath.Join(root, "docs", "gallery", "attention.csv"))
	require.NoError(t, err)
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	// The second point of a line is that of 256 landmarks or clusters, of the sizes 64, 256 and
	// 1024.
	type shown struct{ exact, landmarks, wrong, clusters, off float64 }
	panels, points := make(map[string]*shown), make(map[string]int)
	for _, line := range lines[1:] {
		p := panels[line[0]]
		if p == nil {
			p = new(shown)
			panels[line[0]] = p
		}
		var x, y float64
		if line[1] == "landmarks" || line[1] == "clusters" || line[1] == "exact attention, line" {
			_, err := fmt.Sscan(line[2], &x)
			require.NoError(t, err)
			_, err = fmt.Sscan(line[3], &y)
			require.NoError(t, err)
		}
		points[line[0]+line[1]]++
		switch second := points[line[0]+line[1]] == 2; {
		case line[1] == "exact attention, line":
			p.exact = x
		case second && line[1] == "landmarks":
			p.landmarks, p.wrong = x, 100*y
		case second && line[1] == "clusters":
			p.clusters, p.off = x, 100*y
		}
	}
	words, heads := panels["Newton's Opticks"], panels["heads of a trained transformer"]
	require.NotNil(t, words)
	require.NotNil(t, heads)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	text := strings.Join(strings.Fields(string(readme)), " ")
	assert.Contains(t, text, fmt.Sprintf("exact attention takes %.0f ms, and 256 landmarks are %.0f %% off after %.0f ms.", words.exact, words.wrong, words.landmarks))
	assert.Contains(t, text, fmt.Sprintf("exact attention takes %.0f ms, 256 landmarks are %.0f %% off, and 256 clusters of keys %.0f %% after %.0f ms.",
		heads.exact, heads.wrong, heads.off, heads.clusters))
}
