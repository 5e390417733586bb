package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
)

// quarters is the number of parts of a stream. The program prints a row for each part.
const quarters = 4

// stream lets the model write s.generate tokens with one state and read s.generate tokens with
// another. It prints speed, memory and losses.
func (s settings) stream(w io.Writer, m *lm.Model, f lm.Form) error {
	text, err := m.Text(s.text, s.generate, s.generate)
	if err != nil {
		return err
	}
	all := text.Batches[0]
	exact, err := parts(m, all, s.context)
	if err != nil {
		return err
	}
	first := min(s.context, s.generate)
	if err := f.Use(m, decoder.Batch{Tokens: all.Tokens[:first], Lengths: []int{first}}, s.seed); err != nil {
		return err
	}
	tokens, err := s.generateTokens(w, m, f)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe last of them:\n\n%s\n", m.Tokenizer.Decode(tokens[max(0, len(tokens)-s.length):]))
	losses, err := parts(m, all, len(all.Tokens))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nMean loss, nats a token, of %d tokens of %s:\n\n", len(all.Tokens), text.Name)
	t := table.New(0, "tokens to", fmt.Sprintf("exact, sequences of %d", s.context), f.String()+", one stream")
	var sums [2]float64
	for i := range quarters {
		sums[0] += exact[i] / quarters
		sums[1] += losses[i] / quarters
		t.Row(fmt.Sprint(end(len(all.Tokens), i)), fmt.Sprintf("%.4f", exact[i]), fmt.Sprintf("%.4f", losses[i]))
	}
	t.Row("all", fmt.Sprintf("%.4f", sums[0]), fmt.Sprintf("%.4f", sums[1]))
	return t.Fprint(w)
}

// end returns the end of part i of n tokens.
func end(n, i int) int { return n * (i + 1) / quarters }

// generateTokens returns the tokens that the model writes after the prompt, and prints a line for
// each part. The model continues after the end of a text.
func (s settings) generateTokens(w io.Writer, m *lm.Model, f lm.Form) ([]int, error) {
	state, next, err := s.begin(m)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(w, "Written with %v, at positions that go on growing:\n\n", f)
	t := table.New(0, "tokens", "tokens/s", "bytes of states", "live heap, MB")
	rng := rand.New(rand.NewPCG(s.seed, 0))
	var tokens []int
	for i := range quarters {
		start, before := time.Now(), len(tokens)
		for len(tokens) < end(s.generate, i) {
			logits := state.Step(next)
			tokens = append(tokens, draw(logits.Row(logits.Rows-1), s.temperature, rng))
			next = tokens[len(tokens)-1:]
		}
		speed := float64(len(tokens)-before) / time.Since(start).Seconds()
		held, err := state.Bytes()
		if err != nil {
			return nil, err
		}
		t.Row(fmt.Sprint(len(tokens)), fmt.Sprintf("%.0f", speed), fmt.Sprint(held), fmt.Sprintf("%.1f", float64(liveHeap())/1e6))
	}
	return tokens, t.Fprint(w)
}

// liveHeap returns the bytes of live objects on the heap.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // the memory of a pool survives one collection
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// readTogether is the largest number of tokens of a call of Losses.
const readTogether = 256

// parts returns the mean loss of each part of b. The model reads b in sequences of at most the
// given length.
func parts(m *lm.Model, b decoder.Batch, length int) (mean [quarters]float64, err error) {
	var state *decoder.State
	n := len(b.Tokens)
	for at, start, part := 0, 0, 0; at < n; {
		if at%length == 0 {
			if state, err = m.NewState(); err != nil {
				return mean, err
			}
		}
		to := min(at+readTogether, (at/length+1)*length, end(n, part))
		for _, l := range state.Losses(b.Tokens[at:to], b.Next[at:to]) {
			mean[part] += l
		}
		at = to
		if at == end(n, part) {
			mean[part] /= float64(at - start)
			start, part = at, part+1
		}
	}
	return mean, nil
}
