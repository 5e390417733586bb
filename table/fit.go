package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// Options are the parameters of Fit. With zero Options Fit finds the kind of every column: number,
// date, category, text and so on.
type Options struct {
	Category []string // columns that are categories though they have numbers or dates
	Skip     []string // columns to leave out
	Log      []string // columns of positive numbers to take logarithms of

	// Group names a column whose texts are equal in dependent rows, such as those of one patient.
	// With a Group, choices of Fit and prediction bands come from errors at whole groups of rows
	// that a fit has not seen. A row without a text in the column Group is a group by itself. The
	// model does not use the column Group, unless Category names the column too.
	Group string

	// Time names a column of numbers or dates, the times of rows. With a Time, choices of Fit and
	// prediction bands come from errors at rows that are later than all rows of a fit. The model
	// uses the column Time, unless Skip names the column too.
	Time string

	// Weight names a column of numbers from 0 on, the weights of rows: a row of weight 2 counts as
	// two rows. The model does not use the column Weight.
	Weight string

	Classes    bool // the numbers of the target are classes
	HeavyTails bool // the targets have outliers

	// After each part of the work, Fit calls Progress, unless Progress is nil, with the number of
	// parts that have ended, the number of all parts, and the family of models of the part.
	Progress func(done, total int, family string)
}

// Model predicts columns of a table of texts, the targets, from the other columns. A Model never
// changes, so that goroutines may share a Model.
type Model struct {
	targets []string
	columns []Column
	report  string
	model   *automl.Model[float64]
}

const least = 20

// Fit learns to predict the columns of t with the names in targets, one column of classes or any
// number of numeric columns, from the other columns, as the package documentation describes. Fit
// converts the columns to numbers and passes them, with the random source src, to automl.Fit, which
// takes most of the time of Fit. If ctx ends, Fit returns the error of ctx, and the best model so
// far or nil.
//
// Fit returns an error for a nil argument, for fewer than 20 rows with all targets, for no targets,
// for a target that is not a column, is there twice or does not vary, for classes beside another
// target, for options that name a target or a column that t lacks, for Group and Time together, for
// a column in o.Log that is not numeric, for a table without columns to learn from, and where
// automl.Fit does. If a text does not fit the kind of the column, such as a word among numbers, the
// error of Fit names the line, the column and the text.
func Fit(ctx context.Context, t *Table, targets []string, o Options, src rand.Source) (*Model, error) {
	if err := argument.Context("table", ctx); err != nil {
		return nil, err
	}
	if src == nil {
		return nil, errors.New("table: src is nil, want a source of randomness")
	}
	told, err := t.told(targets)
	if err != nil {
		return nil, err
	}
	if n := len(told.rows); n < least {
		return nil, fmt.Errorf("table: %d rows with all targets, want at least %d", n, least)
	}
	var labels []string
	for _, target := range targets {
		if labels, err = told.labels(target, o.Classes); err != nil {
			return nil, err
		}
		if labels != nil && len(targets) > 1 {
			return nil, fmt.Errorf("table: the target %q has classes, want no other target beside it in %q", target, targets)
		}
	}
	m := &Model{targets: slices.Clone(targets)}
	if m.columns, err = told.columns(targets, o); err != nil {
		return nil, err
	}
	x, err := encode(m.columns, told)
	if err != nil {
		return nil, err
	}
	y, err := told.targets(targets, labels)
	if err != nil {
		return nil, err
	}
	notes := ""
	for j, target := range targets {
		own := column(y, j)
		if slices.Min(own) == slices.Max(own) {
			return nil, fmt.Errorf("table: column %q is %.40q in all rows to learn from, want a target that varies", target, told.rows[0][slices.Index(t.names, target)])
		}
		if labels == nil {
			notes += maybeClasses(target, own)
		}
	}
	groups, err := told.groups(o)
	if err != nil {
		return nil, err
	}
	weights, err := told.weights(o.Weight)
	if err != nil {
		return nil, err
	}
	found, err := automl.Fit(ctx, ridge.Block[float64]{X: x, Y: y, Weights: weights}, automl.Options{
		Classes: len(labels), Labels: labels, Groups: groups, Forward: o.Time != "", HeavyTails: o.HeavyTails, Progress: o.Progress,
	}, src)
	if err != nil {
		err = fmt.Errorf("table: %w", err)
	}
	if found == nil {
		return nil, err
	}
	m.model = found.Model
	m.report = fmt.Sprintf("%s from %d columns of points.\n", strings.Join(targets, ", "), x.Cols)
	if gone := len(t.rows) - len(told.rows); gone > 0 {
		m.report += fmt.Sprintf("%d rows without a target are left out.\n", gone)
	}
	m.report += notes + found.Report.String()
	return m, err
}

// labels returns the classes of a target in the order of their numbers and texts, or nil for
// numbers.
func (t *Table) labels(target string, classes bool) ([]string, error) {
	var labels []string
	at := slices.Index(t.names, target)
	numbers, wrongRow := 0, -1
	for i, row := range t.rows {
		if _, ok := number(row[at]); ok {
			numbers++
		} else if wrongRow < 0 {
			wrongRow = i
		}
		labels = append(labels, row[at])
	}
	if !classes && 2*numbers >= len(t.rows) {
		if wrongRow >= 0 {
			return nil, wrong(t.lines[wrongRow], t.names[at], t.rows[wrongRow][at], "a finite number, which most targets are")
		}
		return nil, nil
	}
	slices.SortFunc(labels, func(a, b string) int {
		x, _ := number(a)
		y, _ := number(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	})
	return slices.Compact(labels), nil
}

// targets returns the numbers of the targets, or the classes as indices of labels, where -1 stands
// for an unknown class.
func (t *Table) targets(targets, labels []string) (dense.Matrix[float64], error) {
	index := make(map[string]int)
	for k, label := range labels {
		index[label] = k
	}
	y := dense.New[float64](len(t.rows), len(targets))
	for j, target := range targets {
		at := slices.Index(t.names, target)
		for i, row := range t.rows {
			v, ok := number(row[at])
			if k, known := index[row[at]]; known {
				v = float64(k)
			} else if labels != nil {
				v = -1
			} else if !ok {
				return y, wrong(t.lines[i], target, row[at], "a finite number, which the targets of the model are")
			}
			y.Set(i, j, v)
		}
	}
	return y, nil
}

// maybeClasses returns a note if the targets are whole numbers from 0 or 1 on, without gaps, as
// classes are.
func maybeClasses(name string, y []float64) string {
	y = slices.Compact(slices.Sorted(slices.Values(y)))
	for i, v := range y {
		if v != y[0]+float64(i) {
			return ""
		}
	}
	if first := y[0]; first != 0 && first != 1 || len(y) > 20 {
		return ""
	}
	return fmt.Sprintf("%s is whole numbers from %v to %v, learnt as numbers. Options.Classes makes them classes.\n", name, y[0], y[len(y)-1])
}

// Targets returns the names of the columns that the model predicts.
func (m *Model) Targets() []string { return slices.Clone(m.targets) }

// Columns returns, for every column of the table except the targets, how the model encodes the
// column.
func (m *Model) Columns() []Column {
	all := slices.Clone(m.columns)
	for i := range all {
		all[i].Categories = slices.Clone(all[i].Categories)
	}
	return all
}

// Classes returns the texts of the classes, in the order of the columns of
// Predictions.Probabilities, or nil if the target is numeric.
func (m *Model) Classes() []string {
	if m.model == nil {
		return nil
	}
	return m.model.Labels()
}

// Report returns a text about what Fit tried and chose, also for a model from a file.
func (m *Model) Report() string { return m.report }
