// Package table prints tables in aligned columns.
package table

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

type Listing struct {
	left int        // the number of columns with left alignment
	rows [][]string // the names, a rule without its dashes, and the rows
}

// New returns a table without rows whose columns have the given names. The first left columns have
// left alignment; the other columns, for numbers, have right alignment.
func New(left int, names ...string) *Listing {
	return &Listing{left, [][]string{names, make([]string, len(names))}}
}

// Row appends a row with a cell for each column, or a blank line without cells.
func (t *Listing) Row(cells ...string) { t.rows = append(t.rows, cells) }

// A rune counts as one column of text.
func (t *Listing) Fprint(w io.Writer) error {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for j, cell := range row {
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for i, row := range t.rows {
		line := ""
		for j, cell := range row {
			width := widths[j]
			if i == 1 {
				cell = strings.Repeat("-", width)
			}
			if j < t.left {
				width = -width
			}
			line += fmt.Sprintf("%*s  ", width, cell)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
