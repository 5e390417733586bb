// Table learns a column of a CSV file from the other columns by package table, and writes the model
// to a file; with -model it reads the model and predicts or scores other rows.
package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/table"
)

const about = `table learns a column of a CSV file from the other columns, prints the errors at a fifth of the rows that it holds out,
and writes the model to a file:
    table -data FILE -target COLUMNS -out MODEL

Another process reads the model, and prints predictions of raw rows as CSV, or the errors at rows with a target, or the
importances of the columns. Numbers have a mean and the quantiles of 0.05 and 0.95, between which 90 % of the targets are.
Classes have probabilities:
    table -model MODEL -predict FILE
    table -model MODEL -score FILE
    table -model MODEL -explain FILE -html PAGE

Without -data and -model it makes up a table of houses with text, categories and missing values, whose prices have noise
of standard deviation 20.

The first line of a file has names. go doc ./table has the kinds of columns and the rules for missing values and targets.

Rows that depend on each other need -group or -time: random rows tell what it is worth to know their neighbours. The rows
that are held out are then whole groups, or the last ones in time.
Of a target with a long tail, put the logarithm into the file.`

func main() { cli.Main("table", run) }

type settings struct {
	data, out, houses    string
	targets              []string
	model, predict       string
	score, explain, html string
	read                 table.ReadOptions
	fit                  table.Options
	rows, seconds        int
	last                 bool
	seed                 uint64
}

func run(args []string, stdout io.Writer) error {
	var s settings
	fs := cli.NewFlags("table")
	fs.InputVar(&s.data, "data", "", "file", "CSV file to use for houses that are made up")
	fs.Func("target", "`columns` to predict: one of classes, or names of numeric columns with commas between them; price for houses", list(&s.targets))
	fs.BoolVar(&s.fit.Classes, "classes", "the numbers of the target are classes")
	fs.Func("comma", "`character` between values, or \\t for a tab; a comma if not given. Beside ; numbers may have decimal commas", separator(&s.read.Comma))
	fs.Func("category", "`columns` that are categories though they have numbers: names with commas between them", list(&s.fit.Category))
	fs.Func("skip", "`columns` to leave out", list(&s.fit.Skip))
	fs.StringVar(&s.fit.Group, "group", "", "`column` whose equal texts mark rows that depend on each other, such as the rows of a patient")
	fs.StringVar(&s.fit.Time, "time", "", "`column` of dates or numbers, to predict what comes from what was before")
	fs.StringVar(&s.fit.Weight, "weight", "", "`column` of the weights of rows")
	fs.Func("log", "`columns` of positive numbers to take logarithms of", list(&s.fit.Log))
	// A million rows take minutes and a gigabyte.
	fs.IntVar(&s.rows, "rows", 2500, 40, 1_000_000, "houses to make up")
	fs.OutputVar(&s.houses, "houses", "", "CSV file to keep the houses in")
	fs.IntVar(&s.seconds, "seconds", 0, 0, 1_000_000, "time after which the program takes the best model so far; 0 for all the time that it takes")
	fs.BoolVar(&s.last, "last", "hold out the last rows of the file, not random ones")
	fs.OutputVar(&s.out, "out", "", "file to keep the model in")
	fs.InputVar(&s.model, "model", "", "file", "model to use for -predict and -score")
	fs.InputVar(&s.predict, "predict", "", "file", "CSV file with rows to predict")
	fs.InputVar(&s.score, "score", "", "file", "CSV file with rows with a target, for the errors of the model")
	fs.InputVar(&s.explain, "explain", "", "file", "CSV file with rows with a target, for the importances of the columns")
	fs.OutputVar(&s.html, "html", "", "page with pictures of importances, partial dependence, predicted against measured targets and calibration, at the rows of -explain or at the rows that are held out", ".html")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness; the same seed gives the same output")
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return err
	}
	switch {
	case (s.model == "") != (s.predict+s.score+s.explain == ""):
		return errors.New("-predict, -score and -explain need -model, and -model needs one of them")
	case s.model != "" && s.html != "" && s.explain == "":
		return errors.New("-html with -model needs -explain, the rows to show")
	case s.model != "":
		return s.serve(stdout)
	case s.data == "" && s.targets != nil:
		return fmt.Errorf("-target %q without -data", s.targets)
	case s.data == "" && (s.fit.Classes || s.read.Comma != 0):
		return errors.New("-classes or -comma without -data")
	case s.data != "" && s.targets == nil:
		return errors.New("-data without -target, want the name of the column to predict")
	}
	return s.learn(stdout)
}

func (s settings) learn(stdout io.Writer) error {
	src := rand.NewPCG(s.seed, 0)
	var t *table.Table
	var err error
	if s.data != "" {
		t, err = s.open(s.data)
	} else {
		s.data, s.targets = "houses", []string{"price"}
		t, err = s.makeHouses(src)
	}
	if err != nil {
		return err
	}
	var rest, held *table.Table
	switch {
	case s.fit.Group != "":
		rest, held, err = t.SplitBy(s.fit.Group, 0.2, src)
	case s.fit.Time != "":
		rest, held, err = t.SplitBy(s.fit.Time, 0.2, nil)
	case s.last:
		rest, held = t.Split(0.2, nil)
	default:
		rest, held = t.Split(0.2, src)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.data, err)
	}
	columns, err := rest.Columns(s.targets, s.fit)
	if err != nil {
		return fmt.Errorf("%s: %w", s.data, err)
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "column\tkind\tbecomes\tmissing")
	for _, c := range columns {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\n", c.Name, c.Kind, c.Becomes(), c.Missing)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	ctx := context.Background()
	if s.seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(s.seconds)*time.Second)
		defer cancel()
	}
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		s.fit.Progress = progress(os.Stderr)
	}
	m, err := table.Fit(ctx, rest, s.targets, s.fit, src)
	if s.fit.Progress != nil {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
	if err != nil && (m == nil || ctx.Err() == nil) {
		return fmt.Errorf("%s: %w", s.data, err)
	}
	if _, err := fmt.Fprintf(stdout, "\n%s\n", m.Report()); err != nil {
		return err
	}
	if err := scores("At the %d rows held out: ", m, held, stdout); err != nil {
		return fmt.Errorf("%s: the rows held out: %w", s.data, err)
	}
	if err := cli.Save(stdout, "model", s.out, func(path string) error { return cli.Write(path, m.Write) }); err != nil || s.html == "" {
		return err
	}
	s.explain = s.data + ", held out"
	return s.importances(m, held, stdout)
}

// progress returns a function that writes the progress of a fit over the last line of a terminal.
func progress(w io.Writer) func(done, total int, family string) {
	return func(done, total int, family string) {
		fmt.Fprintf(w, "\r\x1b[K%d of %d parts %s", done, total, family)
	}
}

func (s settings) makeHouses(src rand.Source) (*table.Table, error) {
	var b bytes.Buffer
	if err := writeHouses(&b, s.rows, src); err != nil {
		return nil, err
	}
	if s.houses != "" {
		if err := os.WriteFile(s.houses, b.Bytes(), 0o666); err != nil {
			return nil, err
		}
	}
	return table.Read(&b, s.read)
}

func (s settings) open(path string) (*table.Table, error) {
	return open(path, func(r io.Reader) (*table.Table, error) { return table.Read(r, s.read) })
}

func open[V any](path string, read func(r io.Reader) (V, error)) (V, error) {
	file, err := os.Open(path)
	if err != nil {
		return *new(V), err
	}
	defer file.Close()
	v, err := read(file)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return v, err
}

// serve reads a model, and scores, explains or predicts the rows of files.
func (s settings) serve(stdout io.Writer) error {
	m, err := open(s.model, table.ReadModel)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		path string
		do   func(m *table.Model, t *table.Table, w io.Writer) error
	}{{s.score, score}, {s.explain, s.importances}, {s.predict, predict}} {
		if step.path == "" {
			continue
		}
		t, err := s.open(step.path)
		if err != nil {
			return err
		}
		if err := step.do(m, t, stdout); err != nil {
			return fmt.Errorf("%s: %w", step.path, err)
		}
	}
	return nil
}

func score(m *table.Model, t *table.Table, w io.Writer) error {
	return scores("At %d rows: ", m, t, w)
}

// scores prints a line for each target, after a text with the number of rows.
func scores(where string, m *table.Model, t *table.Table, w io.Writer) error {
	all, err := m.Score(t)
	targets := m.Targets()
	for _, target := range targets {
		if score := all[target]; err == nil {
			if len(targets) > 1 {
				_, err = fmt.Fprint(w, target, ": ")
			}
			if err == nil {
				_, err = fmt.Fprintf(w, where+"%v.\n", score.Rows, score)
			}
		}
	}
	return err
}

func (s settings) importances(m *table.Model, t *table.Table, w io.Writer) error {
	var all []*table.Explanation
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, target := range m.Targets() {
		e, err := m.Explain(t, target, rand.NewPCG(s.seed, 0))
		if err != nil {
			return err
		}
		if all = append(all, e); len(m.Targets()) > 1 {
			fmt.Fprintf(tabs, "%s\n", target)
		}
		fmt.Fprintln(tabs, "column\trise of the mean loss")
		for _, i := range e.Columns {
			fmt.Fprintf(tabs, "%s\t%.4g ± %.2g\n", i.Column, i.Loss, i.StdErr)
		}
	}
	if err := tabs.Flush(); err != nil {
		return err
	}
	return cli.Save(w, "page", s.html, func(path string) error {
		return cli.Write(path, func(w io.Writer) error { return writePage(w, s.explain, m, all) })
	})
}

func predict(m *table.Model, t *table.Table, w io.Writer) error {
	p, err := m.Predict(t, 0.05, 0.95)
	if err != nil {
		return err
	}
	lines := csv.NewWriter(w)
	head := m.Classes()
	if head == nil {
		for _, target := range m.Targets() {
			head = append(head, target, target+" 0.05", target+" 0.95")
		}
	}
	_ = lines.Write(head) // lines.Error tells
	for i := range t.Len() {
		var numbers []float64
		if p.Numbers == nil {
			numbers = p.Probabilities.Row(i)
		} else {
			for _, target := range m.Targets() {
				own := p.Numbers[target]
				numbers = append(numbers, own.Mean[i], own.Quantiles[0][i], own.Quantiles[1][i])
			}
		}
		var cells []string
		for _, v := range numbers {
			cells = append(cells, strconv.FormatFloat(v, 'g', -1, 64))
		}
		_ = lines.Write(cells)
	}
	lines.Flush()
	return lines.Error()
}

func separator(dst *rune) func(text string) error {
	return func(text string) error {
		if *dst, _ = utf8.DecodeRuneInString(text); text == `\t` {
			*dst = '\t'
		} else if string(*dst) != text || strings.ContainsAny(text, "\"\r\n") {
			return errors.New(`want one character, or \t for a tab`)
		}
		return nil
	}
}

func list(dst *[]string) func(text string) error {
	return func(text string) error {
		for name := range strings.SplitSeq(text, ",") {
			if name = strings.TrimSpace(name); name != "" {
				*dst = append(*dst, name)
			}
		}
		return nil
	}
}
