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
your own vectors, n×d. Some of the vectors, drawn at random, become queries and are not searched; -q names a file of
other queries.

For each number of bits it prints the bytes of a vector in the file of the index, the recall (the share of the true -k
nearest vectors among the -k vectors found), the share of the -k nearest that a search within their radius misses, and
the time of a search. Searches of codes and rows read as few of the vectors themselves as the law of codes allows. A
picture shows recall against bytes.

-codes prints instead what codes alone say of inner products: bytes of a row, recall, the root mean square of the error
over all rows, and the law, the mean of (error/StdErr)², which is 1 if standard errors are right.`

func main() { cli.Main("search", run) }

type settings struct {
	x, q, plot            string
	codes                 bool
	seed                  uint64
	rows, dim, queries, k int
}

func run(args []string, stdout io.Writer) error {
	var s settings
	fs := cli.NewFlags("search")
	fs.InputVar(&s.x, "x", "", "file", "NumPy file of the vectors, float32, n×d")
	fs.InputVar(&s.q, "q", "", "file", "NumPy file of the queries, float32, n×d; some of the vectors without it")
	fs.BoolVar(&s.codes, "codes", "print recall, error and law of codes for inner products")
	fs.OutputVar(&s.plot, "plot", "search.png", "picture of recall against bytes", cli.Pictures...)
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness; the same seed gives the same errors and recalls")
	fs.IntVar(&s.rows, "rows", 10_000, 1, 1_000_000, "vectors in clusters")
	fs.IntVar(&s.dim, "dim", 128, 1, 1024, "dimension of the vectors in clusters")
	fs.IntVar(&s.queries, "queries", 100, 1, 10_000, "queries")
	fs.IntVar(&s.k, "k", 10, 1, 1000, "how many rows a query finds")
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return err
	}
	x, q, err := s.vectors()
	if err != nil {
		return err
	}
	if gib := 4 * float64(q.Rows) * float64(x.Rows) / (1 << 30); gib > 8 {
		return fmt.Errorf("-queries %d, with cosines of all %d vectors: %.3g GiB of memory, want at most 8", q.Rows, x.Rows, gib)
	}
	fmt.Fprintf(stdout, "%d vectors to search, d = %d; %d queries\n\n", x.Rows, x.Cols, q.Rows)
	if s.codes {
		return s.codesOf(stdout, x, q)
	}
	c := newComparison(s, x, q)
	f, err := c.compare(stdout)
	if err != nil {
		return err
	}
	return cli.Save(stdout, "picture of recall against bytes", s.plot, f.Save)
}

// vectors returns the vectors to search and the queries, in an order drawn at random.
func (s settings) vectors() (x, q dense.Matrix[float32], err error) {
	if s.x == "" {
		x = clustered(s.rows, s.dim, rand.New(rand.NewPCG(s.seed, 1)))
	} else if x, err = read(s.x); err != nil {
		return x, q, err
	}
	if s.q != "" {
		q, err = read(s.q)
		if err == nil && (q.Cols != x.Cols || x.Rows < s.k) {
			err = fmt.Errorf("%s is %d×%d, and the vectors are %d×%d; want one d and at least -k %d vectors", s.q, q.Rows, q.Cols, x.Rows, x.Cols, s.k)
		}
		return x, q, err
	}
	if x.Rows < s.queries+s.k {
		return x, q, fmt.Errorf("%d vectors, want at least %d for %d queries that find %d", x.Rows, s.queries+s.k, s.queries, s.k)
	}
	drawn := dense.New[float32](x.Rows, x.Cols)
	for i, at := range rand.New(rand.NewPCG(s.seed, 2)).Perm(x.Rows) {
		copy(drawn.Row(i), x.Row(at))
	}
	return drawn.RowRange(s.queries, x.Rows), drawn.RowRange(0, s.queries), nil
}

func read(path string) (x dense.Matrix[float32], err error) {
	t, shape, err := matrices.Read(path)
	if err == nil && t.Heads > 1 {
		err = fmt.Errorf("%s has shape %v, want n×d", path, shape)
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
