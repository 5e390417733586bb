// Attention measures the time and the error of approximations of attention on heads of a trained
// transformer.
//
// The program compares forms of attention with exact softmax attention, in a table and in a picture
// of error against time, on heads of the decoder in examples/transformer/trained or on the tensors
// of -q, -k and -v. It ends with attention to a tolerance.
package main

import (
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
)

const about = `attention compares approximations of attention with exact softmax attention softmax(QKᵀ/√d)·V.

Without flags it takes a head of each layer of a trained decoder, in -model, for L tokens of the Go distribution. The
default model has 3.7 million parameters and was trained for 81 minutes on the text of that distribution. -q, -k and -v
name NumPy files instead, in C order with shape L×d or heads×L×d. The program reads them in float32, and handles one
head after another.

The program prints the error of forms of several sizes (-size) and their speed relative to exact attention, draws both,
and prints the form of attention that keeps -tolerance.

-o writes the outputs that keep -tolerance as a NumPy file of float32 with the shape of the exact output.`

func main() { cli.Main("attention", run) }

// settings are the flags.
type settings struct {
	q, k, v, out, model, plot string
	causal                    bool
	seed                      uint64
	length, draws             int
	tolerance                 float64
	sizes                     []int // of forms
}

// run compares forms on the heads of a model, or on the tensors of files.
func run(args []string, stdout io.Writer) error {
	s, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	from := fromModel
	if s.q != "" {
		from = fromFiles
	}
	in, err := from(s)
	if err != nil {
		return err
	}
	c, err := newComparison(s, in)
	if err != nil {
		return err
	}
	c.describe(stdout)
	answer, err := c.answer()
	if err != nil {
		return err
	}
	rows, err := c.measure()
	if err != nil {
		return err
	}
	if err := c.report(stdout, rows); err != nil {
		return err
	}
	if err := cli.Save(stdout, "picture of error against time", s.plot, c.picture(rows).Save); err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, answer)
	return err
}

// parse reads and checks the flags.
func parse(args []string, stdout io.Writer) (s settings, done bool, err error) {
	fs := cli.NewFlags("attention")
	fs.InputVar(&s.q, "q", "", "file", "NumPy file of queries, L×d or heads×L×d")
	fs.InputVar(&s.k, "k", "", "file", "NumPy file of keys")
	fs.InputVar(&s.v, "v", "", "file", "NumPy file of values")
	fs.OutputVar(&s.out, "o", "", "NumPy file of the outputs that keep -tolerance")
	fs.InputVar(&s.model, "model", trainedModel, "folder", "folder of a decoder")
	fs.OutputVar(&s.plot, "plot", "attention.png", "picture of error against time", cli.Pictures...)
	fs.BoolVar(&s.causal, "causal", "let every token see itself and those before it only")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness; the same seed gives the same errors")
	// Exact attention of the most tokens takes minutes.
	fs.IntVar(&s.length, "length", 16384, 2, 1<<17, "tokens L of the texts")
	fs.Float64Var(&s.tolerance, "tolerance", 0.05, 1e-6, 1000, "relative error of the outputs that is asked for")
	fs.IntVar(&s.draws, "draws", 2, 2, 1000, "draws of the frequencies that an error bar is made of")
	sizes := fs.String("size", "64,256,1024", fmt.Sprintf("landmarks, clusters, or frequencies m: whole `numbers` from 1 to %d with commas between them", largest))
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return s, done, err
	}
	for item := range strings.SplitSeq(*sizes, ",") {
		m, err := strconv.Atoi(strings.TrimSpace(item))
		if err != nil || m < 1 || m > largest {
			return s, false, fmt.Errorf("-size %q, want whole numbers from 1 to %d", item, largest)
		}
		s.sizes = append(s.sizes, m)
	}
	given := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return s, false, s.check(given)
}

// check returns an error for flags that contradict each other. given holds the names of the given
// flags.
func (s settings) check(given map[string]bool) error {
	if given["q"] || given["k"] || given["v"] {
		for _, f := range []struct{ name, path string }{{"q", s.q}, {"k", s.k}, {"v", s.v}} {
			if f.path == "" {
				return fmt.Errorf("-%s is missing: -q, -k and -v go together", f.name)
			}
		}
		for _, name := range []string{"model", "length"} {
			if given[name] {
				return fmt.Errorf("-%s is about a model, and -q, -k and -v name tensors", name)
			}
		}
	}
	return nil
}

// largest is the largest size. Attention by landmarks holds a matrix of that order.
const largest = 1 << 13
