// Attention compares linear attention with exact attention on a real text.
//
// The program makes word vectors of Newton's Opticks, which comes with Go. The words of the text
// give queries, keys and values. Every feature map is paired with every kind of frequencies, and
// each pair with several numbers of frequencies. The program measures each combination against
// exact softmax attention and shows error, bias, time and memory as a table and as a picture. Then
// it predicts errors without exact attention, and shows an estimate without bias. -q -k -v take
// tensors of your own instead.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/progress"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

const about = `attention compares linear attention with exact softmax attention softmax(QKᵀ/√d)·V.

Without flags it reads Newton's Opticks, which the Go distribution ships (or this module's README where it does
not), makes word vectors of dimension 64 from it, and takes the vectors of L words of running text as queries, keys
and values. -text names another text. -q, -k and -v name NumPy files instead: float32 or float64, C order, L×d or
heads×L×d; heads are handled one after another, with the same frequencies.

It prints a table with a row for each feature map, kind of frequencies and number of them, and draws error against
that number. -map, -projection and -m take lists separated by commas and narrow the table. Three short tables follow:
the exact error of the kernel under more estimators, and which of them is best for these tokens; the error that is
predicted without exact attention, beside the measured one; and the bias of a ratio of sums, beside an estimate without.

-o writes the output of one linear attention as a NumPy file in the type and shape of the exact output. Which one is
for -map, -projection and -m to say, each with one name then; left out they mean positive, gram-schmidt and 256.`

func main() { cli.Main("attention", run) }

// settings are the flags.
type settings struct {
	q, k, v, out, text, plot string
	causal                   bool
	seed                     uint64
	length, draws            int
	norm                     float64
	chosen                   selection // rows of the table
	written                  selection // the one combination that -o writes
}

func run(args []string, stdout, stderr io.Writer) error {
	s, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	if s.q == "" {
		in, err := fromText(s)
		if err != nil {
			return err
		}
		return compare(s, in, stdout, stderr)
	}
	kind, err := checkFiles(s)
	if err != nil {
		return err
	}
	if kind == reflect.Float32 {
		return compareFiles[float32](s, stdout, stderr)
	}
	return compareFiles[float64](s, stdout, stderr)
}

func compareFiles[T dense.Float](s settings, stdout, stderr io.Writer) error {
	in, err := fromFiles[T](s)
	if err != nil {
		return err
	}
	return compare(s, in, stdout, stderr)
}

// compare measures what s chooses on the tensors and reports it.
func compare[T dense.Float](s settings, in input[T], stdout, stderr io.Writer) error {
	c, err := newComparison(s, in)
	if err != nil {
		return err
	}
	c.describe(stdout)
	if s.out != "" {
		rel, err := c.write(s.written, s.out)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "wrote %s: %v, relative error %.3g\n\n", s.out, s.written, rel)
	}
	bar := progress.New(stderr, len(s.chosen.projections)*len(s.chosen.sizes)*s.draws, "measuring")
	rows, err := c.measure(s.chosen, bar)
	bar.Close()
	if err != nil {
		return err
	}
	if err := c.report(stdout, rows); err != nil {
		return err
	}
	if err := c.extras(stdout); err != nil {
		return err
	}
	if !slices.ContainsFunc(rows, func(r row) bool { return r.m > 0 && finite(r.err) }) {
		_, err := fmt.Fprintln(stdout, "\nNo picture: every estimate overflowed")
		return err
	}
	if err := c.picture(rows).Save(s.plot); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "\nThe picture of error against m is in %s\n", s.plot)
	return err
}

// extras reports the estimator that suits the tokens best, predictions of errors, and the bias of a
// ratio.
func (c *comparison[T]) extras(stdout io.Writer) error {
	choices, err := c.choose(c.chosen.sizes)
	if err != nil {
		return err
	}
	if err := reportChoices(stdout, c.chosen.sizes, choices); err != nil {
		return err
	}
	predictions, err := c.predictions(c.chosen)
	if err != nil {
		return err
	}
	if err := reportPredictions(stdout, c.chosen, predictions); err != nil {
		return err
	}
	ratios, err := c.ratios()
	if err != nil {
		return err
	}
	return c.reportRatios(stdout, ratios)
}

// parse reads the flags and checks what can be checked before any work.
func parse(args []string, stdout io.Writer) (s settings, done bool, err error) {
	fs := flag.NewFlagSet("attention", flag.ContinueOnError)
	fs.StringVar(&s.q, "q", "", "NumPy `file` of queries, L×d or heads×L×d")
	fs.StringVar(&s.k, "k", "", "NumPy `file` of keys")
	fs.StringVar(&s.v, "v", "", "NumPy `file` of values")
	fs.StringVar(&s.out, "o", "", "write the output of linear attention to this NumPy `file`")
	fs.StringVar(&s.text, "text", "", "`file` of a text to use for Newton's Opticks")
	fs.StringVar(&s.plot, "plot", "attention.png", "`file` of the picture, .png or .svg")
	fs.BoolVar(&s.causal, "causal", false, "let every token see itself and those before it only")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness; the same seed gives the same errors")
	fs.IntVar(&s.length, "length", 2048, "tokens L taken from the middle of the text")
	fs.IntVar(&s.draws, "draws", 5, "draws of the frequencies that an error bar is made of")
	fs.Float64Var(&s.norm, "norm", 5, "length of the queries and keys made from a text")
	maps := fs.String("map", "", "feature maps: "+strings.Join(mapNames, ", ")+" (default all)")
	projections := fs.String("projection", "", "frequencies: "+strings.Join(projectionNames, ", ")+" (default all)")
	sizes := fs.String("m", "", "numbers of frequencies m (default 64,256,1024)")
	if done, err := cli.Parse(fs, about, args, stdout); done || err != nil {
		return s, done, err
	}
	if s.chosen, err = choose(*maps, *projections, *sizes, s.out != ""); err != nil {
		return s, false, err
	}
	s.written = s.chosen.single()
	given := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return s, false, s.check(given)
}

// check reports flags that are out of range or contradict each other.
func (s settings) check(given map[string]bool) error {
	if given["q"] || given["k"] || given["v"] {
		for _, f := range []struct{ name, path string }{{"q", s.q}, {"k", s.k}, {"v", s.v}} {
			if f.path == "" {
				return fmt.Errorf("-%s is missing: -q, -k and -v go together", f.name)
			}
		}
		for _, name := range []string{"text", "length", "norm"} {
			if given[name] {
				return fmt.Errorf("-%s is about a text, and -q, -k and -v name tensors", name)
			}
		}
	}
	switch {
	case s.length < 2:
		return fmt.Errorf("-length %d, want at least 2", s.length)
	case s.draws < 2:
		return fmt.Errorf("-draws %d, want at least 2 to make an error bar", s.draws)
	case !(s.norm > 0) || math.IsInf(s.norm, 0):
		return fmt.Errorf("-norm %v, want a positive number", s.norm)
	}
	if s.out != "" {
		if info, err := os.Stat(filepath.Dir(s.out)); err != nil {
			return fmt.Errorf("-o: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("-o: %s is not in a folder", s.out)
		}
	}
	return charts.CheckPath(s.plot)
}

// choose returns the selection of the lists of -map, -projection and -m. If one is set, each list
// may have one entry only.
func choose(maps, projections, sizes string, one bool) (c selection, err error) {
	if c.maps, err = pick("-map", maps, mapNames, one); err != nil {
		return c, err
	}
	if c.projections, err = pick("-projection", projections, projectionNames, one); err != nil {
		return c, err
	}
	if sizes == "" {
		c.sizes = []int{64, 256, 1024}
		return c, nil
	}
	list := strings.Split(sizes, ",")
	if one && len(list) > 1 {
		return c, fmt.Errorf("-m %s: -o writes one output, want one number", sizes)
	}
	for _, item := range list {
		const most = 1 << 16
		m, err := strconv.Atoi(strings.TrimSpace(item))
		if err != nil || m < 1 || m > most {
			return c, fmt.Errorf("-m %q, want whole numbers from 1 to %d", item, most)
		}
		c.sizes = append(c.sizes, m)
	}
	return c, nil
}
