package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-feabd252/randfeat/examples/internal/lm"
)

// speed is in tokens a second after the prompt.
func (s settings) write(m *lm.Model) (written string, speed float64, _ error) {
	state, err := m.NewState()
	if err != nil {
		return "", 0, fmt.Errorf("%w (-length 0 writes nothing)", err)
	}
	tokens := m.Tokenizer.Encode(nil, s.prompt)
	if len(tokens) == 0 {
		return "", 0, errors.New("-prompt is empty, want a text (-length 0 writes nothing)")
	}
	rng := rand.New(rand.NewPCG(s.seed, 0))
	x := state.Read(tokens)
	logits := m.Logits(x.RowRange(x.Rows-1, x.Rows)) // of the last token alone
	start, before := time.Now(), len(tokens)
	for range s.length {
		token := draw(logits.Row(0), s.temperature, rng)
		if slices.Contains(m.End, token) {
			break
		}
		tokens = append(tokens, token)
		logits = state.Step([]int{token})
	}
	return m.Tokenizer.Decode(tokens), float64(len(tokens)-before) / time.Since(start).Seconds(), nil
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
