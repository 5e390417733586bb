// Search measures indexes of vectors: recall, bytes and times with codes alone and with rows.
package main

import (
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
)

const about = `search puts vectors into indexes with 1 to 8 bits per number, and searches the indexes by cosine.

Without flags it draws vectors in clusters of 200, with centres and noise of the same size. -x names a NumPy file of
your own vectors, n×d. Some of the vectors, drawn at random, become queries and are not searched.

For each number of bits it prints the bytes of a vector in the file of the index, the recall (the share of the true -k
nearest vectors among the -k vectors found), the share of the -k nearest that a search within their radius misses, and
the time of a search. Searches of codes and rows read as few of the vectors themselves as the law of codes allows. A
picture shows recall against bytes.`

func main() { cli.Main("search", run) }

type settings struct {
	x, plot               string
	seed                  uint64
	rows, dim, queries, k int
}

func run(args []string, stdout io.Writer) error {
	var s settings
	fs := cli.NewFlags("search")
	fs.InputVar(&s.x, "x", "", "file", "NumPy file of the vectors, float32, n×d")
	fs.OutputVar(&s.plot, "plot", "search.png", "picture of recall against bytes", cli.Pictures...)
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness; the same seed gives the same errors and recalls")
	fs.IntVar(&s.rows, "rows", 10_000, 1, 1_000_000, "vectors in clusters")
	fs.IntVar(&s.dim, "dim", 128, 1, 1024, "dimension of the vectors in clusters")
	fs.IntVar(&s.queries, "queries", 100, 1, 10_000, "queries")
	fs.IntVar(&s.k, "k", 10, 1, 1000, "how many rows a query finds")
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return err
	}
	all, err := s.vectors()
	if err != nil {
		return err
	}
	if gib := 4 * float64(s.queries) * float64(all.Rows) / (1 << 30); gib > 8 {
		return fmt.Errorf("-queries %d, with cosines of all %d vectors: %.3g GiB of memory, want at most 8", s.queries, all.Rows, gib)
	}
	if all.Rows < s.queries+s.k {
		return fmt.Errorf("%d vectors, want at least %d for %d queries that find %d", all.Rows, s.queries+s.k, s.queries, s.k)
	}
	c := newComparison(s, all)
	fmt.Fprintf(stdout, "%d vectors to search, d = %d; %d queries\n\n", c.x.Rows, c.x.Cols, c.q.Rows)
	f, err := c.compare(stdout)
	if err != nil {
		return err
	}
	return cli.Save(stdout, "picture of recall against bytes", s.plot, f.Save)
}

func (s settings) vectors() (x dense.Matrix[float32], err error) {
	if s.x == "" {
		return clustered(s.rows, s.dim, rand.New(rand.NewPCG(s.seed, 1))), nil
	}
	t, shape, err := matrices.Read(s.x)
	if err == nil && t.Heads > 1 {
		err = fmt.Errorf("%s has shape %v, want n×d", s.x, shape)
	}
	if err != nil {
		return x, err
	}
	return dense.Head(t, 0, 0), nil
}

func clustered(n, d int, rng *rand.Rand) dense.Matrix[float32] {
	x, centres := dense.New[float32](n, d), dense.New[float32](n/200+1, d)
	for i := range centres.Data {
		centres.Data[i] = float32(rng.NormFloat64())
	}
	for i := range n {
		for j, v := range centres.Row(rng.IntN(centres.Rows)) {
			x.Set(i, j, v+float32(rng.NormFloat64()))
		}
	}
	return x
}
