package validate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Table is a result in rows and columns. Measurement and Comparison have a Table.
type Table struct {
	Title   string
	Columns []Column
	// Each row has a cell for each column: a string, an int, a float64, or nil for no value.
	Rows [][]any
}

// Column describes a column.
type Column struct {
	// Name is the heading in print. Key is the heading in files, in lower case without spaces.
	Name, Key string
	// Format is the format of package fmt for numbers. "" means %v.
	Format string
}

// String returns the title and the table in aligned columns, with "—" for no value.
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
	// Writing to a strings.Builder cannot fail.
	_ = w.Flush()
	return b.String()
}

// print returns a cell as String prints it.
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

// WriteCSV writes the table as comma-separated values [RFC 4180]: the keys of the columns, then the
// rows, with all digits of numbers and an empty field for no value. WriteCSV returns an error if a
// row does not have a cell for each column, and the error of w.
func (t Table) WriteCSV(w io.Writer) error {
	if err := t.check(); err != nil {
		return err
	}
	if w == nil {
		return errors.New("validate: w is nil, want a writer")
	}
	out := csv.NewWriter(w)
	record := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		record[i] = c.Key
	}
	// Error returns the first error of the writer.
	_ = out.Write(record)
	for _, row := range t.Rows {
		for i, cell := range row {
			record[i] = digits(cell)
		}
		_ = out.Write(record)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("validate: %w", err)
	}
	return nil
}

// digits returns a cell as WriteCSV writes it.
func digits(cell any) string {
	switch v := cell.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(cell)
}

// check returns an error unless every row has a cell for each column.
func (t Table) check() error {
	for i, row := range t.Rows {
		if len(row) != len(t.Columns) {
			return fmt.Errorf("validate: row %d has length %d, want a cell for each of %d columns", i, len(row), len(t.Columns))
		}
	}
	return nil
}
