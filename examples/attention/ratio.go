package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/estimate"
	"github.com/seed-feabd252/randfeat/rff"
)

// The bias of ratios is measured on few tokens, with exponents small enough for few features, so
// that thousands of draws take a second.
const (
	ratioTokens   = 64
	ratioSoftness = 4  // q·k/√d is divided by it
	ratioBlock    = 32 // features m₀ of a block of the unbiased estimate
)

var ratioSizes = []int{16, 32, 128}

// ratioRow is the mean over many draws of the component of an output along the exact output, less
// 1.
type ratioRow struct {
	name         string
	m            int
	mean, stderr float64
}

// ratios measures the bias of the ratio of two unbiased sums, and of the unbiased estimate, on the
// first tokens of the first head.
func (c *comparison[T]) ratios() ([]ratioRow, error) {
	h := c.heads[0]
	lq, lk := min(ratioTokens, h.q.Rows), min(ratioTokens, h.k.Rows)
	q, k, v := h.q.RowRange(0, lq), h.k.RowRange(0, lk), h.v.RowRange(0, lk)
	scale := c.scale / ratioSoftness
	var out, stderr dense.Matrix[T]
	exact := performer.Exact[T]{Scale: scale, Causal: c.causal}.Forward(out, q, k, v)
	out, stderr = dense.New[T](lq, v.Cols), dense.New[T](lq, v.Cols)
	draws := c.ratioDraws * c.draws

	// So few tokens are not worth a second processor.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var rows []ratioRow
	collect := func(name string, m, n int, draw func() error) error {
		along := make([]float64, n)
		for i := range along {
			if err := draw(); err != nil {
				return err
			}
			along[i] = component(out, exact) - 1
		}
		mean, spread := stat.MeanStdDev(along, nil)
		rows = append(rows, ratioRow{name: name, m: m, mean: mean, stderr: stat.StdErr(spread, float64(n))})
		return nil
	}
	for _, m := range ratioSizes {
		src := frequencySource(c.seed, "ratio", m)
		err := collect("ratio", m, draws, func() error {
			w, err := orf.Draw[T](orf.IID{}, m, q.Cols, src)
			if err != nil {
				return err
			}
			f, err := rff.SoftmaxPositive(w, scale)
			if err != nil {
				return err
			}
			a, err := c.linear(f)
			if err != nil {
				return err
			}
			a.Forward(out, q, k, v)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	u, err := estimate.NewUnbiased[T](q.Cols, estimate.UnbiasedOptions{
		Scale: scale, Causal: c.causal, Features: ratioBlock, Replicates: 2,
		Frequencies: orf.IID{},
		MaxCost:     math.Inf(1), // exact attention is cheaper for so few tokens
	}, source(c.seed, "unbiased"))
	if err != nil {
		return nil, err
	}
	err = collect("unbiased", ratioBlock, draws/2, func() error {
		_, _, err := u.Estimate(context.Background(), out, stderr, q, k, v)
		return err
	})
	return rows, err
}

// component returns aᵀb/bᵀb of all elements.
func component[T dense.Float](a, b dense.Matrix[T]) float64 {
	var dot, size float64
	for i := range b.Rows {
		for j, y := range b.Row(i) {
			dot += float64(a.Row(i)[j]) * float64(y)
			size += float64(y) * float64(y)
		}
	}
	return dot / size
}

// reportRatios prints the table of biases.
func (c *comparison[T]) reportRatios(w io.Writer, rows []ratioRow) error {
	fmt.Fprintf(w, `
Sums of positive features are unbiased, their ratio is not: its bias falls as 1/m. The unbiased estimate adds
differences between ratios of more and more features, at random depth. First %d tokens, q·k/√d divided by %d, iid
frequencies, component of the outputs along the exact ones over %d draws:

`, min(ratioTokens, c.heads[0].q.Rows), ratioSoftness, c.ratioDraws*c.draws)
	t := table.New(1, "estimate", "m", "bias", "z", "bias·m")
	for _, r := range rows {
		times := fmt.Sprintf("%+.2f", r.mean*float64(r.m))
		if r.name != "ratio" {
			times = ""
		}
		t.Row(r.name, fmt.Sprint(r.m), fmt.Sprintf("%+.4f ± %.4f", r.mean, r.stderr), zscore(r.mean/r.stderr), times)
	}
	return t.Fprint(w)
}
