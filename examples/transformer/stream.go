package main

import (
	"fmt"
	"io"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/safetensors"
)

const (
	streams      = 8   // that the model continues together
	readTogether = 256 // tokens of a call of Read
	rounds       = 2   // of which the fastest counts
	roundSteps   = 64  // tokens of each stream in a round
)

var streamForms = []string{"exact", "bits:16", "bits:8", "bits:4"}

func (s settings) compareStreams(w io.Writer, m *lm.Model, f lm.Form) error {
	text, err := m.Text(s.text, s.stream, s.stream)
	if err != nil {
		return err
	}
	forms, err := lm.ParseForms(streamForms...)
	if err != nil {
		return err
	}
	t := table.New(2, "weights", "attention", "nats a token", "KL", "tokens/s of 1 stream", fmt.Sprintf("of %d", streams), "kB of a state")
	for _, weights := range []safetensors.DType{safetensors.F32, safetensors.F16, safetensors.BF16} {
		if m, err = lm.Open(s.model, weights); err != nil {
			return err
		}
		var exact dense.Matrix[float32]
		for _, f := range append(forms, f) {
			cells, err := s.compareStream(m, text.Batches[0], f, &exact)
			if err != nil {
				return err
			}
			t.Row(append([]string{string(weights), f.String()}, cells...)...)
		}
	}
	fmt.Fprintf(w, "A stream of %d tokens of %s, and %d streams like it:\n\n", s.stream, text.Name, streams)
	return t.Fprint(w)
}

// compareStream returns the cells of a row. exact holds the outputs of layers with the first form.
func (s settings) compareStream(m *lm.Model, b decoder.Batch, f lm.Form, exact *dense.Matrix[float32]) ([]string, error) {
	if err := f.Use(m, s.seed); err != nil {
		return nil, err
	}
	state, err := m.NewState()
	if err != nil {
		return nil, err
	}
	x := dense.New[float32](len(b.Tokens), m.Width)
	for at := 0; at < x.Rows; at += readTogether {
		to := min(at+readTogether, x.Rows)
		dense.Copy(x.RowRange(at, to), state.Read(b.Tokens[at:to]))
	}
	if exact.Rows == 0 {
		*exact = x
	}
	held, err := state.Bytes()
	if err != nil {
		return nil, err
	}
	all := []*decoder.State{state}
	for len(all) < streams {
		all = append(all, state.Clone())
	}
	return []string{
		fmt.Sprintf("%.4f", stat.Mean(m.Losses(x, b.Next), nil)), fmt.Sprintf("%.5f", stat.Mean(m.Divergences(*exact, x), nil)),
		fmt.Sprintf("%.0f", speed(m, all[:1])), fmt.Sprintf("%.0f", speed(m, all)), fmt.Sprintf("%.0f", float64(held)/1000),
	}, nil
}

// speed returns the tokens a second that the model adds to the streams.
func speed(m *lm.Model, all []*decoder.State) (best float64) {
	tokens := make([]int, len(all))
	for range rounds {
		start := time.Now()
		for range roundSteps {
			m.StepAll(all, tokens)
		}
		best = max(best, float64(roundSteps*len(all))/time.Since(start).Seconds())
	}
	return best
}
