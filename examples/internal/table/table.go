// Package table prints tables in aligned columns.
package table

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Table is a head and rows of cells. Build it with New.
type Table struct {
	left int        // the number of columns that are aligned on the left
	head []string   // the names of the columns
	rows [][]string // nil stands for a blank line
}

// New returns a table without rows whose columns have the given names. The first left columns are
// aligned on the left, and the others, for numbers, on the right.
func New(left int, names ...string) *Table { return &Table{left: left, head: names} }

// Row appends a row. It panics unless it has one cell a column.
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

// Fprint writes the table: the head, a rule, the rows, two spaces between columns, no space at the
// end of a line. Width is counted in runes.
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

// line appends the cells of one line, or a blank line for none.
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
