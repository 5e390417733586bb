package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

// TestGallery draws the table of docs/regression.md, whose cells have an error and seconds. Names
// of rows are a size and a series.
func TestGallery(t *testing.T) {
	page, err := os.ReadFile("../../docs/regression.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "| errors and seconds |")
	require.True(t, found)
	cells := regexp.MustCompile("[^| ][^|]*[^| ]")
	f := charts.Figure{XLabel: "seconds of processor time, one thread", YLabel: "error", LogX: true, OwnY: true, Columns: 2}
	lines := strings.Split(text[:strings.Index(text, "\n\n")], "\n")
	for _, name := range cells.FindAllString(lines[0], -1) {
		f.Panels = append(f.Panels, charts.Panel{Title: name})
	}
	for _, line := range lines[2:] {
		row := cells.FindAllString(line, -1)
		_, name, _ := strings.Cut(row[0], " ")
		for j, cell := range row[1:] {
			all := &f.Panels[j].Series
			if len(*all) == 0 || (*all)[len(*all)-1].Name != name {
				*all = append(*all, charts.Series{Name: name})
			}
			s, p := &(*all)[len(*all)-1], charts.Point{}
			if n, _ := fmt.Sscanf(cell, "%f in %f", &p.Y, &p.X); n == 2 {
				s.Points = append(s.Points, p)
			}
		}
	}
	gallery.Check(t, gallery.Of("exact", f))
}
