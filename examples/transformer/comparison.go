package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/performer"
)

// compared are the forms that are measured on all heads.
var compared = []string{
	"positive:64", "positive:256", "landmarks:64", "landmarks:256", "clusters:64", "clusters:256",
	"bits:8", "window:64", "window:128", "mean", "elu",
}

const (
	pooled = 16 // half sequences that attend to each other without a mask
	rounds = 2  // of which the faster time counts
)

// head is queries, keys and values of a head, and the keys of another text for what is chosen
// before.
type head struct{ q, k, v, earlier dense.Matrix[float32] }

// heads are those of all layers in some tokens.
type heads struct {
	name   string
	causal bool
	all    []head
}

// compare prints the errors of the forms by head, and what they do to the loss.
func (s settings) compare(w io.Writer, m *lm.Model) error {
	var forms []lm.Form
	for _, name := range compared {
		f, err := lm.ParseForm(name)
		if err != nil {
			return err
		}
		forms = append(forms, f)
	}
	half := s.context / 2
	text, err := m.Text(s.text, max(s.tokens, 2*s.context, pooled*half), s.context)
	if err != nil {
		return err
	}
	short, err := m.Text(s.text, max(pooled*half, s.context), half)
	if err != nil {
		return err
	}
	if len(text.Batches) < 2 {
		return fmt.Errorf("%s has fewer than two sequences of %d tokens", text.Name, s.context)
	}
	causal, err := headsOf(m, text.Batches[1:2], text.Batches[0])
	if err != nil {
		return err
	}
	together := short.Batches[:min(pooled, len(short.Batches))]
	both, err := headsOf(m, together, text.Batches[0])
	if err != nil {
		return err
	}
	for _, h := range []heads{
		{fmt.Sprintf("Causal, a sequence of %d tokens", s.context), true, causal},
		{fmt.Sprintf("Without a mask, %d sequences of %d tokens together", len(together), half), false, both},
	} {
		if err := s.compareHeads(w, m, h, forms); err != nil {
			return err
		}
	}
	batches := text.Batches[:max(s.tokens/s.context, 1)]
	return s.compareLosses(w, m, batches, text, forms)
}

// headsOf returns the heads of all layers in sequences together.
func headsOf(m *lm.Model, batches []decoder.Batch, earlier decoder.Batch) ([]head, error) {
	all := make([]head, m.Layers*m.Heads)
	if _, err := m.Forward(earlier.Tokens, earlier.Lengths); err != nil {
		return nil, err
	}
	for i := range all {
		_, k, _ := m.Head(i/m.Heads, i%m.Heads)
		all[i].earlier = k.Clone()
	}
	n := len(batches[0].Tokens)
	for j, b := range batches {
		if _, err := m.Forward(b.Tokens, b.Lengths); err != nil {
			return nil, err
		}
		for i := range all {
			h := &all[i]
			q, k, v := m.Head(i/m.Heads, i%m.Heads)
			for _, x := range []struct {
				to   *dense.Matrix[float32]
				from dense.Matrix[float32]
			}{{&h.q, q}, {&h.k, k}, {&h.v, v}} {
				if j == 0 {
					*x.to = dense.New[float32](len(batches)*n, m.HeadDim)
				}
				dense.Copy(x.to.RowRange(j*n, (j+1)*n), x.from)
			}
		}
	}
	return all, nil
}

// compareHeads prints a row a head and a column a form, and means below.
func (s settings) compareHeads(w io.Writer, m *lm.Model, h heads, forms []lm.Form) error {
	names := []string{"head"}
	for _, f := range forms {
		names = append(names, f.String())
	}
	t := table.New(1, names...)
	mean, worst, took := make([]float64, len(forms)), make([]float64, len(forms)), make([]time.Duration, len(forms))
	var exact time.Duration
	for i, x := range h.all {
		want, time := timed(performer.Exact[float32]{Causal: h.causal}, x)
		exact += time
		cells := []string{fmt.Sprintf("%d.%d", i/m.Heads, i%m.Heads)}
		for j, f := range forms {
			a, err := f.Attention(x.earlier, h.causal, s.seed+uint64(i))
			if err != nil {
				return err
			}
			got, time := timed(a, x)
			e := distance(got, want)
			mean[j] += e / float64(len(h.all))
			worst[j] = max(worst[j], e)
			took[j] += time
			cells = append(cells, percent(e))
		}
		t.Row(cells...)
	}
	t.Gap()
	last := [][]string{{"mean"}, {"worst"}, {"time"}}
	for j := range forms {
		last[0], last[1] = append(last[0], percent(mean[j])), append(last[1], percent(worst[j]))
		last[2] = append(last[2], fmt.Sprintf("%.3f", took[j].Seconds()/exact.Seconds()))
	}
	for _, cells := range last {
		t.Row(cells...)
	}
	fmt.Fprintf(w, "%s: |output - exact|/|exact| by head, in %%, and time over that of exact attention, %.0f ms.\n\n", h.name, 1000*exact.Seconds())
	if err := t.Fprint(w); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// compareLosses prints the loss with each form in all heads.
func (s settings) compareLosses(w io.Writer, m *lm.Model, batches []decoder.Batch, text *lm.Text, forms []lm.Form) error {
	t := table.New(1, "all heads", "nats a token", "more than exact", "perplexity")
	var exact float64
	for i, f := range append([]lm.Form{{Name: "exact"}}, forms...) {
		if err := f.Use(m, batches[0], s.seed); err != nil {
			return err
		}
		loss, err := m.Loss(batches)
		if err != nil {
			return err
		}
		if i == 0 {
			exact = loss.Nats
		}
		t.Row(f.String(), fmt.Sprintf("%.4f", loss.Nats), fmt.Sprintf("%+.4f", loss.Nats-exact), fmt.Sprintf("%.2f", math.Exp(loss.Nats)))
	}
	fmt.Fprintf(w, "Mean loss of %d tokens of %s, in sequences of %d:\n\n", len(batches)*s.context, text.Name, s.context)
	return t.Fprint(w)
}

// timed returns the outputs of a form for a head, and its least time.
func timed(form performer.Attention[float32], h head) (out dense.Matrix[float32], least time.Duration) {
	for i := range rounds {
		start := time.Now()
		out = form.Forward(out, h.q, h.k, h.v)
		if took := time.Since(start); i == 0 || took < least {
			least = took
		}
	}
	return out, least
}

// distance returns ‖a − b‖/‖b‖, in Frobenius norms.
func distance(a, b dense.Matrix[float32]) float64 {
	var diff, size float64
	for i := range a.Rows {
		y := b.Row(i)
		for j, x := range a.Row(i) {
			e := float64(x) - float64(y[j])
			diff += e * e
			size += float64(y[j]) * float64(y[j])
		}
	}
	return math.Sqrt(diff / size)
}

func percent(x float64) string { return fmt.Sprintf("%.1f", 100*x) }
