package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/examples/internal/progress"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// comparison holds tensors and their exact attention.
type comparison[T dense.Float] struct {
	settings
	input[T]
	scale float64
	exact []dense.Matrix[T] // a head each
	time  time.Duration     // of exact attention, all heads
	pairs pairs[T]
}

// row is a measured row of the table.
type row struct {
	name, projection string
	m                int
	err, stderr      float64
	z                float64
	time             time.Duration
	memory           uint64 // bytes
}

// newComparison computes exact attention. Exact attention that is zero is an error, because no
// relative error exists then.
func newComparison[T dense.Float](s settings, in input[T]) (*comparison[T], error) {
	first := in.heads[0]
	c := &comparison[T]{settings: s, input: in, scale: 1 / math.Sqrt(float64(first.q.Cols))}
	exact := performer.Exact[T]{Scale: c.scale, Causal: s.causal}
	var times []time.Duration
	for range 3 {
		start := time.Now()
		c.exact = c.forward(exact)
		times = append(times, time.Since(start))
	}
	c.time = median(times)
	if !finite(distance(c.exact, c.exact)) {
		return nil, fmt.Errorf("%s: exact attention is zero everywhere, so that errors relative to it have no meaning", in.title)
	}
	c.pairs = samplePairs(in.heads, c.scale, source(s.seed, "pairs"))
	return c, nil
}

// forward computes attention of every head, one after another.
func (c *comparison[T]) forward(form performer.Form[T]) []dense.Matrix[T] {
	out := make([]dense.Matrix[T], len(c.heads))
	for i, h := range c.heads {
		out[i] = form.Forward(dense.Matrix[T]{}, h.q, h.k, h.v)
	}
	return out
}

// linear returns linear attention with the given map.
func (c *comparison[T]) linear(f rff.Map[T]) (*performer.Linear[T], error) {
	return performer.NewLinear(f, performer.LinearOptions{Causal: c.causal})
}

// timed computes linear attention of every head and tells how long it took.
func (c *comparison[T]) timed(f rff.Map[T]) ([]dense.Matrix[T], time.Duration, error) {
	a, err := c.linear(f)
	if err != nil {
		return nil, 0, err
	}
	start := time.Now()
	out := c.forward(a)
	return out, time.Since(start), nil
}

// measure returns the rows of all combinations in the order of maps and projections.
func (c *comparison[T]) measure(chosen selection, bar progress.Bar) ([]row, error) {
	rows := make([]row, len(chosen.maps)*len(chosen.projections))
	for i, projection := range chosen.projections {
		cells, err := c.cells(chosen.maps, projection, chosen.m, bar)
		if err != nil {
			return nil, err
		}
		for k, cell := range cells {
			rows[k*len(chosen.projections)+i] = cell
		}
	}
	return rows, nil
}

// cells measures all maps on the same draws of m frequencies.
func (c *comparison[T]) cells(maps []string, projection string, m int, bar progress.Bar) ([]row, error) {
	src := frequencySource(c.seed, projection, m)
	d := c.heads[0].q.Cols
	type samples struct {
		errors, biases []float64
		times          []time.Duration
		memory         uint64
	}
	all := make([]samples, len(maps))
	for draw := range max(c.draws, biasDraws) {
		w, err := frequencies[T](projection, m, d, src)
		if err != nil {
			return nil, err
		}
		for i, name := range maps {
			s := &all[i]
			f, err := features(name, w, c.scale)
			if err != nil {
				return nil, err
			}
			if draw < biasDraws {
				s.biases = append(s.biases, c.pairs.meanError(f))
			}
			if draw >= c.draws {
				continue
			}
			// Watching memory takes time: the first pass is not timed.
			var out []dense.Matrix[T]
			if draw == 0 {
				out, s.memory, err = c.watched(f)
			} else {
				var took time.Duration
				out, took, err = c.timed(f)
				s.times = append(s.times, took)
			}
			if err != nil {
				return nil, err
			}
			s.errors = append(s.errors, distance(out, c.exact))
		}
		if draw < c.draws {
			bar.Step()
		}
	}
	rows := make([]row, len(maps))
	for i, s := range all {
		mean, spread := stat.MeanStdDev(s.errors, nil)
		rows[i] = row{
			name: maps[i], projection: projection, m: m,
			err: mean, stderr: spread / math.Sqrt(float64(len(s.errors))),
			z: score(s.biases), time: median(s.times), memory: s.memory,
		}
	}
	return rows, nil
}

// rounded measures exact attention in 8 bits.
func (c *comparison[T]) rounded() formRow {
	start := time.Now()
	out := c.forward(performer.Exact[T]{Scale: c.scale, Causal: c.causal, Bits: bits})
	took := time.Since(start)
	return formRow{name: roundedName, size: bits, err: distance(out, c.exact), time: took}
}

// bits is the precision of rounded.
const bits = 8

// references measures what forms are compared with: attention with the exact map of another kernel,
// and equal weights, than which any estimate ought to be better.
func (c *comparison[T]) references() ([]formRow, error) {
	f, err := rff.ELU[T](c.heads[0].q.Cols)
	if err != nil {
		return nil, err
	}
	out, took, err := c.timed(f)
	if err != nil {
		return nil, err
	}
	means := make([]dense.Matrix[T], len(c.heads))
	for i, h := range c.heads {
		means[i] = average(h, c.causal)
	}
	return []formRow{{name: eluName, err: distance(out, c.exact), time: took}, {name: averageName, err: distance(means, c.exact)}}, nil
}

// average returns the means of the values that the queries see.
func average[T dense.Float](h head[T], causal bool) dense.Matrix[T] {
	out := dense.New[T](h.q.Rows, h.v.Cols)
	sum := make([]float64, h.v.Cols)
	for at := range h.q.Rows {
		seen := h.k.Rows
		if causal {
			seen = at + 1
			add(sum, h.v.Row(at))
		} else if at == 0 {
			for j := range seen {
				add(sum, h.v.Row(j))
			}
		}
		to := out.Row(at)
		for j, v := range sum {
			to[j] = T(v / float64(seen))
		}
	}
	return out
}

func add[T dense.Float](sum []float64, x []T) {
	for j, v := range x {
		sum[j] += float64(v)
	}
}

// write writes the outputs of all heads to a file.
func (c *comparison[T]) write(out []dense.Matrix[T]) error {
	shape := []int{len(out), out[0].Rows, out[0].Cols}
	t := matrices.Tensor[T]{Shape: shape[3-c.rank:]}
	for _, m := range out {
		t.Data = append(t.Data, m.Data...)
	}
	return cli.Replace(c.out, func(path string) error { return matrices.Write(path, t) })
}

// distance returns ‖a − b‖/‖b‖, in Frobenius norms over all heads.
func distance[T dense.Float](a, b []dense.Matrix[T]) float64 {
	var diff, size float64
	for h := range a {
		for i := range a[h].Rows {
			y := b[h].Row(i)
			for j, x := range a[h].Row(i) {
				e := float64(x) - float64(y[j])
				diff += e * e
				size += float64(y[j]) * float64(y[j])
			}
		}
	}
	return math.Sqrt(diff / size)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// median returns the middle of the times, the later one of two.
func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}
