// Search compares a search of codes with an exact search: recall and errors, measured and by
// theory, memory, and time per query.
package main

import (
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/examples/internal/text"
	"github.com/seed-feabd252/randfeat/examples/internal/vectors"
)

const about = `search encodes vectors with 1, 2, 4 and 8 bits per coordinate and searches them by cosine.

Without flags it reads Newton's Opticks, which the Go distribution ships (or this module's README where it does
not), makes word vectors from it, and takes the means of the vectors of -words words in a row as the vectors to
search: passages of the text. -text names another text. -x names a NumPy file of numbers instead, n×d. Some of the
rows, drawn at random, become queries and are not searched.

For each scheme and number of bits it prints the root mean squared error of the estimated cosines and the recall:
the fraction of the true -k nearest rows among the -k rows found. The law of the codes predicts both. A picture shows
recall against bits.`

func main() { cli.Main("search", run) }

// settings are the flags.
type settings struct {
	x, text, plot          string
	seed                   uint64
	dim, words, queries, k int
}

func run(args []string, stdout io.Writer) error {
	var s settings
	fs := cli.NewFlags("search")
	fs.InputVar(&s.x, "x", "", "file", "NumPy file of the vectors, float32, n×d")
	fs.InputVar(&s.text, "text", "", "file", "text to use for Newton's Opticks")
	fs.OutputVar(&s.plot, "plot", "search.png", "picture of recall against bits", cli.Pictures...)
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness; the same seed gives the same errors and recalls")
	fs.IntVar(&s.dim, "dim", 128, 2, 2048, "dimension of the vectors made from a text")
	fs.IntVar(&s.words, "words", 8, 1, 10_000, "words of a passage of a text")
	fs.IntVar(&s.queries, "queries", 200, 1, 10_000, "queries")
	fs.IntVar(&s.k, "k", 10, 1, 1000, "how many rows a query finds")
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return err
	}
	all, from, err := s.vectors()
	if err != nil {
		return err
	}
	if err := cli.Fits(4*float64(s.queries)*float64(all.Rows), "-queries %d, with cosines of all %d vectors", s.queries, all.Rows); err != nil {
		return err
	}
	if all.Rows < s.queries+s.k {
		return fmt.Errorf("%d vectors, want at least %d for %d queries that find %d", all.Rows, s.queries+s.k, s.queries, s.k)
	}
	c := newComparison(s, all)
	fmt.Fprintf(stdout, "%s\n%d vectors to search, d = %d; %d queries\n\n", from, c.x.Rows, c.x.Cols, c.q.Rows)
	exact, rows, err := c.measure()
	if err != nil {
		return err
	}
	if err := c.report(stdout, exact, rows); err != nil {
		return err
	}
	return cli.Save(stdout, "picture of recall against bits", s.plot, c.picture(rows).Save)
}

// vectors returns all vectors and a description of their source.
func (s settings) vectors() (x dense.Matrix[float32], from string, err error) {
	if s.x != "" {
		t, shape, err := matrices.Read(s.x)
		if err != nil {
			return x, "", err
		}
		if t.Heads > 1 {
			return x, "", fmt.Errorf("%s has shape %v, want n×d", s.x, shape)
		}
		return dense.Head(t, 0, 0), s.x, nil
	}
	source, err := text.Read(s.text)
	if err != nil {
		return x, "", err
	}
	words := text.Words(source.Text)
	const vocabulary, window = 1500, 5
	model, err := vectors.Learn(words, vectors.Options{Dim: s.dim, Vocabulary: max(vocabulary, s.dim), Window: window}, rand.NewPCG(s.seed, 1))
	if err != nil {
		return x, "", fmt.Errorf("%s: %w", source.Name, err)
	}
	from = fmt.Sprintf("%s: means of the vectors of %d words in a row", source.Name, s.words)
	return passages(model, s.words), from, nil
}

// passages returns the mean vectors of consecutive passages of the given number of words. It drops
// an incomplete passage at the end.
func passages(m *vectors.Model, words int) dense.Matrix[float32] {
	x := dense.New[float32](len(m.Tokens)/words, m.Vectors.Cols)
	for i := range x.Rows {
		row := x.Row(i)
		for _, t := range m.Tokens[i*words : (i+1)*words] {
			for j, v := range m.Vectors.Row(t) {
				row[j] += float32(v) / float32(words)
			}
		}
	}
	return x
}
