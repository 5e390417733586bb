package main

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/validate"
)

// summary is what the measurements say at m = d, a line for each estimator, and how far laws are
// from measurements at all m.
type summary struct {
	table           validate.Table
	measured, lawed int
	worst           float64 // the largest |z|
	at              string  // where it is
}

// summary returns the summary of the table of all measurements.
func (s *study) summary(t validate.Table) summary {
	first := s.projections[0].title
	sum := summary{measured: len(t.Rows), table: validate.Table{
		Title: fmt.Sprintf("Mean squared error with m = d = %d frequencies: %d pairs of norm %v, %d draws, seed %d\n", s.d, s.pairs, s.norm, s.draws, s.seed),
		Columns: []validate.Column{
			{Name: "kernel and map", Key: "estimator"}, {Name: first, Key: "mse", Format: "%.4g"}, {Name: "exact law", Key: "law", Format: "%.4g"},
		},
	}}
	for _, p := range s.projections[1:] {
		sum.table.Columns = append(sum.table.Columns, validate.Column{Name: p.title, Key: p.name, Format: "× %.3f"})
	}
	sum.table.Columns = append(sum.table.Columns, validate.Column{Name: "worst |z|", Key: "worst_z", Format: "%.1f"})
	at := make(map[string]int)
	for i, c := range t.Columns {
		at[c.Key] = i
	}
	lines := make(map[any]int)
	for _, row := range t.Rows {
		name := row[at["estimator"]]
		line, known := lines[name]
		if !known {
			line = len(sum.table.Rows)
			lines[name] = line
			sum.table.Rows = append(sum.table.Rows, append(make([]any, 0, len(sum.table.Columns)), name))
		}
		cells := sum.table.Rows[line]
		if row[at["m"]] == s.d {
			if row[at["frequencies"]] == first {
				cells = append(cells, row[at["mse"]], row[at["law"]])
			} else {
				cells = append(cells, row[at["ratio"]])
			}
		}
		sum.table.Rows[line] = cells
	}
	last := make([]float64, len(sum.table.Rows))
	for _, row := range t.Rows {
		z, ok := row[at["z"]].(float64)
		if !ok {
			continue
		}
		line := lines[row[at["estimator"]]]
		last[line] = math.Max(last[line], math.Abs(z))
		sum.lawed++
		if math.Abs(z) >= sum.worst {
			sum.worst, sum.at = math.Abs(z), fmt.Sprintf("%v, %v, m = %v", row[at["estimator"]], row[at["frequencies"]], row[at["m"]])
		}
	}
	for i, z := range last {
		sum.table.Rows[i] = append(sum.table.Rows[i], z)
	}
	return sum
}

// String returns the table and a line on the laws.
func (s summary) String() string {
	text := s.table.String()
	if len(s.table.Columns) > 4 {
		text += "\n×: the error over that of the first frequencies. "
	} else {
		text += "\n"
	}
	if s.lawed == 0 {
		return text + "No law is known.\n"
	}
	return text + fmt.Sprintf("%d of %d measurements have an exact law; the farthest\nfrom its law is %.1f standard errors off (%s).\n", s.lawed, s.measured, s.worst, s.at)
}
