package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/audit"
)

// compareChosen chooses attention within the tolerance for each head on the first sequence of the
// text. It prints losses, the divergence from exact attention, and times on the sequences after.
func (s settings) compareChosen(w io.Writer, m *lm.Model) error {
	text, err := m.Text(s.text, s.context+s.tokens, s.context)
	if err != nil {
		return err
	}
	if len(text.Batches) < 2 {
		return fmt.Errorf("%s has one sequence of %d tokens, want one to choose attention and one to measure it", text.Name, s.context)
	}
	choosing, measured := text.Batches[0], text.Batches[1:]
	start := time.Now()
	chosen, kinds, err := s.choose(m, choosing.Tokens)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Attention within %g %% of the exact outputs, chosen for each head on the first %d tokens of %s in %.0f s:\n",
		100*s.tolerance, s.context, text.Name, time.Since(start).Seconds())
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(w, "  %-20s  %d heads\n", kind, kinds[kind])
	}
	exact := m.Loss(measured)
	whole, err := lm.Exact(m.Config)
	if err != nil {
		return err
	}
	var exactTime, chosenTime time.Duration
	for l, layer := range chosen {
		var heads lm.Head // all heads
		heads.Q, heads.K, heads.V = m.Projections(l)
		_, took := timed(whole, heads)
		exactTime += took
		_, took = timed(layer, heads)
		chosenTime += took
		if err := m.Use(l, layer); err != nil {
			return err
		}
	}
	other := m.Loss(measured)
	fmt.Fprintf(w, "\nMean loss of the next %d tokens, in sequences of %d: exact %.4f, chosen %.4f nats a token.\n",
		s.context*len(measured), s.context, exact.Nats, other.Nats)
	fmt.Fprintf(w, "Kullback–Leibler divergence of the next token from that with exact attention: %.5f nats.\n", m.Divergence(exact, other))
	_, err = fmt.Fprintf(w, "Attention in all heads over %d tokens: exact %.0f ms, chosen %.0f ms, %.2f times as fast. The model with losses: %.2f times as fast.\n",
		s.context, 1000*exactTime.Seconds(), 1000*chosenTime.Seconds(), exactTime.Seconds()/chosenTime.Seconds(), exact.Time.Seconds()/other.Time.Seconds())
	return err
}

// choose returns the attention of each layer that audit.Choose chooses, head by head, on a sequence
// of tokens, and the number of heads with each kind of attention.
func (s settings) choose(m *lm.Model, tokens []int) (chosen []performer.Batch[float32], kinds map[string]int, _ error) {
	m.Read(tokens, []int{len(tokens)})
	kinds = make(map[string]int)
	for l := range m.Layers {
		var heads []performer.Attention[float32]
		for _, x := range m.Layer(l) {
			c, err := audit.Choose(context.Background(), performer.Softmax{Causal: true}, x.Q, x.K, x.V, s.tolerance,
				audit.ChooseOptions{Calls: 1000, Budget: 5, Reproducible: true}, rand.NewPCG(s.seed, uint64(len(heads))))
			if err != nil {
				return nil, nil, err
			}
			kind, _, _ := strings.Cut(c.Name, " with threshold")
			kinds[kind]++
			heads = append(heads, c.Attention)
		}
		layer, err := performer.NewBatch(performer.BatchOptions{Heads: m.Heads, KeyHeads: m.KeyHeads}, heads...)
		if err != nil {
			return nil, nil, err
		}
		chosen = append(chosen, layer)
	}
	return chosen, kinds, nil
}
