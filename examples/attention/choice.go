package main

import (
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

// choose ranks the estimators of exp(scale·qᵀk) for the first head, at each number of features.
func (c *comparison[T]) choose(sizes []int) ([]validate.Choice[T], error) {
	all := make([]validate.Choice[T], len(sizes))
	for i, m := range sizes {
		var err error
		all[i], err = validate.Choose(c.heads[0].q, c.heads[0].k, validate.SoftmaxCandidates[T](c.scale), validate.ChooseOptions{Features: m, Relative: true, Pairs: choicePairs, Draws: choiceDraws}, source(c.seed, "choice"))
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// reportChoices prints the errors of the estimators and the chosen one.
func reportChoices[T dense.Float](w io.Writer, sizes []int, all []validate.Choice[T]) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintf(w, `
Which estimator? The exact mean squared relative error of exp(q·k/√d) over %d pairs of a query and a key, with m
features (hyperbolic: m/2 frequencies), by the laws of validate.Theory; in brackets how many times smaller than that
of FAVOR+ with iid frequencies. The last line is the choice of validate.Choose among its %d candidates:

`, choicePairs, len(all[0].Ranking)+len(all[0].Rejected))
	names := []string{"estimator"}
	for _, m := range sizes {
		names = append(names, fmt.Sprintf("m = %d", m))
	}
	t := table.New(1, names...)
	for _, row := range choices {
		cells := []string{row.title}
		for _, choice := range all {
			cells = append(cells, errorOf(choice, row.candidate))
		}
		t.Row(cells...)
	}
	cells := []string{"chosen"}
	for _, choice := range all {
		best := choice.Best()
		cells = append(cells, fmt.Sprintf("%s: %s", best.Name, errorOf(choice, best.Name)))
	}
	t.Gap()
	t.Row(cells...)
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

func ranked[T dense.Float](c validate.Choice[T], name string) (validate.Ranked[T], bool) {
	at := slices.IndexFunc(c.Ranking, func(r validate.Ranked[T]) bool { return r.Name == name })
	if at < 0 {
		return validate.Ranked[T]{}, false
	}
	return c.Ranking[at], true
}
