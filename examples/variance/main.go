// Command variance measures what orthogonal frequencies save: the mean squared
// error of random features of a kernel over independent frequencies and over
// three orthogonal constructions, beside the exact law where there is one.
//
//	go run ./examples/variance
//	go run ./examples/variance -kernel dot -d 64
//
// It prints a table and draws a picture of the error against the number of
// frequencies m = d/2, d, 2d, 4d. The same flags give the same numbers.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/progress"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

func main() { cli.Main("variance", run) }

const about = `Measures the mean squared error of random features of a kernel over independent
frequencies (iid) and over orthogonal ones (Gram–Schmidt, products of Hadamard
factors, products of Givens rotations), for m = d/2, d, 2d, 4d frequencies.

The table has the error with its standard error, the exact law and how many
standard errors the measurement is from it ("—" where no law is known), the ratio
to iid, and the largest bias over the pairs of points in standard errors: beyond
4 the estimate is biased. Squared errors of exponential features have heavy tails:
there z comes out low more often than high unless draws are many. The picture
shows errors ± 2 standard errors as points and laws as lines.`

// options are the flags.
type options struct {
	kernel   string
	d, pairs int
	norm     float64
	draws    int
	seed     uint64
	plot     string
	csv      string
}

func run(args []string, stdout, stderr io.Writer) error {
	var o options
	fs := flag.NewFlagSet("variance", flag.ContinueOnError)
	fs.StringVar(&o.kernel, "kernel", "gaussian", "`name` of the kernel and its features: "+strings.Join(names(), ", "))
	fs.IntVar(&o.d, "d", 16, "dimension of the points")
	fs.IntVar(&o.pairs, "pairs", 8, "number of random pairs of points; errors are means over them")
	fs.Float64Var(&o.norm, "norm", 0.7, "norm of every point; with exponential features, errors beyond 1 need many more draws")
	fs.IntVar(&o.draws, "draws", 5000, "maps drawn for every error")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of all random numbers")
	fs.StringVar(&o.plot, "plot", "variance.png", "`path` of the picture, .png or .svg; \"\" for none")
	fs.StringVar(&o.csv, "csv", "", "`path` of a file for the table as comma-separated values")
	if done, err := cli.Parse(fs, about, args, stdout); done || err != nil {
		return err
	}
	e, err := o.check()
	if err != nil {
		return err
	}

	src := exprand.NewSource(o.seed)
	x, y := o.points(src)
	bar := progress.New(stderr, len(o.frequencies())*len(projections)*o.draws, "drawing maps")
	study, err := o.measure(e, x, y, src, bar.Step)
	bar.Close()
	if err != nil {
		return err
	}
	if err := study.print(stdout); err != nil {
		return err
	}
	if o.csv != "" {
		if err := study.save(o.csv); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "\ntable in %s\n", o.csv)
	}
	if o.plot != "" {
		if err := study.draw(o.plot); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "\npicture in %s\n", o.plot)
	}
	return nil
}

// check returns the estimator that the flags name, or what is wrong with them,
// before anything is computed.
func (o options) check() (estimator, error) {
	at := slices.IndexFunc(estimators, func(e estimator) bool { return e.name == o.kernel })
	switch {
	case at < 0:
		return estimator{}, fmt.Errorf("-kernel %s: want one of %s", o.kernel, strings.Join(names(), ", "))
	case o.d < 1:
		return estimator{}, fmt.Errorf("-d %d: want at least 1", o.d)
	case o.pairs < 1:
		return estimator{}, fmt.Errorf("-pairs %d: want at least 1", o.pairs)
	case !(o.norm > 0) || math.IsInf(o.norm, 0):
		return estimator{}, fmt.Errorf("-norm %v: want a positive number", o.norm)
	case o.draws < 2:
		return estimator{}, fmt.Errorf("-draws %d: want at least 2", o.draws)
	}
	if o.plot != "" {
		if err := charts.CheckPath(o.plot); err != nil {
			return estimator{}, fmt.Errorf("-plot: %w", err)
		}
	}
	if o.csv != "" {
		if _, err := os.Stat(filepath.Dir(o.csv)); err != nil {
			return estimator{}, fmt.Errorf("-csv: %w", err)
		}
	}
	return estimators[at], nil
}

// frequencies returns the numbers of frequencies to measure.
func (o options) frequencies() []int {
	return slices.Compact([]int{max(1, o.d/2), o.d, 2 * o.d, 4 * o.d})
}
