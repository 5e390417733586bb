package main

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/validate"
)

// summary says what the table of all measurements has at m = d, a line for each estimator, and how
// far laws are from measurements at all m.
func (s *study) summary(t validate.Table) string {
	first := s.projections[0].title
	sum := validate.Table{
		Title: fmt.Sprintf("Mean squared error with m = d = %d frequencies: %d pairs of norm %v, %d draws, seed %d\n", s.d, s.pairs, s.norm, s.draws, s.seed),
		Columns: []validate.Column{
			{Name: "kernel and map", Key: "estimator"}, {Name: first, Key: "mse", Format: "%.4g"}, {Name: "exact law", Key: "law", Format: "%.4g"},
		},
	}
	for _, p := range s.projections[1:] {
		sum.Columns = append(sum.Columns, validate.Column{Name: p.title, Key: p.name, Format: "× %.3f"})
	}
	sum.Columns = append(sum.Columns, validate.Column{Name: "worst |z|", Key: "worst_z", Format: "%.1f"})
	at := make(map[string]int)
	for i, c := range t.Columns {
		at[c.Key] = i
	}
	lawed, worst, where := 0, 0.0, ""
	each := len(t.Rows) / len(s.estimators)
	for from := 0; from < len(t.Rows); from += each {
		line, farthest := []any{t.Rows[from][at["estimator"]]}, 0.0
		for _, row := range t.Rows[from : from+each] {
			switch {
			case row[at["m"]] != s.d:
			case row[at["frequencies"]] == first:
				line = append(line, row[at["mse"]], row[at["law"]])
			default:
				line = append(line, row[at["ratio"]])
			}
			z, ok := row[at["z"]].(float64)
			if !ok {
				continue
			}
			lawed++
			farthest = max(farthest, math.Abs(z))
			if math.Abs(z) >= worst {
				worst, where = math.Abs(z), fmt.Sprintf("%v, %v, m = %v", line[0], row[at["frequencies"]], row[at["m"]])
			}
		}
		sum.Rows = append(sum.Rows, append(line, farthest))
	}
	text := sum.String() + "\n"
	if len(s.projections) > 1 {
		text += "×: the error over that of the first frequencies. "
	}
	if lawed == 0 {
		return text + "No law is known.\n"
	}
	return text + fmt.Sprintf("%d of %d measurements have an exact law; the farthest\nfrom its law is %.1f standard errors off (%s).\n", lawed, len(t.Rows), worst, where)
}
