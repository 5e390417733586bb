// Attention measures the time and the error of approximations of attention, on a real text and on
// heads of a language model.
//
// The program computes word vectors of Newton's Opticks, which comes with Go. The words of the text
// give queries, keys and values. The program compares forms of attention with exact softmax
// attention, in a table and in a picture of error against time. It does the same for two heads of
// SmolLM2, in folder smollm2. It ends with attention to a tolerance. -q, -k and -v name other
// tensors.
package main

import (
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

const about = `attention compares approximations of attention with exact softmax attention softmax(QKᵀ/√d)·V.

Without flags it reads Newton's Opticks, which the Go distribution ships, or else the README of this module. It computes
word vectors of dimension 64. The vectors of L words of running text are the queries, keys and values. -text names
another text. -q, -k and -v name NumPy files instead, in C order with shape L×d or heads×L×d. The program reads them in
float32, and handles one head after another.

The program then compares attention on heads of a language model. -heads names a folder of folders with the files q.npy, k.npy
and v.npy, which transformer -save writes. The default are two heads of SmolLM2-135M-Instruct over 8192 tokens: head 1 of layer
9 on Newton's Opticks, and head 8 of layer 21 on a file of Go, net/http/server.go.

The program prints the error of forms of several sizes (-size) and their speed relative to exact attention, draws both,
and prints the form of attention that keeps -tolerance.

-o writes the outputs that keep -tolerance as a NumPy file of float32 with the shape of the exact output.`

func main() { cli.Main("attention", run) }

// settings are the flags.
type settings struct {
	q, k, v, out, text, folder, plot string
	causal                           bool
	seed                             uint64
	length, draws                    int
	norm, tolerance                  float64
	sizes                            []int // of forms
}

// run compares forms on the tensors of files, or on a text and on heads of a model.
func run(args []string, stdout io.Writer) error {
	s, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	from := fromText
	if s.q != "" {
		from = fromFiles
	}
	in, err := from(s)
	if err != nil {
		return err
	}
	first, err := compare(s, in, stdout)
	if err != nil {
		return err
	}
	all := []compared{first}
	if s.q == "" {
		heads, err := compareHeads(s, stdout)
		if err != nil {
			return err
		}
		all = append(all, heads...)
	}
	return s.end(stdout, all...)
}

// compared is the result of a comparison: a panel of the picture and the text of the answer.
type compared struct {
	length, dim int
	panel       charts.Panel
	answer      string
}

// end draws the picture and prints the answers.
func (s settings) end(stdout io.Writer, all ...compared) error {
	if err := cli.Save(stdout, "picture of error against time", s.plot, s.picture(all...).Save); err != nil {
		return err
	}
	for _, c := range all {
		if len(all) > 1 {
			fmt.Fprintf(stdout, "\n%s:\n", c.panel.Title)
		}
		if _, err := fmt.Fprintln(stdout, c.answer); err != nil {
			return err
		}
	}
	return nil
}

// compare chooses attention to the tolerance, then measures and reports all forms on the tensors.
func compare(s settings, in input, stdout io.Writer) (compared, error) {
	c, err := newComparison(s, in)
	if err != nil {
		return compared{}, err
	}
	c.describe(stdout)
	answer, err := c.answer()
	if err != nil {
		return compared{}, err
	}
	rows, err := c.measureForms()
	if err != nil {
		return compared{}, err
	}
	references, err := c.references()
	if err != nil {
		return compared{}, err
	}
	rows = append(rows, references...)
	return c.compared(rows, answer), c.report(stdout, rows)
}

// parse reads and checks the flags.
func parse(args []string, stdout io.Writer) (s settings, done bool, err error) {
	fs := cli.NewFlags("attention")
	fs.InputVar(&s.q, "q", "", "file", "NumPy file of queries, L×d or heads×L×d")
	fs.InputVar(&s.k, "k", "", "file", "NumPy file of keys")
	fs.InputVar(&s.v, "v", "", "file", "NumPy file of values")
	fs.OutputVar(&s.out, "o", "", "NumPy file of the outputs that keep -tolerance")
	fs.InputVar(&s.text, "text", "", "file", "text to use for Newton's Opticks")
	fs.InputVar(&s.folder, "heads", headsFolder, "folder", "folder of heads of a model")
	fs.OutputVar(&s.plot, "plot", "attention.png", "picture of error against time", cli.Pictures...)
	fs.BoolVar(&s.causal, "causal", "let every token see itself and those before it only")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness; the same seed gives the same errors")
	// Exact attention of the most tokens takes minutes.
	fs.IntVar(&s.length, "length", 16384, 2, 1<<17, "tokens L taken from the middle of the text")
	fs.Float64Var(&s.tolerance, "tolerance", 0.05, 1e-6, 1000, "relative error of the outputs that is asked for")
	fs.IntVar(&s.draws, "draws", 5, 2, 1000, "draws of the frequencies that an error bar is made of")
	fs.Float64Var(&s.norm, "norm", 5, 1e-6, 1000, "length of the queries and keys made from a text")
	sizes := fs.String("size", "64,256,1024", fmt.Sprintf("clusters, or frequencies m: whole `numbers` from 1 to %d with commas between them", largest))
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
		for _, name := range []string{"text", "heads", "length", "norm"} {
			if given[name] {
				return fmt.Errorf("-%s is about a text, and -q, -k and -v name tensors", name)
			}
		}
	}
	return nil
}

// largest is the largest size.
const largest = 1 << 13
