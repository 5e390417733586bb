package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/quantise"
	"github.com/seed-feabd252/randfeat/quantise/index"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

var widths = []float64{1, 2, 3, 4, 8}

type comparison struct {
	s       settings
	x, q    dense.Matrix[float32]
	ids     []int64               // the indices of the rows
	cosines dense.Matrix[float32] // queries × rows
	nearest [][]int64             // the k nearest rows of each query
}

// newComparison divides the rows of x and q by their norms. Zero vectors stay zero.
func newComparison(s settings, x, q dense.Matrix[float32]) *comparison {
	for _, rows := range []dense.Matrix[float32]{x, q} {
		for i := range rows.Rows {
			v := blas32.Vector{N: rows.Cols, Data: rows.Row(i), Inc: 1}
			blas32.Scal(1/max(blas32.Nrm2(v), 1e-30), v)
		}
	}
	c := &comparison{s: s, x: x, q: q}
	c.cosines = kernels.Gram(dense.Matrix[float32]{}, kernels.DotProduct{}, c.q, c.x)
	for i := range c.x.Rows {
		c.ids = append(c.ids, int64(i))
	}
	for i := range c.q.Rows {
		c.nearest = append(c.nearest, best(c.cosines.Row(i), s.k))
	}
	return c
}

func best[T dense.Float](values []T, k int) []int64 {
	top := make([]int64, 0, k+1)
	for i, v := range values {
		if len(top) < k || v > values[top[k-1]] {
			at := sort.Search(len(top), func(j int) bool { return values[top[j]] < v })
			top = slices.Insert(top, at, int64(i))[:min(len(top)+1, k)]
		}
	}
	return top
}

type result struct {
	recall, missed float64 // the shares of the k nearest rows that Search finds and Within misses
	micros         float64 // µs of a Search
}

// size is the bytes of a row in the file of the index.
func (c *comparison) build(bits float64) (x index.Index[int64, float32], size int, err error) {
	x, err = index.New[int64](c.x.Cols, index.Options[float32]{Measure: quantise.Cosine, Bits: bits}, rand.NewPCG(c.s.seed, 3))
	if err == nil {
		err = x.Add(context.Background(), c.ids, c.x)
	}
	var file bytes.Buffer
	if err == nil {
		err = x.Write(&file)
	}
	return x, file.Len() / c.x.Rows, err
}

func (c *comparison) measure(x index.Index[int64, float32], o *index.SearchOptions[int64, float32]) (r result, err error) {
	ctx, each := context.Background(), 1/float64(c.q.Rows)
	for i, nearest := range c.nearest {
		begin := time.Now()
		hits, err := x.Search(ctx, c.q.Row(i), c.s.k, o)
		r.micros += float64(time.Since(begin).Microseconds()) * each
		if err != nil {
			return r, err
		}
		r.recall += share(nearest, hits) * each
		limit := float64(c.cosines.At(i, int(nearest[c.s.k-1]))) - 1e-6 // the rounding of cosines
		if hits, err = x.Within(ctx, c.q.Row(i), limit, o); err != nil {
			return r, err
		}
		r.missed += (1 - share(nearest, hits)) * each
	}
	return r, nil
}

func (c *comparison) rows(dst dense.Matrix[float32], ids []int64) error {
	for i, id := range ids {
		copy(dst.Row(i), c.x.Row(int(id)))
	}
	return nil
}

func share(ids []int64, hits []index.Hit[int64]) float64 {
	found, n := make(map[int64]bool), 0
	for _, hit := range hits {
		found[hit.ID] = true
	}
	for _, id := range ids {
		if found[id] {
			n++
		}
	}
	return float64(n) / float64(len(ids))
}

func (c *comparison) compare(stdout io.Writer) (charts.Figure, error) {
	t := table.New(1, "search", "bits", "bytes", fmt.Sprintf("recall@%d", c.s.k), "missed", "µs")
	series := []charts.Series{{Name: "codes"}, {Name: "codes and rows"}}
	for _, bits := range widths {
		x, size, err := c.build(bits)
		if err != nil {
			return charts.Figure{}, err
		}
		for i, o := range []*index.SearchOptions[int64, float32]{nil, {Rows: c.rows}} {
			r, err := c.measure(x, o)
			if err != nil {
				return charts.Figure{}, err
			}
			t.Row(series[i].Name, fmt.Sprint(bits), fmt.Sprint(size), fmt.Sprintf("%.3f", r.recall), fmt.Sprintf("%.4f", r.missed), fmt.Sprintf("%.0f", r.micros))
			series[i].Points = append(series[i].Points, charts.Point{X: float64(size), Y: r.recall})
		}
	}
	return charts.Figure{
		Title:  fmt.Sprintf("Searches of %d vectors, d = %d", c.x.Rows, c.x.Cols),
		XLabel: "bytes per vector", YLabel: fmt.Sprintf("recall@%d", c.s.k),
		LogX: true, XTicks: []float64{32, 128, 512, 2048, 8192},
		Panels: []charts.Panel{{Series: series}},
	}, t.Fprint(stdout)
}
