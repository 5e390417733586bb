package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"sync"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/quantise"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

var (
	schemes = []quantise.Scheme{quantise.RaBitQ, quantise.LloydMax, quantise.Uniform, quantise.QJL}
	widths  = []int{1, 2, 4, 8}
)

// comparison holds rows to search and queries, both of length 1, and their cosines.
type comparison struct {
	s       settings
	x, q    dense.Matrix[float32]
	cosines dense.Matrix[float32] // queries × rows
	nearest [][]int               // the k nearest rows of each query
}

// result is the result of one scheme and number of bits.
type result struct {
	options       quantise.Options
	bytes         float64 // bytes per row
	rms, byTheory float64 // the root mean square error of a cosine, measured and by theory
	recall        float64 // the mean recall over rotations
	uncertain     float64 // half of the 95 % interval of recall
	expected      float64 // the recall by theory
	query         time.Duration
}

// newComparison draws the queries from all vectors, and normalises queries and rows to length 1.
// Zero vectors stay zero.
func newComparison(s settings, all dense.Matrix[float32]) *comparison {
	order := rand.New(rand.NewPCG(s.seed, 2)).Perm(all.Rows)
	rows := func(from []int) dense.Matrix[float32] {
		m := dense.New[float32](len(from), all.Cols)
		for i, at := range from {
			norm := 0.0
			for _, v := range all.Row(at) {
				norm += float64(v) * float64(v)
			}
			for j, v := range all.Row(at) {
				if norm > 0 {
					m.Set(i, j, float32(float64(v)/math.Sqrt(norm)))
				}
			}
		}
		return m
	}
	c := &comparison{s: s, q: rows(order[:s.queries]), x: rows(order[s.queries:])}
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
		if len(top) == k && !(v > values[top[k-1]]) {
			continue
		}
		at := sort.Search(len(top), func(j int) bool { return values[top[j]] < v })
		top = slices.Insert(top, at, i)[:min(len(top)+1, k)]
	}
	return top
}

// recall returns the fraction of the nearest rows of a query that found contains.
func (c *comparison) recall(query int, found []int) float64 {
	hits := 0
	for _, id := range found {
		if slices.Contains(c.nearest[query], id) {
			hits++
		}
	}
	return float64(hits) / float64(c.s.k)
}

// measure returns the time of an exact query, and the results of all schemes and numbers of bits.
func (c *comparison) measure() (exact time.Duration, rows []result, err error) {
	products := make([]float32, c.x.Rows)
	exact = c.time(func(query int) { c.products(products, c.q.Row(query)) })
	for _, scheme := range schemes {
		for _, bits := range widths {
			r, err := c.one(quantise.Options{Scheme: scheme, Bits: bits})
			if err != nil {
				return 0, nil, err
			}
			rows = append(rows, r)
		}
	}
	return exact, rows, nil
}

// products writes the inner products of a query with all rows. It divides the rows evenly between
// the processors.
func (c *comparison) products(dst, query []float32) {
	var wg sync.WaitGroup
	share := (c.x.Rows + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	for lo := 0; lo < c.x.Rows; lo += share {
		rows := c.x.RowRange(lo, min(lo+share, c.x.Rows))
		wg.Go(func() {
			blas32.Gemv(blas.NoTrans, 1, blas32.General{Rows: rows.Rows, Cols: rows.Cols, Data: rows.Data, Stride: rows.Stride},
				blas32.Vector{N: len(query), Data: query, Inc: 1}, 0, blas32.Vector{N: rows.Rows, Data: dst[lo:], Inc: 1})
		})
	}
	wg.Wait()
}

// time returns the mean time of f over all queries, after an untimed run.
func (c *comparison) time(f func(query int)) time.Duration {
	var begin time.Time
	for range 2 {
		begin = time.Now()
		for i := range c.q.Rows {
			f(i)
		}
	}
	return time.Since(begin) / time.Duration(c.q.Rows)
}

// rotations is the number of rotations of a mean recall, and wide is the 97.5 % quantile of
// Student's distribution with rotations − 1 degrees of freedom.
const (
	rotations = 8
	wide      = 2.365
)

// one returns the result for the options.
func (c *comparison) one(o quantise.Options) (result, error) {
	r := result{options: o}
	recalls := make([]float64, rotations)
	for draw := range recalls {
		q, err := quantise.New[float32](c.x.Cols, o, rand.NewPCG(c.s.seed, uint64(3+draw)))
		if err != nil {
			return r, err
		}
		codes, err := q.Encode(context.Background(), c.x)
		if err != nil {
			return r, err
		}
		recalls[draw] = c.found(codes)
		if draw == 0 {
			c.compare(&r, q, codes)
		}
	}
	mean, sd := stat.MeanStdDev(recalls, nil)
	r.recall, r.uncertain = mean, wide*stat.StdErr(sd, rotations)
	return r, nil
}

// found returns the mean recall of all queries.
func (c *comparison) found(codes quantise.Codes[float32]) float64 {
	var query quantise.Query
	recall, hits, ids := 0.0, make([]quantise.Hit, c.s.k), make([]int, c.s.k)
	for i := range c.q.Rows {
		for j, hit := range codes.Search(hits, codes.Quantiser().Prepare(&query, c.q.Row(i), quantise.Cosine, 0)) {
			ids[j] = hit.ID
		}
		recall += c.recall(i, ids) / float64(c.q.Rows)
	}
	return recall
}

// compare sets memory, time, error, and error and recall by theory, from the codes of one rotation.
func (c *comparison) compare(r *result, q quantise.Quantiser[float32], codes quantise.Codes[float32]) {
	r.bytes = float64(codes.Bytes()) / float64(codes.Len())
	hits := make([]quantise.Hit, c.s.k)
	var query quantise.Query
	r.query = c.time(func(i int) { codes.Search(hits, q.Prepare(&query, c.q.Row(i), quantise.Cosine, 0)) })

	noise := rand.New(rand.NewPCG(c.s.seed, 4))
	estimates := make([]quantise.Estimate, c.x.Rows)
	guess, pairs := make([]float64, c.x.Rows), float64(c.x.Rows*c.q.Rows)
	for i := range c.q.Rows {
		codes.Estimates(estimates, q.Prepare(&query, c.q.Row(i), quantise.Cosine, 0), 0)
		for j, v := range c.cosines.Row(i) {
			truth := float64(v)
			e := estimates[j].Value - truth
			r.rms += e * e / pairs
			mean, variance := q.Theory(truth)
			r.byTheory += ((mean-truth)*(mean-truth) + variance) / pairs
			// The recall by theory is the recall of independent normal errors of this variance.
			guess[j] = mean + math.Sqrt(variance)*noise.NormFloat64()
		}
		r.expected += c.recall(i, best(guess, c.s.k)) / float64(c.q.Rows)
	}
	r.rms, r.byTheory = math.Sqrt(r.rms), math.Sqrt(r.byTheory)
}

// report prints the table and a summary.
func (c *comparison) report(stdout io.Writer, exact time.Duration, rows []result) error {
	recall := fmt.Sprintf("recall@%d", c.s.k)
	t := table.New(1, "scheme", "bits", "bytes", "smaller", "error", "by theory", recall, "by theory", "µs a query")
	whole := float64(4 * c.x.Cols)
	micros := func(d time.Duration) string { return fmt.Sprintf("%.0f", float64(d)/float64(time.Microsecond)) }
	t.Row("float32", "32", fmt.Sprint(whole), "1.0×", "0", "0", "1.000", "1.000", micros(exact))
	for _, r := range rows {
		t.Row(r.options.Scheme.String(), fmt.Sprint(r.options.Bits), fmt.Sprint(r.bytes), fmt.Sprintf("%.1f×", whole/r.bytes),
			fmt.Sprintf("%.4f", r.rms), fmt.Sprintf("%.4f", r.byTheory),
			fmt.Sprintf("%.3f±%.3f", r.recall, r.uncertain), fmt.Sprintf("%.3f", r.expected), micros(r.query))
	}
	if err := t.Fprint(stdout); err != nil {
		return err
	}
	largest := 0.0
	for _, r := range rows {
		largest = max(largest, math.Abs(r.recall-r.expected))
	}
	fmt.Fprintf(stdout, `error: root mean square over all rows and queries; µs a query: mean, on all processors
recall: mean of %d rotations and its 95 %% interval. Theory assumes independent errors.
Errors of rows near each other are correlated, which preserves their order.

All recalls are within %.3f of the recall by theory.
`, rotations, largest)
	for _, r := range rows {
		if r.options.Scheme == quantise.RaBitQ && (r.options.Bits == 1 || r.options.Bits == 4) {
			fmt.Fprintf(stdout, "%d-bit codes of RaBitQ find %.1f of the %d nearest in %.1f times less memory than float32.\n",
				r.options.Bits, r.recall*float64(c.s.k), c.s.k, whole/r.bytes)
		}
	}
	return nil
}

// picture plots recall against bits.
func (c *comparison) picture(rows []result) charts.Figure {
	panel := charts.Panel{}
	for i, scheme := range schemes {
		series := charts.Series{Name: scheme.String()}
		for _, r := range rows[i*len(widths) : (i+1)*len(widths)] {
			bits := float64(r.options.Bits)
			series.Points = append(series.Points, charts.Point{X: bits, Y: r.recall, Err: r.uncertain})
			series.Line = append(series.Line, charts.Point{X: bits, Y: r.expected})
		}
		panel.Series = append(panel.Series, series)
	}
	return charts.Figure{
		Title:  fmt.Sprintf("Codes of %d vectors, d = %d; points: measured, lines: by theory", c.x.Rows, c.x.Cols),
		XLabel: "bits a coordinate", YLabel: fmt.Sprintf("recall@%d", c.s.k),
		LogX: true, XTicks: []float64{1, 2, 4, 8},
		Panels: []charts.Panel{panel},
	}
}
