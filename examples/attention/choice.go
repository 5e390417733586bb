package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/validate"
)

// choices are the estimators that the table of the kernel's errors shows besides the chosen one, by
// the names of validate.SoftmaxCandidates.
var choices = []struct{ candidate, title string }{
	{"SoftmaxPositive iid", "FAVOR+, iid"},
	{"SoftmaxPositive Gram–Schmidt", "FAVOR+, Gram–Schmidt"},
	{"SoftmaxPositive simplex", "FAVOR+, simplex"},
	{"SoftmaxHyperbolic Gram–Schmidt", "hyperbolic, Gram–Schmidt"},
	{"SoftmaxOptimal Gram–Schmidt", "FAVOR++, Gram–Schmidt"},
	{"SADERF Gram–Schmidt", "SADERF, Gram–Schmidt"},
	{"SDERF iid", "SDERF, iid"},
}

const (
	choicePairs = 256 // pairs of a query and a key
	choiceDraws = 16  // for estimators without a law
)

// choose ranks the estimators of exp(scale·qᵀk) for the first head, with m features.
func (c *comparison[T]) choose(m int) (validate.Choice[T], error) {
	return validate.Choose(context.Background(), validate.SoftmaxCandidates[T](c.scale), c.heads[0].q, c.heads[0].k, validate.ChooseOptions{Features: m, Relative: true, Pairs: choicePairs, Draws: choiceDraws}, source(c.seed, "choice"))
}

// reportChoice prints the errors of the estimators and the chosen one.
func reportChoice[T dense.Float](w io.Writer, choice validate.Choice[T]) error {
	fmt.Fprintf(w, `
Which map? The exact mean squared relative error of exp(q·k/√d) over %d pairs of a query and a key, with as many
features (hyperbolic: half as many frequencies), by the laws of validate.Theory; in brackets how many times smaller
than that of FAVOR+ with iid frequencies. The last line is the choice of validate.Choose among %d candidates:

`, choicePairs, len(choice.Trials)+len(choice.Rejected))
	t := table.New(1, "map and frequencies", "error")
	for _, row := range choices {
		t.Row(row.title, errorOf(choice, row.candidate))
	}
	t.Gap()
	best := choice.Best()
	t.Row("chosen: "+best.Name, errorOf(choice, best.Name))
	return t.Fprint(w)
}

// errorOf returns the error of a candidate and the gain, or the reason why there is no error.
func errorOf[T dense.Float](c validate.Choice[T], name string) string {
	r, ok := ranked(c, name)
	if !ok {
		return "too few features"
	}
	if !finite(r.MSE) {
		return "overflow"
	}
	gain := ""
	if first, ok := ranked(c, choices[0].candidate); ok && finite(first.MSE) {
		gain = fmt.Sprintf(" (%.3g×)", first.MSE/r.MSE)
	}
	if r.Law == "" {
		return fmt.Sprintf("%.3g ± %.1g%s", r.MSE, r.StdErr, gain)
	}
	return fmt.Sprintf("%.3g%s", r.MSE, gain)
}

func ranked[T dense.Float](c validate.Choice[T], name string) (validate.Trial[T], bool) {
	at := slices.IndexFunc(c.Trials, func(r validate.Trial[T]) bool { return r.Name == name })
	if at < 0 {
		return validate.Trial[T]{}, false
	}
	return c.Trials[at], true
}
