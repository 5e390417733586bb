// Attention measures the time and the error of approximations of attention on heads of a language
// model. The program compares kinds of attention with exact softmax attention on two heads of
// SmolLM2, in folder smollm2, or on the tensors of -q, -k and -v.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
)

const about = `attention compares approximations of attention with exact softmax attention softmax(QKᵀ/√d)·V.

-heads names a folder of folders with the files q.npy, k.npy and v.npy, which transformer -save writes. The default are two
heads of SmolLM2-135M-Instruct: head 1 of layer 9 on Newton's Opticks, and head 8 of layer 21 on a file of Go,
net/http/server.go. The program takes the first tokens of both, as many as -length says.

-q, -k and -v name NumPy files instead, in C order with shape L×d or heads×L×d. The program reads them in float32, and handles
one head after another.

The program prints the error of attention in several sizes (-size) and the speed relative to exact attention, draws both,
and prints the attention that keeps -tolerance. Random features (SDERF, FAVOR+) lose on the heads of SmolLM2: their
errors exceed the error of the mean of all values.

-o writes the outputs that keep -tolerance as a NumPy file of float32 with the shape of the exact output.`

func main() { cli.Main("attention", run) }

type settings struct {
	q, k, v, out, folder, plot string
	causal                     bool
	seed                       uint64
	draws                      int
	tolerance                  float64
	sizes, lengths             []int
}

func run(args []string, stdout io.Writer) error {
	s, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	inputs, err := s.inputs()
	if err != nil {
		return err
	}
	var all []*comparison
	for i, in := range inputs {
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		c, err := newComparison(s, in)
		if err != nil {
			return err
		}
		if err := c.report(stdout); err != nil {
			return err
		}
		all = append(all, c)
	}
	if err := cli.Save(stdout, "picture of error against time", s.plot, s.picture(all...).Save); err != nil {
		return err
	}
	for _, c := range all {
		if len(all) > 1 {
			fmt.Fprintf(stdout, "\n%s:\n", c.title)
		}
		if err := c.answer(stdout); err != nil {
			return err
		}
	}
	return nil
}

func parse(args []string, stdout io.Writer) (s settings, done bool, err error) {
	fs := cli.NewFlags("attention")
	fs.InputVar(&s.folder, "heads", "examples/attention/smollm2", "folder", "folder of heads of a model")
	fs.InputVar(&s.q, "q", "", "file", "NumPy file of queries, L×d or heads×L×d")
	fs.InputVar(&s.k, "k", "", "file", "NumPy file of keys")
	fs.InputVar(&s.v, "v", "", "file", "NumPy file of values")
	fs.OutputVar(&s.out, "o", "", "NumPy file of the outputs that keep -tolerance")
	fs.OutputVar(&s.plot, "plot", "attention.png", "picture of error against time", cli.Pictures...)
	fs.BoolVar(&s.causal, "causal", "let every token see itself and those before it only")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness; the same seed gives the same errors")
	fs.Float64Var(&s.tolerance, "tolerance", 0.05, 1e-6, 1000, "relative error of the outputs that is asked for")
	fs.IntVar(&s.draws, "draws", 5, 2, 1000, "draws of the frequencies that an error bar is made of")
	sizes := fs.String("size", "64,256,1024", fmt.Sprintf("10 over the threshold of blocks, or frequencies m: whole `numbers` from 1 to %d with commas between them", largest))
	// Exact attention of the most tokens takes minutes.
	lengths := fs.String("length", "2048,8192", fmt.Sprintf("tokens L of the heads: whole `numbers` from 1 to %d with commas between them", longest))
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return s, done, err
	}
	if s.sizes, err = list("size", *sizes, largest); err != nil {
		return s, false, err
	}
	if s.lengths, err = list("length", *lengths, longest); err != nil {
		return s, false, err
	}
	given := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return s, false, s.check(given)
}

const (
	largest = 1 << 13 // size
	longest = 1 << 17
)

func list(flag, text string, most int) (all []int, err error) {
	for item := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(item))
		if err != nil || n < 1 || n > most {
			return nil, fmt.Errorf("-%s %q, want whole numbers from 1 to %d", flag, item, most)
		}
		all = append(all, n)
	}
	return all, nil
}

// given holds the names of the given flags.
func (s settings) check(given map[string]bool) error {
	if !given["q"] && !given["k"] && !given["v"] {
		switch {
		case s.folder == "":
			return errors.New("-heads is empty, want a folder, or -q, -k and -v")
		case s.out != "" && len(s.lengths) > 1:
			return fmt.Errorf("-o is given, want one -length, have %v", s.lengths)
		}
		return nil
	}
	for _, f := range []struct{ name, path string }{{"q", s.q}, {"k", s.k}, {"v", s.v}} {
		if f.path == "" {
			return fmt.Errorf("-%s is missing: -q, -k and -v go together", f.name)
		}
	}
	for _, name := range []string{"heads", "length"} {
		if given[name] {
			return fmt.Errorf("-%s is about heads of a model, and -q, -k and -v name tensors", name)
		}
	}
	return nil
}
