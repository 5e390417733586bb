package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/seed-feabd252/randfeat/examples/internal/bpe"
	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/examples/internal/goroot"
)

// sequences is a text in tokens, one sequence a batch.
type sequences struct {
	name          string
	batches       []decoder.Batch
	bytesPerToken float64
}

func (s sequences) tokens() int { return len(s.batches) * len(s.batches[0].Tokens) }

// sequences cuts the text into sequences. EndOfText stands between files if the model has it. The error reports a text that is shorter than one.
func (s settings) sequences(t *bpe.Tokenizer, vocabulary int) (*sequences, error) {
	all := &sequences{name: s.text}
	var texts []string
	if s.text != "" {
		data, err := os.ReadFile(s.text)
		if err != nil {
			return nil, err
		}
		texts = []string{string(data)}
	} else {
		files, err := goroot.Texts()
		if err != nil {
			return nil, fmt.Errorf("%w (-text names another text)", err)
		}
		all.name = "held-out files of the Go distribution"
		for _, f := range files {
			if f.HeldOut {
				texts = append(texts, f.Text)
			}
		}
	}
	var tokens []int
	bytes := 0
	for _, text := range texts {
		if len(tokens) > s.tokens {
			break
		}
		tokens = t.Encode(tokens, text)
		if t.EndOfText() < vocabulary {
			tokens = append(tokens, t.EndOfText())
		}
		bytes += len(text)
	}
	all.bytesPerToken = float64(bytes) / float64(max(len(tokens), 1))
	for at := 0; at+s.context < len(tokens) && at+s.context <= s.tokens; at += s.context {
		all.batches = append(all.batches, decoder.Batch{
			Tokens: tokens[at : at+s.context], Next: tokens[at+1 : at+s.context+1], Lengths: []int{s.context},
		})
	}
	if len(all.batches) == 0 {
		return nil, fmt.Errorf("%s has %d tokens, want more than the %d of a sequence", all.name, len(tokens), s.context)
	}
	return all, nil
}

// write returns what the model writes after the prompt, with the prompt.
func (s settings) write(m *decoder.Model[float32], t *bpe.Tokenizer) (string, error) {
	tokens := t.Encode(nil, s.prompt)
	state, err := m.NewState()
	if err != nil {
		return "", fmt.Errorf("%w (-length 0 writes nothing)", err)
	}
	if len(tokens) == 0 {
		return "", errors.New("-prompt is empty, want a text")
	}
	rng := rand.New(rand.NewPCG(s.seed, 0))
	next := tokens
	for range s.length {
		logits, err := state.Step(next)
		if err != nil {
			return "", err
		}
		token := draw(logits.Row(logits.Rows-1), s.temperature, rng)
		if token >= t.EndOfText() {
			break
		}
		tokens = append(tokens, token)
		next = tokens[len(tokens)-1:]
	}
	return t.Decode(tokens), nil
}

// draw returns a token with probability proportional to exp(logit/temperature).
func draw(logits []float32, temperature float64, rng *rand.Rand) int {
	peak := slices.Max(logits)
	if temperature == 0 {
		return slices.Index(logits, peak)
	}
	weights := make([]float64, len(logits))
	var sum float64
	for i, l := range logits {
		weights[i] = math.Exp(float64(l-peak) / temperature)
		sum += weights[i]
	}
	left := rng.Float64() * sum
	for i, w := range weights {
		if left -= w; left < 0 {
			return i
		}
	}
	return slices.Index(logits, peak)
}
