package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/npy"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/audit"
	"github.com/seed-feabd252/randfeat/rff"
)

type comparison struct {
	settings
	input
	options performer.ExactOptions
	truth   performer.Exact[float32]
	exact   []dense.Matrix[float32] // outputs of truth for each head
	time    time.Duration           // of exact attention for all heads
	rows    []row
}

// Relative errors do not exist if all outputs are zero.
func newComparison(s settings, in input) (*comparison, error) {
	o := performer.ExactOptions{Softmax: performer.Softmax{Scale: 1 / math.Sqrt(float64(in.heads[0].q.Cols)), Causal: s.causal}}
	truth, err := performer.NewExact[float32](o)
	if err != nil {
		return nil, err
	}
	c := &comparison{settings: s, input: in, options: o, truth: truth}
	var times []time.Duration
	for range 3 {
		out, took, err := c.forward(func(head) (performer.Attention[float32], error) { return truth, nil })
		if err != nil {
			return nil, err
		}
		c.exact, times = out, append(times, took)
	}
	c.time = median(times)
	if !finite(matrices.Distance(c.exact, c.exact)) {
		return nil, fmt.Errorf("%s: exact attention is zero everywhere, so that errors relative to it have no meaning", in.title)
	}
	if err := c.measure(); err != nil {
		return nil, err
	}
	return c, c.references()
}

func (c *comparison) forward(form func(head) (performer.Attention[float32], error)) ([]dense.Matrix[float32], time.Duration, error) {
	out := make([]dense.Matrix[float32], len(c.heads))
	start := time.Now()
	for i, h := range c.heads {
		a, err := form(h)
		if err != nil {
			return nil, 0, err
		}
		out[i] = a.Forward(dense.Matrix[float32]{}, h.q, h.k, h.v)
	}
	return out, time.Since(start), nil
}

func (c *comparison) references() error {
	o := c.options
	o.Bits = 8
	out, took, err := c.forward(func(head) (performer.Attention[float32], error) { return performer.NewExact[float32](o) })
	if err != nil {
		return err
	}
	c.rows = append(c.rows, row{name: "exact, 8 bits", size: o.Bits, err: matrices.Distance(out, c.exact), time: took})
	out, took, err = c.forward(func(h head) (performer.Attention[float32], error) {
		phi, err := rff.Draw[float32](rff.ELU{D: h.q.Cols}, nil)
		if err != nil {
			return nil, err
		}
		return performer.NewLinear(phi, performer.LinearOptions{Causal: c.causal})
	})
	if err != nil {
		return err
	}
	c.rows = append(c.rows, row{name: "elu+1", err: matrices.Distance(out, c.exact), time: took},
		row{name: "mean of values", err: matrices.Distance(c.averages(), c.exact)})
	return nil
}

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

func (c *comparison) answer(w io.Writer) error {
	out := make([]dense.Matrix[float32], len(c.heads))
	var took time.Duration
	for i, h := range c.heads {
		// Calls spreads the cost of the choice.
		o := audit.ChooseOptions{Calls: 10, Budget: 1, Reproducible: true}
		chosen, err := audit.Choose(context.Background(), c.options.Softmax, h.q, h.k, h.v, c.tolerance, o, source(c.seed, "within"))
		if err != nil {
			return err
		}
		start := time.Now()
		out[i] = chosen.Attention.Forward(dense.Matrix[float32]{}, h.q, h.k, h.v)
		took += time.Since(start)
		title := fmt.Sprintf("To %.3g %%", 100*c.tolerance)
		if len(c.heads) > 1 {
			title += fmt.Sprintf(", head %d", i+1)
		}
		fmt.Fprintf(w, "%s: %v\n", title, chosen)
	}
	_, err := fmt.Fprintf(w, "Measured on all outputs: error %.3g %%, %s ms, exact attention %s ms. The mean of all values is %.3g %% off.\n",
		100*matrices.Distance(out, c.exact), milliseconds(took), milliseconds(c.time), 100*matrices.Distance(c.averages(), c.exact))
	if c.out == "" || err != nil {
		return err
	}
	shape := []int{len(out), out[0].Rows, out[0].Cols}
	var data []float32
	for _, m := range out {
		data = append(data, m.Data...)
	}
	if err := npy.WriteFile(c.out, data, shape[3-c.rank:]...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "These outputs are in %s.\n", c.out)
	return err
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}
