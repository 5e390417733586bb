package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/quantise"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

var widths = []int{1, 2, 4, 8}

// comparison holds rows to search and queries, both of length 1, and their cosines.
type comparison struct {
	s       settings
	x, q    dense.Matrix[float32]
	cosines dense.Matrix[float32] // queries × rows
	nearest [][]int               // the k nearest rows of each query
}

// result is the result of one number of bits.
type result struct {
	codes            quantise.Codes[float32]
	rms, byTheory    float64 // the root mean square error of a cosine, measured and by theory
	recall, expected float64 // measured and by theory
}

// newComparison draws the queries from all vectors, and normalises queries and rows to length 1.
// Zero vectors stay zero.
func newComparison(s settings, all dense.Matrix[float32]) *comparison {
	order := rand.New(rand.NewPCG(s.seed, 2)).Perm(all.Rows)
	x := dense.New[float32](all.Rows, all.Cols)
	for i, at := range order {
		copy(x.Row(i), all.Row(at))
		blas32.Scal(1/max(blas32.Nrm2(vector(x.Row(i))), 1e-30), vector(x.Row(i)))
	}
	c := &comparison{s: s, q: x.RowRange(0, s.queries), x: x.RowRange(s.queries, x.Rows)}
	c.cosines = kernels.Gram(dense.Matrix[float32]{}, kernels.DotProduct{}, c.q, c.x)
	for i := range c.q.Rows {
		c.nearest = append(c.nearest, best(c.cosines.Row(i), s.k))
	}
	return c
}

// best returns the indices of the k largest values, in descending order of the values.
func best[T dense.Float](values []T, k int) []int {
	top := make([]int, 0, k+1)
	for i, v := range values {
		if len(top) < k || v > values[top[k-1]] {
			at := sort.Search(len(top), func(j int) bool { return values[top[j]] < v })
			top = slices.Insert(top, at, i)[:min(len(top)+1, k)]
		}
	}
	return top
}

// recall returns the fraction of the nearest rows of a query that found contains.
func (c *comparison) recall(query int, found []int) (share float64) {
	for _, id := range found {
		if slices.Contains(c.nearest[query], id) {
			share += 1 / float64(c.s.k)
		}
	}
	return share
}

// measure prints and returns the results of all numbers of bits.
func (c *comparison) measure(stdout io.Writer) (results []result, err error) {
	t := table.New(0, "bits", "bytes", "smaller", "error", "by theory", fmt.Sprintf("recall@%d", c.s.k), "by theory")
	for _, bits := range widths {
		q, err := quantise.New[float32](c.x.Cols, quantise.Options{Bits: float64(bits)}, rand.NewPCG(c.s.seed, 3))
		if err != nil {
			return nil, err
		}
		codes, err := q.Encode(context.Background(), c.x)
		if err != nil {
			return nil, err
		}
		r, bytes := c.result(codes), codes.Bytes()/codes.Len()
		t.Row(fmt.Sprint(bits), fmt.Sprint(bytes), fmt.Sprintf("%.1f×", float64(4*c.x.Cols)/float64(bytes)),
			fmt.Sprintf("%.4f", r.rms), fmt.Sprintf("%.4f", r.byTheory), fmt.Sprintf("%.3f", r.recall), fmt.Sprintf("%.3f", r.expected))
		results = append(results, r)
	}
	return results, t.Fprint(stdout)
}

// result returns the result of codes.
func (c *comparison) result(codes quantise.Codes[float32]) result {
	r, q, query := result{codes: codes}, codes.Quantiser(), new(quantise.Query)
	noise := rand.New(rand.NewPCG(c.s.seed, 4))
	estimates := make([]quantise.Estimate, c.x.Rows)
	values, guess := make([]float64, c.x.Rows), make([]float64, c.x.Rows)
	queries := float64(c.q.Rows)
	for i := range c.q.Rows {
		codes.Estimates(estimates, q.Prepare(query, c.q.Row(i), quantise.Cosine, 0), nil)
		for j, truth := range c.cosines.Row(i) {
			mean, variance := q.Theory(float64(truth))
			r.rms += math.Pow(estimates[j].Value-float64(truth), 2)
			r.byTheory += math.Pow(mean-float64(truth), 2) + variance
			// The recall by theory is the recall of independent normal errors of this variance.
			values[j], guess[j] = estimates[j].Value, mean+math.Sqrt(variance)*noise.NormFloat64()
		}
		r.recall += c.recall(i, best(values, c.s.k)) / queries
		r.expected += c.recall(i, best(guess, c.s.k)) / queries
	}
	r.rms, r.byTheory = math.Sqrt(r.rms/queries/float64(c.x.Rows)), math.Sqrt(r.byTheory/queries/float64(c.x.Rows))
	return r
}

// picture plots recall against bits.
func (c *comparison) picture(results []result) charts.Figure {
	series := charts.Series{Name: "recall"}
	for i, r := range results {
		series.Points = append(series.Points, charts.Point{X: float64(widths[i]), Y: r.recall})
		series.Line = append(series.Line, charts.Point{X: float64(widths[i]), Y: r.expected})
	}
	return charts.Figure{
		Title:  fmt.Sprintf("Codes of %d vectors, d = %d; points: measured, lines: by theory", c.x.Rows, c.x.Cols),
		XLabel: "bits a coordinate", YLabel: fmt.Sprintf("recall@%d", c.s.k),
		LogX: true, XTicks: []float64{1, 2, 4, 8},
		Panels: []charts.Panel{{Series: []charts.Series{series}}},
	}
}
