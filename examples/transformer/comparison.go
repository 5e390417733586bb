package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/performer"
)

var compared = []string{
	"positive:64", "positive:256", "blocks:64", "blocks:256",
	"bits:8", "window:64", "window:128", "mean", "elu",
}

func (s settings) compare(w io.Writer, m *lm.Model) error {
	forms, err := lm.ParseForms(compared...)
	if err != nil {
		return err
	}
	text, err := m.Text(s.text, max(s.tokens, s.context), s.context)
	if err != nil {
		return err
	}
	heads, err := m.Gather(s.heads, text.Batches[0].Tokens)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "A sequence of %d tokens of %s. Causal: ", s.context, text.Name)
	if err := s.compareHeads(w, m, heads, true, forms); err != nil {
		return err
	}
	fmt.Fprint(w, "Without a mask: ")
	if err := s.compareHeads(w, m, heads, false, forms); err != nil {
		return err
	}
	batches := text.Batches[:max(s.tokens/s.context, 1)]
	return s.compareLosses(w, m, batches, text, forms)
}

func (s settings) compareHeads(w io.Writer, m *lm.Model, heads []lm.Head, causal bool, forms []lm.Form) error {
	names := []string{"head"}
	for _, f := range forms {
		names = append(names, f.String())
	}
	t := table.New(1, names...)
	mean, worst, took := make([]float64, len(forms)), make([]float64, len(forms)), make([]time.Duration, len(forms))
	truth, err := performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}})
	if err != nil {
		return err
	}
	var exact time.Duration
	for i, x := range heads {
		want, time := timed(truth, x)
		exact += time
		cells := []string{x.Name}
		for j, f := range forms {
			a, err := f.Attention(m.HeadDim, causal, s.seed+uint64(i))
			if err != nil {
				return err
			}
			got, time := timed(a, x)
			e := matrices.Distance([]dense.Matrix[float32]{got}, []dense.Matrix[float32]{want})
			mean[j] += e / float64(len(heads))
			worst[j] = max(worst[j], e)
			took[j] += time
			cells = append(cells, percent(e))
		}
		t.Row(cells...)
	}
	t.Row()
	last := [][]string{{"mean"}, {"worst"}, {"time"}}
	for j := range forms {
		last[0], last[1] = append(last[0], percent(mean[j])), append(last[1], percent(worst[j]))
		last[2] = append(last[2], fmt.Sprintf("%.3f", took[j].Seconds()/exact.Seconds()))
	}
	for _, cells := range last {
		t.Row(cells...)
	}
	fmt.Fprintf(w, "|output - exact|/|exact| by head, in %%, and time over that of exact attention, %.0f ms.\n\n", 1000*exact.Seconds())
	if err := t.Fprint(w); err != nil {
		return err
	}
	_, err = fmt.Fprintln(w)
	return err
}

func (s settings) compareLosses(w io.Writer, m *lm.Model, batches []decoder.Batch, text *lm.Text, forms []lm.Form) error {
	t := table.New(1, "all heads", "nats a token", "more than exact", "KL", "perplexity")
	exact := m.Loss(batches)
	t.Row("exact", fmt.Sprintf("%.4f", exact.Nats), "", "", fmt.Sprintf("%.2f", math.Exp(exact.Nats)))
	for _, f := range forms {
		if err := f.Use(m, s.seed); err != nil {
			return err
		}
		l := m.Loss(batches)
		t.Row(f.String(), fmt.Sprintf("%.4f", l.Nats), fmt.Sprintf("%+.4f", l.Nats-exact.Nats), fmt.Sprintf("%.4f", m.Divergence(exact, l)), fmt.Sprintf("%.2f", math.Exp(l.Nats)))
	}
	fmt.Fprintf(w, "Mean loss of %d tokens of %s, in sequences of %d:\n\n", len(batches)*s.context, text.Name, s.context)
	return t.Fprint(w)
}

// least is the least time of a call.
func timed(form performer.Attention[float32], h lm.Head) (out dense.Matrix[float32], least time.Duration) {
	for i := range rounds {
		start := time.Now()
		out = form.Forward(out, h.Q, h.K, h.V)
		if took := time.Since(start); i == 0 || took < least {
			least = took
		}
	}
	return out, least
}

func percent(x float64) string { return fmt.Sprintf("%.1f", 100*x) }
