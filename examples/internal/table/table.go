// Package table prints tables in aligned columns.
package table

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Table is a table with the names of its columns and rows of cells.
type Table struct {
	left int        // the number of columns with left alignment
	head []string   // the names of the columns
	rows [][]string // nil stands for a blank line
}

// New returns a table without rows whose columns have the given names. The first left columns have
// left alignment; the other columns, for numbers, have right alignment.
func New(left int, names ...string) *Table { return &Table{left: left, head: names} }

// Row appends a row. It panics unless the row has a cell for each column.
func (t *Table) Row(cells ...string) {
	if len(cells) != len(t.head) {
		panic(fmt.Sprintf("table: %d cells in a table of %d columns", len(cells), len(t.head)))
	}
	t.rows = append(t.rows, slices.Clone(cells))
}

// Gap appends a blank line, unless the table ends with one or is empty.
func (t *Table) Gap() {
	if n := len(t.rows); n > 0 && t.rows[n-1] != nil {
		t.rows = append(t.rows, nil)
	}
}

// Fprint writes the names of the columns, a rule and the rows, with two spaces between columns and
// no space at the end of a line. A rune counts as one column of text.
func (t *Table) Fprint(w io.Writer) error {
	widths, rules := make([]int, len(t.head)), make([]string, len(t.head))
	for j, name := range t.head {
		widths[j] = utf8.RuneCountInString(name)
		for _, row := range t.rows {
			if row != nil {
				widths[j] = max(widths[j], utf8.RuneCountInString(row[j]))
			}
		}
		rules[j] = strings.Repeat("-", widths[j])
	}
	var b strings.Builder
	t.line(&b, t.head, widths)
	t.line(&b, rules, widths)
	for _, row := range t.rows {
		t.line(&b, row, widths)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// line appends a line with the cells, or a blank line for nil.
func (t *Table) line(b *strings.Builder, cells []string, widths []int) {
	var line strings.Builder
	for j, cell := range cells {
		width := widths[j]
		if j < t.left {
			width = -width
		}
		fmt.Fprintf(&line, "%*s  ", width, cell)
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}
