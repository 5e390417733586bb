// Thompson maximises a function of two variables with few evaluations.
//
// Each step fits a Gaussian process to all evaluations so far, draws one function from its
// posterior, and evaluates at the maximum of the drawn function [Thompson 1933]. Drawn functions
// differ most where there are no evaluations, so the program also explores. It prints the result of
// a random search with as many evaluations for comparison.
//
// # References
//
//   - [Branin 1972] F. H. Branin. Widely convergent method for finding multiple solutions of
//     simultaneous nonlinear equations. IBM Journal of Research and Development 16(5).
//   - [Thompson 1933] W. R. Thompson. On the likelihood that one unknown probability exceeds
//     another in view of the evidence of two samples. Biometrika 25.
package main

import (
	"fmt"
	"io"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
)

const about = `thompson maximises a function of two variables, −log(1 + Branin's function), with few noisy evaluations.

The points are in the unit square. After a few random evaluations each step
    fits a Gaussian process: random features of the Gaussian kernel, whose length-scale, noise and variance are those of
    the most evidence,
    draws one function from the posterior, by the pathwise formula with the kernel itself, and
    evaluates where this function is largest among points drawn at random.
The picture shows the mean of the last posterior with the places of all evaluations, and a cut through the best place
with the band of 90 %, the function itself and some draws.`

func main() { cli.Main("thompson", run) }

// settings are the flags.
type settings struct {
	evaluations, start, candidates, frequencies int
	noise                                       float64
	seed                                        uint64
	plot                                        string
}

func run(args []string, stdout io.Writer) error {
	var s settings
	fs := cli.NewFlags("thompson")
	// With these limits, kernel values and sums of features stay below 2 GB.
	fs.IntVar(&s.evaluations, "evaluations", 50, 3, 2000, "evaluations of the function")
	fs.IntVar(&s.start, "start", 6, 2, 1999, "evaluations at random places before the first fit")
	fs.IntVar(&s.candidates, "candidates", 2000, 1, 100_000, "random points among which a drawn function is maximised")
	fs.IntVar(&s.frequencies, "frequencies", 128, 1, 2048, "frequencies of the features")
	fs.Float64Var(&s.noise, "noise", 0.1, 0, 1000, "standard deviation of the noise of an evaluation")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness")
	fs.OutputVar(&s.plot, "plot", "", "picture of the search", ".png")
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return err
	}
	if s.evaluations <= s.start {
		return fmt.Errorf("-evaluations %d, want more than the %d of -start", s.evaluations, s.start)
	}
	search, err := s.maximise(exprand.NewSource(s.seed))
	if err != nil {
		return err
	}
	if err := s.report(stdout, search); err != nil {
		return err
	}
	return cli.Save(stdout, "picture of the search", s.plot, func(path string) error {
		return search.save(path, exprand.NewSource(s.seed))
	})
}

// peers is the number of random searches.
const peers = 200

// report prints the best value after each ten evaluations, and the mean best value of random
// searches.
func (s settings) report(w io.Writer, h *history) error {
	fmt.Fprintf(w, `Maximum of −log(1 + Branin's function), %.4f, sought with evaluations of noise %g

best      value of the function, without noise, at the best place evaluated so far
random    the same for random searches, mean over %d

`, maximum, s.noise, peers)
	random := randomSearch(s.evaluations, exprand.NewSource(s.seed+1))
	t := table.New(0, "evaluations", "length-scale", "noise", "best", "below maximum", "random", "below maximum")
	for n := s.start; n <= s.evaluations; n++ {
		if n != s.start && n != s.evaluations && n%10 != 0 {
			continue
		}
		best := h.best(n)
		f := h.fits[min(n-s.start, len(h.fits)-1)]
		t.Row(fmt.Sprint(n), fmt.Sprintf("%.2f", f.lengthScale), fmt.Sprintf("%.2f", f.noise), fmt.Sprintf("%.3f", best),
			fmt.Sprintf("%.3f", maximum-best), fmt.Sprintf("%.3f", random[n-1]), fmt.Sprintf("%.3f", maximum-random[n-1]))
	}
	return t.Fprint(w)
}
