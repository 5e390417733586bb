package decoder

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// State holds the attention states of all layers, for the tokens that a model has read.
type State struct {
	model  *Model
	layers []*performer.State[float32]
}

// NewState returns a state without tokens. It returns an error if the attention of a layer has no
// state.
func (m *Model) NewState() (*State, error) {
	s := &State{model: m}
	for i, b := range m.blocks {
		state, err := b.attention.NewState()
		if err != nil {
			return nil, fmt.Errorf("decoder: layer %d: %w", i, err)
		}
		s.layers = append(s.layers, state)
	}
	return s, nil
}

// Clone returns a copy of s, which does not change with s.
func (s *State) Clone() *State {
	c := &State{model: s.model}
	for _, l := range s.layers {
		c.layers = append(c.layers, l.Clone())
	}
	return c
}

// Step reads the next tokens and returns the logits of the token after each token, a row for each
// token. Step panics if a token is not in the vocabulary.
func (s *State) Step(tokens []int) dense.Matrix[float32] {
	return s.model.out.Apply(none, s.read(tokens))
}

func (s *State) read(tokens []int) dense.Matrix[float32] {
	return s.model.forward(tokens, func(i int, x dense.Matrix[float32]) dense.Matrix[float32] {
		return s.model.blocks[i].attention.Step(none, x, s.layers[i])
	})
}

// StepAll reads the next token of each of several texts, which have a State each, and returns the
// logits of the token after it, a row for each text. It reads the weights once for all texts.
func (m *Model) StepAll(states []*State, tokens []int) dense.Matrix[float32] {
	all := make([]*performer.State[float32], len(states))
	return m.out.Apply(none, m.forward(tokens, func(i int, x dense.Matrix[float32]) dense.Matrix[float32] {
		for j, s := range states {
			all[j] = s.layers[i]
		}
		return m.blocks[i].attention.StepAll(none, x, all)
	}))
}

// Losses reads tokens as Step does, and returns −log p of the next token after each token, in nats.
func (s *State) Losses(tokens, next []int) []float64 { return s.model.losses(s.read(tokens), next) }

// Bytes returns the size of the states of all layers as files. States with a window have room for
// the largest number of tokens that they keep.
func (s *State) Bytes() (int, error) {
	sum := 0
	for _, l := range s.layers {
		data, err := l.MarshalBinary()
		if err != nil {
			return 0, err
		}
		sum += len(data)
	}
	return sum, nil
}
