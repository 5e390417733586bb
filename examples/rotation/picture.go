package main

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/validate/charts"
)

// picture draws the errors against d, over all channels and over those that are no outliers.
func (s settings) picture(rows []result) charts.Figure {
	panel := func(title string, of func(r relative) float64) charts.Panel {
		p := charts.Panel{Title: title}
		for _, bits := range widths {
			without := charts.Series{Name: fmt.Sprintf("%d bits", bits)}
			with := charts.Series{Name: fmt.Sprintf("%d bits, rotated", bits)}
			for _, r := range rows {
				if r.bits == bits {
					without.Points = append(without.Points, charts.Point{X: float64(r.d), Y: of(r.unrotated)})
					with.Points = append(with.Points, charts.Point{X: float64(r.d), Y: of(r.rotated)})
				}
			}
			p.Series = append(p.Series, without, with)
		}
		return p
	}
	return charts.Figure{
		Title:  fmt.Sprintf("Rounding of vectors with %d channels %g times as large as the others", s.outliers, s.factor),
		XLabel: "dimension d", YLabel: "relative error",
		LogX: true, LogY: true, XTicks: []float64{256, 512, 768, 1024, 1536},
		Panels: []charts.Panel{
			panel("all channels", func(r relative) float64 { return r.all }),
			panel("all but the large ones", func(r relative) float64 { return r.other }),
		},
	}
}
