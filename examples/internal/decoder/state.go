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
	length int
}

// NewState returns a state without tokens. It returns an error if the attention of a layer has no
// state.
func (m *Model) NewState() (*State, error) {
	s := &State{model: m}
	for i, b := range m.blocks {
		state, err := b.heads.NewState(m.HeadDim, m.HeadDim)
		if err != nil {
			return nil, fmt.Errorf("decoder: layer %d: %w", i, err)
		}
		s.layers = append(s.layers, state)
	}
	return s, nil
}

// Step reads the next tokens and returns the logits of the token after each token, a row for each
// token. Step panics if a token is not in the vocabulary.
func (s *State) Step(tokens []int) dense.Matrix[float32] {
	positions := appendPositions(nil, s.length, len(tokens))
	s.length += len(tokens)
	return s.model.forward(tokens, positions, func(i int, dst, q, k, v dense.Matrix[float32]) { s.layers[i].Step(dst, q, k, v) })
}

// Losses reads tokens as Step does, and returns −log p of the next token after each token, in nats.
func (s *State) Losses(tokens, next []int) []float64 { return losses(s.Step(tokens), next) }

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
