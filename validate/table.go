package validate

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Table is a result in rows and columns, which Comparison.Table returns.
type Table struct {
	Title   string
	Columns []Column
	// Rows have a string, an int, a float64 or nil for each column.
	Rows [][]any
}

// Column describes a column.
type Column struct {
	// Name is the heading.
	Name string
	// Format is the verb of package fmt for the numbers of the column; "" means %v.
	Format string
}

// String returns the title and the table in aligned columns, with "—" for a nil element.
func (t Table) String() string {
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintln(&b, t.Title)
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, c := range t.Columns {
		fmt.Fprintf(w, "%s\t", c.Name)
	}
	fmt.Fprintln(w)
	for _, row := range t.Rows {
		for i, cell := range row {
			var c Column
			if i < len(t.Columns) {
				c = t.Columns[i]
			}
			fmt.Fprintf(w, "%s\t", c.print(cell))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
	return b.String()
}

func (c Column) print(cell any) string {
	switch v := cell.(type) {
	case nil:
		return "—"
	case string:
		return v
	}
	if c.Format == "" {
		return fmt.Sprint(cell)
	}
	return fmt.Sprintf(c.Format, cell)
}
