package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

const (
	eluName     = "elu+1 *"
	averageName = "mean of values *"
)

// describe prints the tensors and the weights of exact attention.
func (c *comparison[T]) describe(w io.Writer) {
	h := c.heads[0]
	kind := "attention"
	if c.causal {
		kind = "causal attention"
	}
	fmt.Fprintf(w, "Exact and linear %s: L = %d, d = %d", kind, h.q.Rows, h.q.Cols)
	if h.k.Rows != h.q.Rows {
		fmt.Fprintf(w, ", %d keys", h.k.Rows)
	}
	if len(c.heads) > 1 {
		fmt.Fprintf(w, ", %d heads", len(c.heads))
	}
	fmt.Fprintf(w, ", float%d\n\n", 8*unsafe.Sizeof(T(0)))
	for _, line := range c.about {
		fmt.Fprintln(w, line)
	}
	p := c.profile()
	if len(c.heads) > 1 {
		fmt.Fprint(w, "First head: ")
	}
	fmt.Fprintf(w, "‖q‖ %s, ‖k‖ %s, q·k/√d between %.3g and %.3g.\n", p.queries, p.keys, p.low, p.high)
	fmt.Fprintf(w, "On average a query spreads its weight over %.0f of the %.0f keys that it sees (exp of the entropy),\n", p.spread, p.seen)
	fmt.Fprintf(w, "and the largest weight is %.2g.\n", p.largest)
	fmt.Fprintf(w, "Exact: %s ms; its %d×%d weights would take %s if they were kept.\n\n",
		milliseconds(c.time), h.q.Rows, h.k.Rows, mebibytes(c.weights()))
}

// weights returns the bytes of the matrix of weights of one head.
func (c *comparison[T]) weights() uint64 {
	h := c.heads[0]
	return uint64(h.q.Rows) * uint64(h.k.Rows) * uint64(unsafe.Sizeof(T(0)))
}

// report prints the table and the meaning of the columns.
func (c *comparison[T]) report(w io.Writer, rows []row) error {
	fmt.Fprintf(w, `error   ‖linear − exact‖ / ‖exact‖ of the outputs (Frobenius), mean ± standard error over %d draws
        of the frequencies. Trig features have both signs: where m is small the sum of the weights
        may come near zero, and what is divided by it far off
bias z  mean error of the estimates of exp(q·k/√d), over %d pairs and %d draws, in standard errors:
        within ±3 nearly always if unbiased. Products of Givens rotations are not quite uniform,
        which may show as a small bias
time    of one pass over all heads, median; speed is the time of exact attention over this one
memory  largest live heap during the pass of a head, inputs aside; then its share of the L×L weights
m       number of frequencies: positive makes m features of them, hyperbolic and trig 2m.
        Time grows with L·m, that of exact attention with L²
*       exact maps of other kernels, to compare with: elu+1, and equal weights for all keys

`, c.draws, biasPairs, biasDraws)
	t := table.New(2,
		"map", "frequencies", "m", "error", "bias z", "time, ms", "speed", "memory", "of L×L")
	for i, r := range rows {
		if i > 0 && r.name != rows[i-1].name && r.name != averageName {
			t.Gap()
		}
		switch {
		case r.name == averageName:
			t.Row(r.name, "", "", number(r.err), "", "", "", "", "")
		case r.m == 0:
			t.Row(r.name, "", "", number(r.err), "", milliseconds(r.time), speed(c.time, r.time),
				mebibytes(r.memory), c.share(r.memory))
		default:
			t.Row(r.name, r.projection, fmt.Sprint(r.m), interval(r.err, r.stderr), zscore(r.z),
				milliseconds(r.time), speed(c.time, r.time), mebibytes(r.memory), c.share(r.memory))
		}
	}
	return t.Fprint(w)
}

func (c *comparison[T]) share(bytes uint64) string {
	return fmt.Sprintf("%.1f %%", 100*float64(bytes)/float64(c.weights()))
}

// unlessOverflow returns text, or a word in its place if v overflowed.
func unlessOverflow(v float64, text string) string {
	if !finite(v) {
		return "overflow"
	}
	return text
}

func interval(mean, stderr float64) string {
	return unlessOverflow(mean, number(mean)+" ± "+number(stderr))
}

func number(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.1e", v)
	}
	if v >= 10 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

func zscore(z float64) string { return unlessOverflow(z, fmt.Sprintf("%+.1f", z)) }

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", 1e3*d.Seconds()) }

func speed(exact, linear time.Duration) string {
	return fmt.Sprintf("%.2f×", exact.Seconds()/linear.Seconds())
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20)) }

// profile holds the sizes of the tensors and the spread of attention over at most profileRows
// queries of the first head.
type profile struct {
	queries, keys   string  // their lengths
	low, high       float64 // smallest and largest exponent
	spread, largest float64 // exp of the entropy of a row, its largest weight
	seen            float64 // keys that a query may attend to
}

const profileRows = 256

func (c *comparison[T]) profile() profile {
	h := c.heads[0]
	p := profile{queries: lengths(h.q), keys: lengths(h.k), low: math.Inf(1), high: math.Inf(-1)}
	step := max(1, h.q.Rows/profileRows)
	n := 0.0
	for i := step - 1; i < h.q.Rows; i += step {
		k := h.k
		if c.causal {
			k = k.RowRange(0, i+1)
		}
		q := h.q.RowRange(i, i+1)
		weights := performer.Exact[T]{Scale: c.scale}.Weights(dense.Matrix[T]{}, q, k)
		var entropy, largest float64
		for j, a := range weights.Row(0) {
			v := float64(a)
			if v > 0 {
				entropy -= v * math.Log(v)
			}
			largest = max(largest, v)
			var exponent float64
			for l, x := range q.Row(0) {
				exponent += c.scale * float64(x) * float64(k.Row(j)[l])
			}
			p.low, p.high = min(p.low, exponent), max(p.high, exponent)
		}
		p.spread += math.Exp(entropy)
		p.largest += largest
		p.seen += float64(k.Rows)
		n++
	}
	p.spread, p.largest, p.seen = p.spread/n, p.largest/n, p.seen/n
	return p
}

// lengths describes the norms of the rows.
func lengths[T dense.Float](x dense.Matrix[T]) string {
	var norms []float64
	for i := range x.Rows {
		var sum float64
		for _, v := range x.Row(i) {
			sum += float64(v) * float64(v)
		}
		norms = append(norms, math.Sqrt(sum))
	}
	lo, hi := slices.Min(norms), slices.Max(norms)
	if hi-lo < 1e-3*hi {
		return fmt.Sprintf("= %.3g", hi)
	}
	return fmt.Sprintf("between %.3g and %.3g", lo, hi)
}

// picture draws error against m, a panel for each map.
func (c *comparison[T]) picture(rows []row) charts.Figure {
	h := c.heads[0]
	fig := charts.Figure{
		Title:  fmt.Sprintf("Linear against exact attention: %s, L = %d, d = %d", c.title, h.q.Rows, h.q.Cols),
		XLabel: "frequencies m", YLabel: "relative error of the output",
		LogX: true, LogY: true,
	}
	var levels []charts.Level
	for _, r := range rows {
		if r.m == 0 {
			levels = append(levels, charts.Level{Name: strings.TrimSuffix(r.name, " *"), Y: r.err})
		}
	}
	for _, m := range c.chosen.sizes {
		fig.XTicks = append(fig.XTicks, float64(m))
	}
	for _, name := range c.chosen.maps {
		panel := charts.Panel{Title: name + " features", Levels: levels}
		for _, projection := range c.chosen.projections {
			s := charts.Series{Name: projection}
			for _, r := range rows {
				if r.name == name && r.projection == projection {
					s.Points = append(s.Points, charts.Point{X: float64(r.m), Y: r.err, Err: r.stderr})
				}
			}
			panel.Series = append(panel.Series, s)
		}
		fig.Panels = append(fig.Panels, panel)
	}
	return fig
}
