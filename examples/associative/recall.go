package main

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
)

// rules are the rules that the program compares.
var rules = []recurrence.Rule{recurrence.Linear, recurrence.Gated, recurrence.Delta, recurrence.GatedDelta}

// row holds the measurements with n keys.
type row struct {
	n      int
	errors []estimate // of each rule
	law    float64    // of the linear rule
}

// estimate is a mean over draws and its standard error.
type estimate struct{ mean, stderr float64 }

// measure returns the errors of all rules for all numbers of keys. All rules get the same keys and
// values.
func (s settings) measure(src rand.Source) ([]row, error) {
	var rows []row
	for _, n := range s.counts() {
		errors := make([][]float64, len(rules))
		for range s.draws {
			t := s.draw(n, src)
			for i, rule := range rules {
				e, err := s.recall(rule, t)
				if err != nil {
					return nil, err
				}
				errors[i] = append(errors[i], e)
			}
		}
		r := row{n: n, law: s.law(n)}
		for _, e := range errors {
			mean, spread := stat.MeanStdDev(e, nil)
			r.errors = append(r.errors, estimate{mean, stat.StdErr(spread, float64(len(e)))})
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// law returns the expected error of the linear rule. The answer for a query is the sum of all
// written values, each times the inner product of its key with the query. For the share of keys
// with a second value, the first value is an error of its own size. Each other key adds (1 + share)
// values, and a squared inner product has the mean 1/d.
func (s settings) law(n int) float64 {
	share := float64(overwritten(n)) / float64(n)
	return share + (1+share)*float64(n-1)/float64(s.d)
}

// overwritten returns the number of keys, of n, that get a second value.
func overwritten(n int) int { return (n + 1) / 2 }

// task holds the pairs to write, the queries, and the correct answers.
type task struct{ keys, values, queries, answers dense.Matrix[float64] }

// draw draws a task with n keys.
func (s settings) draw(n int, src rand.Source) task {
	rng, normal := rand.New(src), distuv.Normal{Mu: 0, Sigma: 1, Src: src}
	gaussian := func(rows int) dense.Matrix[float64] {
		m := dense.New[float64](rows, s.d)
		for i := range m.Data {
			m.Data[i] = normal.Rand()
		}
		return m
	}
	queries := gaussian(n)
	for i := range n {
		floats.Scale(1/floats.Norm(queries.Row(i), 2), queries.Row(i))
	}
	again := rng.Perm(n)[:overwritten(n)]
	t := task{keys: dense.New[float64](n+len(again), s.d), values: gaussian(n + len(again)), queries: queries}
	dense.Copy(t.keys.RowRange(0, n), queries)
	t.answers = t.values.RowRange(0, n).Clone()
	for i, key := range again {
		copy(t.keys.Row(n+i), queries.Row(key))
		copy(t.answers.Row(key), t.values.Row(n+i))
	}
	return t
}

// recall writes the pairs of a task by a rule and returns the squared error of the answers divided
// by the squared error of answers of zero.
func (s settings) recall(rule recurrence.Rule, t task) (float64, error) {
	r, err := recurrence.New[float64](1, 1, recurrence.Options{Rule: rule, Scale: 1})
	if err != nil {
		return 0, err
	}
	memory, err := r.NewState(s.d, s.d)
	if err != nil {
		return 0, err
	}
	x := recurrence.Tokens[float64]{K: t.keys, V: t.values}
	if rule == recurrence.Gated || rule == recurrence.GatedDelta {
		x.Decay = column(t.keys.Rows, -s.decay)
	}
	if rule == recurrence.Delta || rule == recurrence.GatedDelta {
		x.Beta = column(t.keys.Rows, 1)
	}
	memory.Append(x)
	answers := memory.Attend(dense.Matrix[float64]{}, t.queries)
	relative := floats.Distance(answers.Data, t.answers.Data, 2) / floats.Norm(t.answers.Data, 2)
	return relative * relative, nil
}

// column returns a column of n equal elements.
func column(n int, v float64) dense.Matrix[float64] {
	return dense.Of(n, 1, slices.Repeat([]float64{v}, n))
}
