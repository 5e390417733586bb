package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/quantise"
)

// searches prints recalls and times on one processor of three kinds of search: all vectors, codes,
// and codes with the vectors of the rows that may be among the nearest.
func (c *comparison) searches(stdout io.Writer, results []result) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var read int // vectors that searches read
	t := table.New(1, "search", fmt.Sprintf("recall@%d", c.s.k), "vectors a query", "µs a query")
	measure := func(name string, find func(query []float32) ([]int, error)) error {
		var recall float64
		least := math.Inf(1)
		for range 3 {
			recall, read = 0, 0
			var took time.Duration
			for i := range c.q.Rows {
				begin := time.Now()
				found, err := find(c.q.Row(i))
				took += time.Since(begin)
				if err != nil {
					return err
				}
				recall += c.recall(i, found) / float64(c.q.Rows)
			}
			least = min(least, float64(took.Microseconds())/float64(c.q.Rows))
		}
		t.Row(name, fmt.Sprintf("%.3f", recall), fmt.Sprint(read/c.q.Rows), fmt.Sprintf("%.0f", least))
		return nil
	}
	cosines := make([]float32, c.x.Rows)
	err := measure("float32, by gonum", func(query []float32) ([]int, error) {
		read += c.x.Rows
		blas32.Gemv(blas.NoTrans, 1, blas32.General{Rows: c.x.Rows, Cols: c.x.Cols, Stride: c.x.Stride, Data: c.x.Data}, vector(query), 0, vector(cosines))
		return best(cosines, c.s.k), nil
	})
	if err != nil {
		return err
	}
	rows := quantise.RowsOf(c.x)
	counted := func(dst dense.Matrix[float32], ids []int) error { read += len(ids); return rows(dst, ids) }
	for _, r := range results {
		o := r.codes.Quantiser().Options()
		var query quantise.Query
		hits := make([]quantise.Hit, c.s.k)
		for _, kind := range []struct {
			name string
			rows func(dst dense.Matrix[float32], ids []int) error
		}{{"", nil}, {", exact rows", counted}} {
			err := measure(fmt.Sprintf("codes of %v bits%s", o.Bits, kind.name), func(v []float32) ([]int, error) {
				r.codes.Quantiser().Prepare(&query, v, quantise.Cosine, 0)
				err := r.codes.SearchAll(context.Background(), [][]quantise.Hit{hits}, []*quantise.Query{&query}, quantise.SearchOptions[float32]{Rows: kind.rows})
				ids := make([]int, len(hits))
				for i, hit := range hits {
					ids[i] = hit.ID
				}
				return ids, err
			})
			if err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(stdout)
	return t.Fprint(stdout)
}

func vector(v []float32) blas32.Vector { return blas32.Vector{N: len(v), Data: v, Inc: 1} }
