// Regression fits a function with random features instead of a kernel matrix.
//
// Exact kernel ridge regression with n points solves an n×n system; with m
// frequencies of the Gaussian kernel it is a linear regression on 2m features.
// The program draws a data set, fits it in both ways with independent and
// orthogonal frequencies, and prints test error and time as m grows.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"time"

	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

const about = `regression compares ridge regression on random features of the Gaussian kernel with exact kernel ridge regression.

It draws points x uniformly from [−1, 1]⁸ and values
    y = sin(π·x₁·x₂) + 2·(x₃ − ½)² + x₄ + ½·x₅ + 0.3·N(0, 1)
(after Friedman 1991; x₆, x₇ and x₈ do nothing), and fits them with the kernel exp(−‖x−x'‖²/(2ℓ²)). Exact regression
solves (K + λI)a = y with the n×n Gram matrix K. The other solves (ΦᵀΦ + λI)w = Φᵀy with the n×2m matrix of features
Φ, for which ΦΦᵀ ≈ K. Both systems are solved by Cholesky factorisation.`

func main() { cli.Main("regression", run) }

// settings are the flags.
type settings struct {
	train, test, draws  int
	lengthScale, lambda float64
	seed                uint64
	plot                string
}

// sizes are the numbers of frequencies of the table.
var sizes = []int{16, 32, 64, 128, 256, 512}

func run(args []string, stdout, _ io.Writer) error {
	var s settings
	fs := flag.NewFlagSet("regression", flag.ContinueOnError)
	fs.IntVar(&s.train, "train", 1500, "points to fit")
	fs.IntVar(&s.test, "test", 500, "points to test on")
	fs.IntVar(&s.draws, "draws", 5, "draws of the frequencies that an error bar is made of")
	fs.Float64Var(&s.lengthScale, "lengthscale", 3, "length-scale ℓ of the Gaussian kernel, in units of x")
	fs.Float64Var(&s.lambda, "lambda", 0.05, "ridge λ")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness; the same seed gives the same errors")
	fs.StringVar(&s.plot, "plot", "", "draw test error against m in this `file`, .png or .svg")
	if done, err := cli.Parse(fs, about, args, stdout); done || err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	src := exprand.NewSource(s.seed)
	train, test := draw(s.train, src), draw(s.test, src)

	start := time.Now()
	exact, err := kernelRidge(train, test.x, s.lengthScale, s.lambda)
	if err != nil {
		return err
	}
	exactTime := time.Since(start)
	exactError := rmse(exact, test.y)
	rows, err := s.measure(train, test, exact, src)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, `Ridge regression on %d points in R^%d, tested on %d; Gaussian kernel, ℓ = %g, λ = %g, noise %g

test error   root mean square of prediction − value; the noise alone makes %g
from exact   root mean square of the difference between this prediction and the exact one
             both: mean ± standard error over %d draws of the frequencies
time         to fit and to predict, median; speed is the time of exact regression over this one

`, s.train, dim, s.test, s.lengthScale, s.lambda, noise, noise, s.draws)
	if err := report(stdout, rows, exactError, exactTime); err != nil {
		return err
	}
	if s.plot == "" {
		return nil
	}
	if err := picture(rows, exactError).Save(s.plot); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "\nThe picture of test error against m is in %s\n", s.plot)
	return err
}

func (s settings) check() error {
	switch {
	case s.train < 2:
		return fmt.Errorf("-train %d, want at least 2", s.train)
	case s.test < 1:
		return fmt.Errorf("-test %d, want at least 1", s.test)
	case s.draws < 2:
		return fmt.Errorf("-draws %d, want at least 2 to make an error bar", s.draws)
	case !(s.lengthScale > 0) || math.IsInf(s.lengthScale, 0):
		return fmt.Errorf("-lengthscale %v, want a positive number", s.lengthScale)
	case !(s.lambda > 0) || math.IsInf(s.lambda, 0):
		return fmt.Errorf("-lambda %v, want a positive number", s.lambda)
	case s.plot != "":
		return charts.CheckPath(s.plot)
	}
	return nil
}

// report prints the table.
func report(w io.Writer, rows []row, exactError float64, exactTime time.Duration) error {
	t := table.New(
		table.Column{Name: "frequencies"}, table.Column{Name: "m", Right: true},
		table.Column{Name: "test error", Right: true}, table.Column{Name: "from exact", Right: true},
		table.Column{Name: "time, ms", Right: true}, table.Column{Name: "speed", Right: true},
	)
	milliseconds := func(d time.Duration) string { return fmt.Sprintf("%.1f", 1e3*d.Seconds()) }
	t.Row("exact kernel", "", fmt.Sprintf("%.4f", exactError), "", milliseconds(exactTime), "1.00×")
	for _, r := range rows {
		if r.m == sizes[0] {
			t.Gap()
		}
		t.Row(r.projection, fmt.Sprint(r.m), r.test.String(), r.exact.String(), milliseconds(r.time),
			fmt.Sprintf("%.2f×", exactTime.Seconds()/r.time.Seconds()))
	}
	return t.Fprint(w)
}

// estimate is a mean over draws and its standard error.
type estimate struct{ mean, stderr float64 }

func estimateOf(x []float64) estimate {
	mean, spread := stat.MeanStdDev(x, nil)
	return estimate{mean, stat.StdErr(spread, float64(len(x)))}
}

func (e estimate) String() string { return fmt.Sprintf("%.4f ± %.4f", e.mean, e.stderr) }

// picture draws test error and distance from the exact prediction against m.
func picture(rows []row, exactError float64) charts.Figure {
	test := charts.Panel{Title: "test error", Levels: []charts.Level{
		{Name: "exact kernel ridge", Y: exactError}, {Name: "noise", Y: noise},
	}}
	exact := charts.Panel{Title: "distance from the exact prediction"}
	for _, name := range projectionNames {
		a, b := charts.Series{Name: name}, charts.Series{Name: name}
		for _, r := range rows {
			if r.projection == name {
				a.Points = append(a.Points, charts.Point{X: float64(r.m), Y: r.test.mean, Err: r.test.stderr})
				b.Points = append(b.Points, charts.Point{X: float64(r.m), Y: r.exact.mean, Err: r.exact.stderr})
			}
		}
		test.Series, exact.Series = append(test.Series, a), append(exact.Series, b)
	}
	fig := charts.Figure{
		Title:  "Ridge regression with random features",
		XLabel: "frequencies m", YLabel: "root mean square",
		LogX: true, LogY: true, Panels: []charts.Panel{test, exact},
	}
	for _, m := range sizes {
		fig.XTicks = append(fig.XTicks, float64(m))
	}
	return fig
}
