package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/npy"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// comparison holds tensors and their exact attention.
type comparison struct {
	settings
	input
	options performer.ExactOptions
	truth   performer.Exact[float32]
	exact   []dense.Matrix[float32] // outputs of truth for each head
	time    time.Duration           // of exact attention for all heads
}

// newComparison computes exact attention. It returns an error if all outputs are zero, because
// relative errors then do not exist.
func newComparison(s settings, in input) (*comparison, error) {
	o := performer.ExactOptions{Softmax: performer.Softmax{Scale: 1 / math.Sqrt(float64(in.heads[0].q.Cols)), Causal: s.causal}}
	truth, err := performer.NewExact[float32](o)
	if err != nil {
		return nil, err
	}
	c := &comparison{settings: s, input: in, options: o, truth: truth}
	var times []time.Duration
	for range 3 {
		out, took := c.forward(c.truth)
		c.exact, times = out, append(times, took)
	}
	c.time = median(times)
	if !finite(matrices.Distance(c.exact, c.exact)) {
		return nil, fmt.Errorf("%s: exact attention is zero everywhere, so that errors relative to it have no meaning", in.title)
	}
	return c, nil
}

// forward computes attention of every head, one after another, and returns the outputs and the
// time.
func (c *comparison) forward(form performer.Attention[float32]) ([]dense.Matrix[float32], time.Duration) {
	out := make([]dense.Matrix[float32], len(c.heads))
	start := time.Now()
	for i, h := range c.heads {
		out[i] = form.Forward(dense.Matrix[float32]{}, h.q, h.k, h.v)
	}
	return out, time.Since(start)
}

// Names of the rows of references.
const (
	roundedName = "exact, 8 bits"
	eluName     = "elu+1"
	averageName = "mean of values"
)

// references measures exact attention in 8 bits, linear attention with the features elu+1, and
// averages with equal weights.
func (c *comparison) references() ([]row, error) {
	o := c.options
	o.Bits = 8
	rounded, err := performer.NewExact[float32](o)
	if err != nil {
		return nil, err
	}
	out, took := c.forward(rounded)
	rows := []row{{name: roundedName, size: o.Bits, err: matrices.Distance(out, c.exact), time: took}}
	f, err := rff.Draw[float32](rff.ELU{D: c.heads[0].q.Cols}, nil)
	if err != nil {
		return nil, err
	}
	elu, err := performer.NewLinear(f, performer.LinearOptions{Causal: c.causal})
	if err != nil {
		return nil, err
	}
	out, took = c.forward(elu)
	rows = append(rows, row{name: eluName, err: matrices.Distance(out, c.exact), time: took})
	return append(rows, row{name: averageName, err: matrices.Distance(c.averages(), c.exact)}), nil
}

// averages returns, for each head, the mean of the values that each query sees.
func (c *comparison) averages() []dense.Matrix[float32] {
	out := make([]dense.Matrix[float32], len(c.heads))
	for i, h := range c.heads {
		out[i] = dense.New[float32](h.q.Rows, h.v.Cols)
		sum, added := make([]float64, h.v.Cols), 0
		for at := range h.q.Rows {
			seen := h.k.Rows
			if c.causal {
				seen = at + 1
			}
			for ; added < seen; added++ {
				for j, v := range h.v.Row(added) {
					sum[j] += float64(v)
				}
			}
			for j, v := range sum {
				out[i].Row(at)[j] = float32(v / float64(seen))
			}
		}
	}
	return out
}

// write writes the outputs of all heads to a file.
func (c *comparison) write(out []dense.Matrix[float32]) error {
	shape := []int{len(out), out[0].Rows, out[0].Cols}
	var data []float32
	for _, m := range out {
		data = append(data, m.Data...)
	}
	return npy.WriteFile(c.out, data, shape[3-c.rank:]...)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// median returns the upper median of the times.
func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

// source returns a random source for one purpose, independent of other purposes.
func source(seed uint64, purpose string) rand.Source {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", seed, purpose)
	return exprand.NewSource(h.Sum64())
}
