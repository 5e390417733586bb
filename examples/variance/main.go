// Command variance measures what random features of a kernel err by: maps, frequencies and numbers
// of them, each beside its exact law where there is one.
//
//	go run ./examples/variance
//	go run ./examples/variance -map SoftmaxPositive,SoftmaxOptimal -d 64
//
// It prints a line for each map at m = d and draws the error of all maps against the number of
// frequencies m = d/2, d, 2d, 4d.
package main

import (
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

func main() { cli.Main("variance", run) }

const about = `Measures the mean squared error of random features of kernels over independent
frequencies (IID) and over others: orthogonal ones (GramSchmidt, products of Hadamard
factors, of Givens rotations), Simplex, and quasi-Monte-Carlo points (Halton),
for m = d/2, d, 2d, 4d frequencies. -map and -frequencies take lists of names
separated by commas and narrow what is measured.

It prints a line for each map: the error with m = d frequencies of the first kind, its
exact law, the error of other frequencies over that of the first, and the largest distance
of a measurement from its law in standard errors, of all m and frequencies.

Squared errors of exponential features have heavy tails: they come out below their law more often than
above it unless draws are many. The picture has a panel for each map: errors ± 2 standard errors as
points, laws as lines.`

type options struct {
	maps      []string
	ensembles []orf.Ensemble
	d, pairs  int
	norm      float64
	draws     int
	seed      uint64
	plot      string
}

func run(args []string, stdout io.Writer) error {
	o, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	rows, err := o.measure(exprand.NewSource(o.seed))
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, o.summary(rows))
	return cli.Save(stdout, "picture", o.plot, o.picture(rows).Save)
}

func parse(args []string, stdout io.Writer) (o options, done bool, err error) {
	fs := cli.NewFlags("variance")
	maps := fs.String("map", "", "maps: "+strings.Join(specNames, ",")+" (default all)")
	frequencies := fs.String("frequencies", "", "frequencies: "+strings.Join(namesOf(ensembles), ",")+" (default all)")
	// Each draw has 4d² numbers, and 8d features of each point.
	fs.IntVar(&o.d, "d", 16, 1, 1024, "dimension of the points")
	fs.IntVar(&o.pairs, "pairs", 8, 1, 10_000, "number of random pairs of points; errors are means over them")
	fs.Float64Var(&o.norm, "norm", 0.7, 1e-6, 1000, "norm of every point; with exponential features, errors beyond 1 need many more draws")
	fs.IntVar(&o.draws, "draws", 2000, 2, 1_000_000, "maps drawn for every error")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of all random numbers")
	fs.OutputVar(&o.plot, "plot", "variance.png", "picture of the errors", cli.Pictures...)
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return o, done, err
	}
	if o.maps, err = pick("map", *maps, specNames); err != nil {
		return o, false, err
	}
	names, err := pick("frequencies", *frequencies, namesOf(ensembles))
	for _, name := range names {
		o.ensembles = append(o.ensembles, ensembles[slices.Index(namesOf(ensembles), name)])
	}
	return o, false, err
}

func (o options) sizes() []int { return slices.Compact([]int{max(1, o.d/2), o.d, 2 * o.d, 4 * o.d}) }

func (o options) each(rows []measurement) iter.Seq[[]measurement] {
	return slices.Chunk(rows, len(o.sizes())*len(o.ensembles))
}

func (o options) picture(rows []measurement) charts.Figure {
	f := charts.Figure{
		Title:  fmt.Sprintf("Mean squared error, d = %d, ‖x‖ = ‖y‖ = %v; points ± 2 standard errors, lines: exact laws", o.d, o.norm),
		XLabel: "frequencies m", YLabel: "mean squared error",
		LogX: true, LogY: true, OwnY: true,
	}
	for group := range o.each(rows) {
		panel := charts.Panel{Title: group[0].spec, Series: make([]charts.Series, len(o.ensembles))}
		for i, r := range group {
			line := &panel.Series[i%len(o.ensembles)]
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
	for _, m := range o.sizes() {
		f.XTicks = append(f.XTicks, float64(m))
	}
	return f
}

// summary says how far laws are from measurements at all m.
func (o options) summary(rows []measurement) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Mean squared error with m = d = %d frequencies: %d pairs of norm %v, %d draws, seed %d\n\n", o.d, o.pairs, o.norm, o.draws, o.seed)
	names := append([]string{"map", nameOf(o.ensembles[0]), "exact law"}, namesOf(o.ensembles[1:])...)
	sum := table.New(1, append(names, "worst |z|")...)
	known := func(format string, v float64) string {
		if math.IsNaN(v) {
			return "—"
		}
		return fmt.Sprintf(format, v)
	}
	lawed, worst, where := 0, 0.0, ""
	for group := range o.each(rows) {
		line, farthest := []string{group[0].spec}, 0.0
		for _, r := range group {
			switch {
			case r.m != o.d:
			case len(line) == 1:
				line = append(line, known("%.4g", r.MSE), known("%.4g", r.law))
			default:
				line = append(line, known("× %.3f", r.Ratio))
			}
			z := math.Abs(r.z())
			if math.IsNaN(z) {
				continue
			}
			lawed++
			farthest = max(farthest, z)
			if z >= worst {
				worst, where = z, fmt.Sprintf("%s, %s, m = %d", r.spec, r.Name, r.m)
			}
		}
		sum.Row(append(line, fmt.Sprintf("%.1f", farthest))...)
	}
	_ = sum.Fprint(&text) // no error of a Builder
	text.WriteByte('\n')
	if len(o.ensembles) > 1 {
		text.WriteString("×: the error over that of the first frequencies. ")
	}
	if lawed == 0 {
		return text.String() + "No law is known.\n"
	}
	fmt.Fprintf(&text, "%d of %d measurements have an exact law; the farthest\nfrom its law is %.1f standard errors off (%s).\n", lawed, len(rows), worst, where)
	return text.String()
}
