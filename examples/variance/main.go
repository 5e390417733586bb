// Command variance measures what random features of a kernel err by: kernels, maps, frequencies and
// numbers of them, each beside its exact law where there is one.
//
//	go run ./examples/variance
//	go run ./examples/variance -kernel softmax -map positive,optimal -d 64
//
// It prints a line for each map at m = d and draws all of them in one picture: the error against
// the number of frequencies m = d/2, d, 2d, 4d. The same flags give the same numbers.
package main

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

func main() { cli.Main("variance", run) }

const about = `Measures the mean squared error of random features of kernels over independent
frequencies (iid) and over others: orthogonal ones (Gram–Schmidt, products of Hadamard
factors, of Givens rotations), simplex, and quasi-Monte-Carlo points (Halton),
for m = d/2, d, 2d, 4d frequencies. -kernel, -map and -projection take lists
separated by commas and narrow what is measured.

It prints a line for each map: the error with m = d frequencies of the first kind, its
exact law, the error of other frequencies over that of the first, and the largest distance
of a measurement from its law in standard errors, of all m and frequencies.

Squared errors of exponential features have heavy tails: they come out below their law more often than
above it unless draws are many. The picture has a panel for each map: errors ± 2 standard errors as
points, laws as lines.`

// options are the flags.
type options struct {
	kernel, features, projection string
	d, pairs                     int
	norm                         float64
	draws                        int
	seed                         uint64
	plot                         string
}

func run(args []string, stdout io.Writer) error {
	var o options
	fs := cli.NewFlags("variance")
	fs.StringVar(&o.kernel, "kernel", "", "kernels: "+strings.Join(names(estimators, kernelOf), ", ")+" (default all)")
	fs.StringVar(&o.features, "map", "", "maps: "+strings.Join(names(estimators, featuresOf), ", ")+" (default all that a kernel has)")
	fs.StringVar(&o.projection, "projection", "iid,gram-schmidt,simplex,hadamard,givens,halton", "frequencies: "+strings.Join(names(projections, projectionOf), ", "))
	// Each draw has 4d² numbers, and 8d features of each point.
	fs.IntVar(&o.d, "d", 16, 1, 1024, "dimension of the points")
	fs.IntVar(&o.pairs, "pairs", 8, 1, 10_000, "number of random pairs of points; errors are means over them")
	fs.Float64Var(&o.norm, "norm", 0.7, 1e-6, 1000, "norm of every point; with exponential features, errors beyond 1 need many more draws")
	fs.IntVar(&o.draws, "draws", 2000, 2, 1_000_000, "maps drawn for every error")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of all random numbers")
	fs.OutputVar(&o.plot, "plot", "variance.png", "picture of the errors", cli.Pictures...)
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return err
	}
	s, err := o.study()
	if err != nil {
		return err
	}
	src := exprand.NewSource(o.seed)
	s.x, s.y = o.points(src)
	rows, err := s.measure(src)
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, s.summary(rows))
	return cli.Save(stdout, "picture", o.plot, s.picture(rows).Save)
}

// study returns the study that the flags choose. It reports wrong flags before any work.
func (o options) study() (*study, error) {
	s := &study{options: o}
	var err error
	if s.estimators, err = pick("kernel", o.kernel, estimators, kernelOf); err != nil {
		return nil, err
	}
	withMap, err := pick("map", o.features, estimators, featuresOf)
	if err != nil {
		return nil, err
	}
	maps, chosen := names(withMap, featuresOf), s.estimators
	s.estimators = slices.DeleteFunc(slices.Clone(chosen), func(e estimator) bool { return !slices.Contains(maps, e.features) })
	if len(s.estimators) == 0 {
		return nil, fmt.Errorf("-map %s: the kernels have %s", o.features, strings.Join(names(chosen, featuresOf), ", "))
	}
	if s.projections, err = pick("projection", o.projection, projections, projectionOf); err != nil {
		return nil, err
	}
	return s, nil
}

// frequencies returns the numbers of frequencies to measure.
func (o options) frequencies() []int {
	return slices.Compact([]int{max(1, o.d/2), o.d, 2 * o.d, 4 * o.d})
}

// each returns the rows of one estimator after another.
func (s *study) each(rows []measurement) iter.Seq[[]measurement] {
	return slices.Chunk(rows, len(rows)/len(s.estimators))
}

// picture draws a panel for each estimator.
func (s *study) picture(rows []measurement) charts.Figure {
	f := charts.Figure{
		Title:  fmt.Sprintf("Mean squared error, d = %d, ‖x‖ = ‖y‖ = %v; points ± 2 standard errors, lines: exact laws", s.d, s.norm),
		XLabel: "frequencies m", YLabel: "mean squared error",
		LogX: true, LogY: true, OwnY: true,
	}
	for group := range s.each(rows) {
		panel := charts.Panel{Title: group[0].title, Series: make([]charts.Series, len(s.projections))}
		for i, r := range group {
			line := &panel.Series[i%len(s.projections)]
			line.Name = r.Name
			line.Points = append(line.Points, charts.Point{X: float64(r.m), Y: r.MSE, Err: 2 * r.MSEStdErr})
			line.Line = append(line.Line, charts.Point{X: float64(r.m), Y: r.law})
		}
		f.Panels = append(f.Panels, panel)
	}
	f.Columns = min(len(f.Panels), 3)
	if len(f.Panels) == 4 {
		f.Columns = 2
	}
	for _, m := range s.frequencies() {
		f.XTicks = append(f.XTicks, float64(m))
	}
	return f
}
