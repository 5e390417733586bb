package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/kmeans"
	"github.com/seed-feabd252/randfeat/quantise"
)

// store builds an index of 2 bits a coordinate, and prints what searches of it find.
func (c *comparison) store(stdout io.Writer) error {
	ctx := context.Background()
	plain, err := quantise.New[float32](c.x.Cols, quantise.Options{Bits: 2}, rand.NewPCG(c.s.seed, 3))
	if err != nil {
		return err
	}
	// Centres of about √n clusters.
	clusters := max(1, int(math.Sqrt(float64(c.x.Rows))))
	found, err := kmeans.Cluster(ctx, c.x, clusters, 10, kmeans.Options[float32]{Sample: min(c.x.Rows, 50*clusters)}, rand.NewPCG(c.s.seed, 5))
	if err != nil {
		return err
	}
	centred, err := plain.Around(found.Centres)
	if err != nil {
		return err
	}
	// The first rows, and those that come later.
	build := func(q *quantise.Quantiser[float32]) (*quantise.Codes[float32], error) {
		codes, err := q.Encode(ctx, c.x.RowRange(0, c.x.Rows/2))
		if err != nil {
			return nil, err
		}
		return codes, codes.Append(ctx, c.x.RowRange(c.x.Rows/2, c.x.Rows))
	}
	codes, err := build(plain)
	if err != nil {
		return err
	}
	about, err := build(centred)
	if err != nil {
		return err
	}
	var file bytes.Buffer
	if _, err := about.WriteTo(&file); err != nil {
		return err
	}
	var viewed quantise.Codes[float32]
	if err := viewed.View(file.Bytes()); err != nil { // or the bytes of a mapped file
		return err
	}
	deleted := make(quantise.Bitmap, (c.x.Rows+63)/64)
	for i := 0; i < c.x.Rows; i += 10 {
		deleted.Set(i, true)
	}
	t := table.New(1, "2 bits, all queries at once", "bytes", fmt.Sprintf("recall@%d", c.s.k), "rows read", "µs a query")
	for _, search := range []struct {
		name  string
		codes *quantise.Codes[float32]
		o     quantise.SearchOptions[float32]
	}{
		{"estimates", codes, quantise.SearchOptions[float32]{}},
		{"with exact rows", codes, quantise.SearchOptions[float32]{Rows: quantise.RowsOf(c.x)}},
		{fmt.Sprintf("about %d centres, estimates", clusters), about, quantise.SearchOptions[float32]{}},
		{"… with exact rows", about, quantise.SearchOptions[float32]{Rows: quantise.RowsOf(c.x)}},
		{"… of the nearest eighth of the centres", about, quantise.SearchOptions[float32]{Rows: quantise.RowsOf(c.x), Centres: max(1, clusters/8)}},
		{"… from the bytes of its file", &viewed, quantise.SearchOptions[float32]{Rows: quantise.RowsOf(c.x)}},
		{"… without a deleted tenth, 0.9 at best", about, quantise.SearchOptions[float32]{Rows: quantise.RowsOf(c.x), Except: []quantise.Bitmap{deleted}}},
	} {
		read := 0
		if rows := search.o.Rows; rows != nil {
			search.o.Rows = counted(rows, &read)
		}
		hits := make([][]quantise.Hit, c.q.Rows)
		for i := range hits {
			hits[i] = make([]quantise.Hit, c.s.k)
		}
		begin := time.Now()
		if err := quantise.Search(ctx, hits, c.q, quantise.Cosine, search.o, search.codes); err != nil {
			return err
		}
		took := time.Since(begin)
		recall := 0.0
		for i, list := range hits {
			ids := make([]int, len(list))
			for j, hit := range list {
				ids[j] = hit.ID
			}
			recall += c.recall(i, ids) / float64(len(hits))
		}
		t.Row(search.name, fmt.Sprintf("%.0f", float64(search.codes.Bytes())/float64(search.codes.Len())), fmt.Sprintf("%.3f", recall),
			fmt.Sprintf("%.0f", float64(read)/float64(len(hits))), fmt.Sprintf("%.0f", float64(took.Microseconds())/float64(len(hits))))
	}
	if err := t.Fprint(stdout); err != nil {
		return err
	}
	_, err = fmt.Fprint(stdout, "rows read: exact rows a query, until the law of the codes says that no other is likely to belong\n\n")
	return err
}

// reader reads exact rows.
type reader = func(dst dense.Matrix[float32], segment int, ids []int) error

// counted returns rows that adds the number of rows it reads to n.
func counted(rows reader, n *int) reader {
	return func(dst dense.Matrix[float32], segment int, ids []int) error {
		*n += len(ids)
		return rows(dst, segment, ids)
	}
}
