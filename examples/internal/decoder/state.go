package decoder

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// State is the tokens that a model has read: their keys and values, or what a form of attention
// keeps of them.
type State[T dense.Float] struct {
	model  *Model[T]
	layers []*performer.State[T]
	length int
}

// NewState returns a state without tokens. It is an error if the attention of a layer has none.
func (m *Model[T]) NewState() (*State[T], error) {
	s := &State[T]{model: m}
	for i, b := range m.blocks {
		a, ok := b.attention.heads.(performer.Streaming[T])
		if !ok {
			return nil, fmt.Errorf("decoder: layer %d: the attention %T has no state", i, b.attention.heads)
		}
		state, err := a.NewState(m.HeadDim, m.HeadDim)
		if err != nil {
			return nil, fmt.Errorf("decoder: layer %d: %w", i, err)
		}
		s.layers = append(s.layers, state)
	}
	return s, nil
}

// Step reads the tokens that follow and returns the logits of the token after each one, a row each.
// The next call of the model overwrites them. Step panics if a token is not in the vocabulary.
func (s *State[T]) Step(tokens []int) dense.Matrix[T] {
	m := s.model
	m.place.set(s.length, len(tokens))
	for i, b := range m.blocks {
		b.attention.state = s.layers[i]
	}
	logits := m.forward(tokens)
	for _, b := range m.blocks {
		b.attention.state = nil
	}
	s.length += len(tokens)
	return logits
}

// Bytes returns the number of bytes that the states of all layers take as files. States with a
// window have room for the most tokens that they keep.
func (s *State[T]) Bytes() (int, error) {
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

// Losses reads tokens as Step does, and returns −log p of the next token after each one, in nats,
// in memory that the next call of the model overwrites.
func (s *State[T]) Losses(tokens, next []int) []float64 {
	logits := s.Step(tokens)
	losses := s.model.losses.shape(1, len(next)).Data
	crossEntropy(logits, losses, next, false)
	return losses
}
