// Table learns a column of a table with text, categories and missing values, and serves the model.
//
// It reads a CSV file, determines the kinds of its columns, and encodes rows as points. Package
// automl learns a model of numbers or classes, and the program prints its errors at held-out rows.
// Then it writes the model and the encoding of the columns, reads both, and predicts a raw row.
package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

const about = `table learns a column of a CSV file from the other columns, and serves the model. Without -data it makes up a table of
houses with text, categories and missing values, whose prices have noise of standard deviation 20.

The first line of the file has names. A first column without a name has names of rows, as R and pandas write them, and is
left out. A missing value is empty, NA, N/A, NaN, null or ?. Kinds of columns:
    number     nine of ten values that are there are numbers, and then all have to be. A missing
               one becomes the mean, and a further column says which are missing
    category   half of the values that are there occur in 10 rows or more; a column of 0 and 1 for each of those
               categories, one for rare and unknown ones, and one for missing ones
    text       other columns, names and dates for instance, which are left out, as columns are that do not vary
Rows without a target are left out. A fifth of the others is held out: nothing above is learnt from those.

The target is a number, or a class with -classes or if fewer than half of its values are numbers. Package automl
chooses the model.

Rows that depend on each other, as in time series, need -last: random rows tell what it is worth to know their neighbours.
Of a target with a long tail, put the logarithm into the file.`

func main() { cli.Main("table", run) }

// settings are the flags.
type settings struct {
	data, target        string
	category, skip, log []string
	rows                int
	last, classes       bool
	comma               rune
	out, row            string
	seed                uint64
}

func run(args []string, stdout io.Writer) error {
	s := settings{comma: ','}
	fs := cli.NewFlags("table")
	fs.InputVar(&s.data, "data", "", "file", "CSV file to use for houses that are made up")
	fs.StringVar(&s.target, "target", "", "name of the `column` to predict; price for houses")
	fs.BoolVar(&s.classes, "classes", "the numbers of the target are classes")
	fs.Func("comma", "`character` between values, or \\t for a tab; a comma if not given. Beside ; numbers may have decimal commas", separator(&s.comma))
	fs.Func("category", "`columns` that are categories though they have numbers: names with commas between them", list(&s.category))
	fs.Func("skip", "`columns` to leave out", list(&s.skip))
	fs.Func("log", "`columns` of positive numbers to take logarithms of", list(&s.log))
	// A million rows take minutes and a gigabyte.
	fs.IntVar(&s.rows, "rows", 2500, 40, 1_000_000, "houses to make up")
	fs.BoolVar(&s.last, "last", "hold out the last rows of the file, not random ones")
	fs.StringVar(&s.out, "out", "", "`folder` to keep the model, the encoding and the houses in")
	fs.StringVar(&s.row, "row", "", "`line` of the file's form to predict, without a target; empty for the first row held out")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness; the same seed gives the same output")
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return err
	}
	switch {
	case s.data == "" && s.target != "":
		return fmt.Errorf("-target %q without -data", s.target)
	case s.data == "" && (s.classes || s.comma != ','):
		return fmt.Errorf("-classes or -comma without -data")
	case s.data != "" && s.target == "":
		return fmt.Errorf("-data without -target, want the name of the column to predict")
	}
	if s.out != "" {
		if err := cli.Folder("out", s.out); err != nil {
			return err
		}
		return s.learn(stdout, s.out)
	}
	folder, err := os.MkdirTemp("", "table")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	return s.learn(stdout, folder)
}

// learn runs all steps from the file to the prediction.
func (s settings) learn(stdout io.Writer, folder string) error {
	ctx, src := context.Background(), rand.NewPCG(s.seed, 0)
	if s.data == "" {
		s.data, s.target = filepath.Join(folder, "houses.csv"), "price"
		if err := cli.Write(s.data, func(w io.Writer) error { return writeHouses(w, s.rows, src) }); err != nil {
			return err
		}
	}
	t, err := readTable(s.data, s.comma)
	if err != nil {
		return err
	}
	d, err := s.prepare(t, src)
	if err != nil {
		return fmt.Errorf("%s: %w", s.data, err)
	}
	fmt.Fprintf(stdout, "%d rows to learn %s from, %d held out", len(d.seen), s.target, len(d.heldOut))
	if d.untold > 0 {
		fmt.Fprintf(stdout, ", %d left out that have none", d.untold)
	}
	fmt.Fprintf(stdout, "; %d columns of points:\n\n", d.encoder.width())
	if err := d.columnsTable().Fprint(stdout); err != nil {
		return err
	}

	if d.note != "" {
		fmt.Fprintf(stdout, "\n%s", d.note)
	}
	found, err := automl.Fit(ctx, d.train, automl.Options{Classes: len(d.labels), Labels: d.labels}, src)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\n%v\nAt the %d rows held out: %s.\n", found.Report, len(d.heldOut), d.errors(found))
	if err := writeModel(folder, found, d.encoder); err != nil {
		return err
	}
	return d.serve(stdout, folder, s)
}

// list returns a function that appends the names in a text, separated by commas, to dst.
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
