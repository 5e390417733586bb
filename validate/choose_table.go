package validate

import "fmt"

// Table returns the ranking. It is ordered by the sum of the columns with the keys mse and margin.
// The margin is four standard errors if the error is measured, and empty if it comes from a law,
// which Trials names. Margins and times have a column only if there are any. The table of
// candidates of this module prints within 100 columns.
func (c Choice[T]) Table() Table {
	name := "MSE"
	if c.Relative {
		name = "relative MSE"
	}
	columns := []struct {
		Column
		cell func(r Trial[T]) any
	}{
		{Column{Name: "candidate", Key: "candidate"}, func(r Trial[T]) any { return r.Name }},
		{Column{Name: "m", Key: "m"}, func(r Trial[T]) any { return r.Frequencies }},
		{Column{Name: "features", Key: "features"}, func(r Trial[T]) any { return r.Features }},
		{Column{Name: name, Key: "mse", Format: "%.4g"}, func(r Trial[T]) any { return r.MSE }},
		{Column{Name: "±", Key: "margin", Format: "%.3g"}, func(r Trial[T]) any { return unlessZero(r.margin()) }},
		{Column{Name: "seconds", Key: "seconds", Format: "%.2g"}, func(r Trial[T]) any { return unlessZero(r.Time.Seconds()) }},
		{Column{Name: "by", Key: "by"}, func(r Trial[T]) any {
			if r.Law == "" {
				return "draws"
			}
			return "law"
		}},
	}
	t := Table{
		Title: fmt.Sprintf("%d candidates at %d pairs, best first", len(c.Trials), c.Pairs),
		Rows:  make([][]any, len(c.Trials)),
	}
	for _, column := range columns {
		cells, some := make([]any, len(c.Trials)), false
		for i, r := range c.Trials {
			cells[i] = column.cell(r)
			some = some || cells[i] != nil
		}
		if !some {
			continue
		}
		if column.Key == "margin" {
			t.Title += fmt.Sprintf(" by %s and ±, 4 standard errors", name)
		}
		t.Columns = append(t.Columns, column.Column)
		for i, cell := range cells {
			t.Rows[i] = append(t.Rows[i], cell)
		}
	}
	return t
}

// unlessZero returns v, or nil for 0.
func unlessZero(v float64) any {
	if v == 0 {
		return nil
	}
	return v
}
