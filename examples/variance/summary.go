package main

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/validate"
)

// summary returns a line for each estimator with the errors at m = d, and how far laws are from
// measurements at all m.
func (s *study) summary(rows []measurement) string {
	first := s.projections[0].title
	sum := validate.Table{
		Title: fmt.Sprintf("Mean squared error with m = d = %d frequencies: %d pairs of norm %v, %d draws, seed %d\n", s.d, s.pairs, s.norm, s.draws, s.seed),
		Columns: []validate.Column{
			{Name: "kernel and map"}, {Name: first, Format: "%.4g"}, {Name: "exact law", Format: "%.4g"},
		},
	}
	for _, p := range s.projections[1:] {
		sum.Columns = append(sum.Columns, validate.Column{Name: p.title, Format: "× %.3f"})
	}
	sum.Columns = append(sum.Columns, validate.Column{Name: "worst |z|", Format: "%.1f"})
	lawed, worst, where := 0, 0.0, ""
	for group := range s.each(rows) {
		line, farthest := []any{group[0].title}, 0.0
		for _, r := range group {
			switch {
			case r.m != s.d:
			case r.Name == first:
				line = append(line, known(r.MSE), known(r.law))
			default:
				line = append(line, known(r.Ratio))
			}
			z := math.Abs(r.z())
			if math.IsNaN(z) {
				continue
			}
			lawed++
			farthest = max(farthest, z)
			if z >= worst {
				worst, where = z, fmt.Sprintf("%s, %s, m = %d", r.title, r.Name, r.m)
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
	return text + fmt.Sprintf("%d of %d measurements have an exact law; the farthest\nfrom its law is %.1f standard errors off (%s).\n", lawed, len(rows), worst, where)
}

// known returns v, or no value for NaN.
func known(v float64) any {
	if math.IsNaN(v) {
		return nil
	}
	return v
}
