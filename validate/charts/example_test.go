package charts_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

// A figure of measured errors of a map with error bars, and of the law as a line.
func Example() {
	src := rand.NewPCG(1, 2)
	x, y := []float64{0.5, 0}, []float64{0, 0.5}
	series := charts.Series{Name: "Gaussian"}
	for _, m := range []int{4, 16, 64} {
		draw := func(src rand.Source) (rff.Map[float64], error) {
			w, err := orf.Draw[float64](orf.IID{}, m, 2, src)
			if err != nil {
				return nil, err
			}
			return rff.Draw(rff.Gaussian{LengthScale: 1}, w)
		}
		measured, err := validate.Measure(context.Background(), draw, dense.Of(1, 2, x), dense.Of(1, 2, y), 1000, src)
		if err != nil {
			log.Fatal(err)
		}
		phi, err := draw(src)
		if err != nil {
			log.Fatal(err)
		}
		series.Points = append(series.Points, charts.Point{X: float64(m), Y: measured.MSE, Err: measured.MSEStdErr})
		series.Line = append(series.Line, charts.Point{X: float64(m), Y: validate.Theory(phi, nil, x, y).MSE})
	}
	f := charts.Figure{
		Title: "Mean squared error", XLabel: "frequencies", YLabel: "error", LogX: true, LogY: true,
		Panels: []charts.Panel{{Series: []charts.Series{series}}},
	}
	dir, err := os.MkdirTemp("", "charts")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	fmt.Println(f.Save(filepath.Join(dir, "errors.svg")))
	for i, p := range series.Points {
		fmt.Printf("%2.0f frequencies: %.4f, by theory %.4f\n", p.X, p.Y, series.Line[i].Y)
	}
	// Output:
	// <nil>
	//  4 frequencies: 0.0196, by theory 0.0194
	// 16 frequencies: 0.0049, by theory 0.0048
	// 64 frequencies: 0.0012, by theory 0.0012
}
