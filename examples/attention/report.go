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
	roundedName = "exact, 8 bits *"
	eluName     = "elu+1 *"
	averageName = "mean of values *"
)

// describe prints the tensors and the time of exact attention.
func (c *comparison[T]) describe(w io.Writer) {
	h := c.heads[0]
	kind := "attention"
	if c.causal {
		kind = "causal attention"
	}
	fmt.Fprintf(w, "Exact and approximate %s: L = %d, d = %d", kind, h.q.Rows, h.q.Cols)
	if h.k.Rows != h.q.Rows {
		fmt.Fprintf(w, ", %d keys", h.k.Rows)
	}
	if len(c.heads) > 1 {
		fmt.Fprintf(w, ", %d heads", len(c.heads))
	}
	fmt.Fprintf(w, ", float%d", 8*unsafe.Sizeof(T(0)))
	if n := differentRows(h.k); n < h.k.Rows/2 {
		fmt.Fprintf(w, "; only %d of the %d keys differ, which favours landmarks", n, h.k.Rows)
	}
	fmt.Fprintln(w)
	for _, line := range c.about {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "Exact: %s ms; its %d×%d weights would take %s if they were kept.\n\n",
		milliseconds(c.time), h.q.Rows, h.k.Rows, mebibytes(c.weights()))
}

// differentRows returns how many different rows x has.
func differentRows[T dense.Float](x dense.Matrix[T]) int {
	rows := make([][]T, x.Rows)
	for i := range rows {
		rows[i] = x.Row(i)
	}
	slices.SortFunc(rows, slices.Compare)
	return len(slices.CompactFunc(rows, slices.Equal))
}

// describeWeights prints the lengths of queries and keys and how attention spreads.
func (c *comparison[T]) describeWeights(w io.Writer) {
	p := c.profile()
	if len(c.heads) > 1 {
		fmt.Fprint(w, "First head: ")
	}
	fmt.Fprintf(w, "‖q‖ %s, ‖k‖ %s, q·k/√d between %.3g and %.3g.\n", p.queries, p.keys, p.low, p.high)
	fmt.Fprintf(w, "On average a query spreads its weight over %.0f of the %.0f keys that it sees (exp of the entropy),\n", p.spread, p.seen)
	fmt.Fprintf(w, "and the largest weight is %.2g.\n\n", p.largest)
}

// weights returns the bytes of the matrix of weights of one head.
func (c *comparison[T]) weights() uint64 {
	h := c.heads[0]
	return uint64(h.q.Rows) * uint64(h.k.Rows) * uint64(unsafe.Sizeof(T(0)))
}

// reportShortly prints a line for each form of attention, with all sizes.
func (c *comparison[T]) reportShortly(w io.Writer, rows []formRow) error {
	fmt.Fprintf(w, "Relative error of the outputs, and how many times as fast as exact attention, by size: landmarks, clusters, or frequencies\n")
	names := []string{"attention"}
	for _, size := range c.sizes {
		names = append(names, fmt.Sprintf("error, %d", size), "faster")
	}
	t := table.New(1, names...)
	for i := 0; i < len(rows); {
		cells := []string{rows[i].name}
		for name := rows[i].name; i < len(rows) && rows[i].name == name; i++ {
			faster := ""
			if rows[i].time > 0 {
				faster = speed(c.time, rows[i].time)
			}
			cells = append(cells, unlessOverflow(rows[i].err, number(rows[i].err)), faster)
		}
		for len(cells) < len(names) {
			cells = append(cells, "")
		}
		t.Row(cells...)
	}
	return t.Fprint(w)
}

// reportForms prints the table of the forms of attention.
func (c *comparison[T]) reportForms(w io.Writer, rows []formRow) error {
	fmt.Fprintf(w, `
error   ‖output − exact‖ / ‖exact‖ (Frobenius), mean ± standard error over %d draws
time    of one pass over all heads, the choice of landmarks and the fit of maps to the tensors
        included, median; faster is the time of exact attention over this one
size    landmarks, clusters (near keys in 8 bits, unless causal), or frequencies m (Gram–Schmidt): hyperbolic and trig make 2m
        features of them.
        Time grows with L·size, that of exact attention with L². "corrected" draws as many keys to
        correct the others without bias, "window" gives the %d keys to each side exact weights
*       to compare with: exact attention with scores, weights and values in 8 bits, the exact map of
        another kernel, and equal weights for all keys

`, c.draws, nearby)
	t := table.New(1, "attention", "size", "error", "time, ms", "faster")
	for i, r := range rows {
		if i > 0 && r.name != rows[i-1].name && r.name != averageName {
			t.Gap()
		}
		switch {
		case r.name == averageName:
			t.Row(r.name, "", number(r.err), "", "")
		case r.size == 0:
			t.Row(r.name, "", number(r.err), milliseconds(r.time), speed(c.time, r.time))
		default:
			t.Row(r.name, fmt.Sprint(r.size), interval(r.err, r.stderr), milliseconds(r.time), speed(c.time, r.time))
		}
	}
	return t.Fprint(w)
}

// report prints the table of maps and frequencies.
func (c *comparison[T]) report(w io.Writer, rows []row) error {
	fmt.Fprintf(w, `
What orthogonal frequencies save, with m = %d. bias z is the mean error of the estimates of exp(q·k/√d), over %d
pairs and %d draws, in standard errors: within ±3 nearly always if unbiased (products of Givens rotations are not
quite uniform, which may show). memory is the largest live heap during the pass of a head, inputs aside, and its
share of the L×L weights:

`, rows[0].m, biasPairs, biasDraws)
	t := table.New(2, "map", "frequencies", "error", "bias z", "time, ms", "memory", "of L×L")
	for i, r := range rows {
		if i > 0 && r.name != rows[i-1].name {
			t.Gap()
		}
		t.Row(r.name, r.projection, interval(r.err, r.stderr), zscore(r.z), milliseconds(r.time), mebibytes(r.memory), c.share(r.memory))
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
	verb := verbOf(mean)
	return unlessOverflow(mean, fmt.Sprintf(verb+" ± "+verb, mean, stderr))
}

func number(v float64) string { return fmt.Sprintf(verbOf(v), v) }

// verbOf returns a verb that shows three digits of v or more.
func verbOf(v float64) string {
	switch {
	case v >= 1000 || v < 1e-3 && v > 0:
		return "%.1e"
	case v >= 10:
		return "%.1f"
	case v >= 0.1 || v == 0:
		return "%.3f"
	default:
		return "%.4f"
	}
}

func zscore(z float64) string { return unlessOverflow(z, fmt.Sprintf("%+.1f", z)) }

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", 1e3*d.Seconds()) }

func speed(exact, linear time.Duration) string {
	return fmt.Sprintf("%.3g×", exact.Seconds()/linear.Seconds())
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

// The picture ends at these errors: below, rounding in float32 takes over, and above, a form is of
// no use.
const leastShown, mostShown = 1e-7, 10

// compared returns the panel of error against time, a line for each form with a point for each size,
// and the time of exact attention.
func (c *comparison[T]) compared(rows []formRow, answer string) compared {
	panel := charts.Panel{Title: c.title}
	for _, r := range rows {
		n := len(panel.Series)
		switch {
		case r.size == 0:
			panel.Levels = append(panel.Levels, charts.Level{Name: strings.TrimSuffix(r.name, " *"), Y: r.err})
			continue
		case n == 0 || panel.Series[n-1].Name != strings.TrimSuffix(r.name, " *"):
			panel.Series = append(panel.Series, charts.Series{Name: strings.TrimSuffix(r.name, " *")})
			n++
		}
		s := &panel.Series[n-1]
		s.Points = append(s.Points, charts.Point{X: 1e3 * r.time.Seconds(), Y: r.err, Err: r.stderr})
		if r.name == "landmarks" || r.name == "clusters" {
			s.Labels = append(s.Labels, fmt.Sprint(r.size)) // other lines are too close together
		}
	}
	exact := 1e3 * c.time.Seconds()
	panel.Series = append(panel.Series, charts.Series{
		Name: "exact attention",
		Line: []charts.Point{{X: exact, Y: leastShown}, {X: exact, Y: mostShown}},
	})
	return compared{length: c.heads[0].q.Rows, dim: c.heads[0].q.Cols, panel: panel, answer: answer}
}

// picture draws a panel for each comparison.
func (s settings) picture(all ...compared) charts.Figure {
	var sizes []string
	for _, size := range s.sizes {
		sizes = append(sizes, fmt.Sprint(size))
	}
	f := charts.Figure{
		Title: fmt.Sprintf("Approximations of attention, L = %d, d = %d; points of a line: %s clusters, landmarks or frequencies",
			all[0].length, all[0].dim, strings.Join(sizes, ", ")),
		XLabel: "time, ms", YLabel: "relative error of the output",
		LogX: true, LogY: true,
	}
	lowest, highest := math.Inf(1), 0.0
	for _, c := range all {
		f.Panels = append(f.Panels, c.panel)
		for _, line := range c.panel.Series {
			for _, p := range line.Points {
				if finite(p.Y) {
					lowest, highest = min(lowest, p.Y), max(highest, p.Y)
				}
			}
		}
		for _, l := range c.panel.Levels {
			if finite(l.Y) {
				lowest, highest = min(lowest, l.Y), max(highest, l.Y)
			}
		}
	}
	f.YRange = [2]float64{max(lowest/1.5, leastShown), min(highest*1.5, mostShown)}
	if !(f.YRange[0] < f.YRange[1]) {
		f.YRange = [2]float64{leastShown, mostShown}
	}
	return f
}
