// Table learns a column of a table with text, categories and missing values, and serves the model.
//
// It reads a CSV file, determines the kinds of its columns, and encodes rows as points. It chooses
// a map and its number of features by the evidence and by folds, and prints the errors at held-out
// rows. Then it writes the model and the encoding of the columns, reads both, and predicts a raw
// row.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
)

const about = `table learns a column of a CSV file from the other columns, and serves the model. Without -data it makes up a table of
houses with text, categories and missing values, whose prices have noise of standard deviation 20.

The first line of the file has names. A missing value is empty, NA, N/A, NaN, null or ?. Kinds of columns:
    number     nine of ten values that are there are numbers, and then all have to be; centred and scaled to deviation 1.
               A missing one becomes the mean, and a further column says which are missing
    category   half of the values that are there occur in 10 rows or more; a column of 0 and 1 for each of those
               categories, one for rare and unknown ones, and one for missing ones
    text       other columns, names and dates for instance, which are left out, as columns are that do not vary
Rows without a target are left out. A fifth of the others is held out: nothing above is learnt from those.

Maps are the columns themselves (linear), features of the Gaussian kernel with one length-scale, in parts of the root mean
square distance of rows, and with a length-scale for each column, which is learnt with the most features. Scales are learnt
from one half of the rows and maps are compared on the other. The map with the smallest error of folds is served, made and
fitted again with all rows but those held out.

Rows that depend on each other, as in time series, need -last: random rows tell what it is worth to know their neighbours.
Bands know one noise for all rows: of a target with a long tail, put the logarithm into the file.`

func main() { cli.Main("table", run) }

// settings are the flags.
type settings struct {
	data, target        string
	category, skip, log []string
	rows                int
	last                bool
	features            []int
	out, row            string
	seed                uint64
}

func run(args []string, stdout io.Writer) error {
	s := settings{features: []int{64, 128, 256}}
	fs := cli.NewFlags("table")
	fs.InputVar(&s.data, "data", "", "file", "CSV file to use for houses that are made up")
	fs.StringVar(&s.target, "target", "", "name of the `column` to predict; price for houses")
	fs.Func("category", "`columns` that are categories though they have numbers: names with commas between them", list(&s.category))
	fs.Func("skip", "`columns` to leave out", list(&s.skip))
	fs.Func("log", "`columns` of positive numbers to take logarithms of", list(&s.log))
	// A million rows take minutes and a gigabyte.
	fs.IntVar(&s.rows, "rows", 2500, 40, 1_000_000, "houses to make up")
	fs.BoolVar(&s.last, "last", "hold out the last rows of the file, not random ones")
	fs.Func("features", "`numbers` of features D to choose among: "+wantFeatures+" (default 64,128,256)", s.parseFeatures)
	fs.StringVar(&s.out, "out", "", "`folder` to keep the model, the encoding and the houses in")
	fs.StringVar(&s.row, "row", "", "`line` of the file's form to predict, without a target; empty for the first row held out")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness; the same seed gives the same output")
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return err
	}
	switch {
	case s.data == "" && s.target != "":
		return fmt.Errorf("-target %q without -data", s.target)
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
	t, err := readTable(s.data)
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

	all, err := choose(ctx, d.train, s.features, src)
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, "\nMaps, with the best by each criterion marked:\n\n")
	if err := mapsTable(all).Fprint(stdout); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\nAt the %d rows held out, for the best of each kind by folds. Right bands hold 90.0 ± %.1f %%:\n\n",
		len(d.heldOut), 100*math.Sqrt(0.9*0.1/float64(len(d.heldOut))))
	if err := d.errorsTable(all).Fprint(stdout); err != nil {
		return err
	}

	if err := writeModel(ctx, folder, all[best(all, byFolds)].model, d.encoder); err != nil {
		return err
	}
	return d.serve(stdout, folder, s)
}

// wantFeatures describes the text that parseFeatures accepts. 16 numbers of features take seconds
// each.
const wantFeatures = "at most 16 even numbers from 2 to 2048 with commas between them"

func (s *settings) parseFeatures(text string) error {
	s.features = nil
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 2 || n > 2048 || n%2 != 0 || len(s.features) == 16 {
			return errors.New("want " + wantFeatures)
		}
		s.features = append(s.features, n)
	}
	return nil
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
