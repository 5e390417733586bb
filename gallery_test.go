package randfeat_test

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

// TestGalleryFiles: docs/gallery.md shows a picture of each example that draws one, and the folder
// has these pictures and their numbers, and no more than a clone should have to take along.
func TestGalleryFiles(t *testing.T) {
	page, err := os.ReadFile("docs/gallery.md")
	require.NoError(t, err)
	tests, err := filepath.Glob("examples/*/gallery_test.go")
	require.NoError(t, err)
	want, got := []string{"heads.csv", "heads.png"}, []string(nil) // of docs/heads.md
	for _, path := range tests {
		name := filepath.Base(filepath.Dir(path))
		assert.Contains(t, string(page), "](gallery/"+name+".png)")
		want = append(want, name+".csv", name+".png")
	}
	files, err := os.ReadDir("docs/gallery")
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

// TestGalleryCaption: the README says what its picture shows.
func TestGalleryCaption(t *testing.T) {
	f, err := os.Open("docs/gallery/attention.csv")
	require.NoError(t, err)
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	// The second point of a line is that of the size 256 of 64, 256 and 1024.
	type shown struct{ exact, wrong, blocks, off float64 }
	panels, points := make(map[string]*shown), make(map[string]int)
	for _, line := range lines[1:] {
		p := panels[line[0]]
		if p == nil {
			p = new(shown)
			panels[line[0]] = p
		}
		var x, y float64
		_, err := fmt.Sscan(line[2]+" "+line[3], &x, &y)
		require.NoError(t, err)
		points[line[0]+line[1]]++
		switch second := points[line[0]+line[1]] == 2; {
		case line[1] == "exact attention, line":
			p.exact = x
		case second && line[1] == "FAVOR+":
			p.wrong = 100 * y
		case second && line[1] == "blocks":
			p.blocks, p.off = x, 100*y
		}
	}
	short, long := panels["2048 tokens"], panels["8192 tokens"]
	require.NotNil(t, short)
	require.NotNil(t, long)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	assert.Contains(t, strings.Join(strings.Fields(string(readme)), " "), fmt.Sprintf("Over 2048 tokens exact attention takes %.0f ms, and [blocks of keys](docs/attention.md#blocks-of-keys) with the threshold 0.04 are %.0f %% off after %.0f ms. "+
		"Over 8192 tokens exact attention takes %.0f ms, these blocks are %.0f %% off after %.0f ms, and 256 positive features (FAVOR+) fail: they are %.0f %% off.",
		short.exact, short.off, short.blocks, long.exact, long.off, long.blocks, long.wrong))
}
