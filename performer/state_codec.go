package performer

import (
	"encoding"
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/performer/internal/store"
)

var (
	_ encoding.BinaryMarshaler   = (*State[float32])(nil)
	_ encoding.BinaryUnmarshaler = (*State[float64])(nil)
)

type stateRecipe struct {
	stateShape
	Tokens int
	Runs   []store.Recipe // of heads that have one attention
}

// stateShape must be equal in a file and in the State that reads it.
type stateShape struct{ Heads, KeyHeads, D, DV int }

func (s *State[T]) shape() stateShape { return stateShape{s.heads, s.keyHeads, s.d, s.dv} }

// MarshalBinary returns the State s as a file in the format safetensors, which any architecture can
// read. A State that UnmarshalBinary sets from the file computes the outputs of s, bit for bit.
func (s *State[T]) MarshalBinary() ([]byte, error) {
	if s.units == nil {
		return nil, errNoState
	}
	r := stateRecipe{stateShape: s.shape(), Tokens: s.n}
	for _, u := range s.units {
		r.Runs = append(r.Runs, u.tokens.Recipe())
	}
	return archive.Marshal[T]("performer", "state", r)
}

// UnmarshalBinary replaces the tokens of s by the tokens of the State that MarshalBinary has
// written to data. UnmarshalBinary returns an error and does not change s if data is damaged, or if
// s and the written State differ in type, heads, dimensions or attention. UnmarshalBinary treats
// feature maps as equal if their features agree at a few fixed points, as [State.Merge] does. The
// checksum in data does not protect against forgery: from forged data a State may compute wrong
// outputs. UnmarshalBinary allocates memory only for the keys and values in data.
func (s *State[T]) UnmarshalBinary(data []byte) error {
	if s.units == nil {
		return errNoState
	}
	r, err := archive.View[T, stateRecipe](data, "performer", "state")
	switch {
	case err != nil:
		return err
	case r.stateShape != s.shape():
		return fmt.Errorf("performer: state of %+v, want %+v", r.stateShape, s.shape())
	case r.Tokens < 0 || r.Tokens > limit.Tokens:
		return fmt.Errorf("performer: state of %d tokens, want 0 to %d", r.Tokens, limit.Tokens)
	case len(r.Runs) != len(s.units):
		return fmt.Errorf("performer: state of %d runs of heads with one attention each, want %d", len(r.Runs), len(s.units))
	}
	for i, u := range s.units {
		if err := u.tokens.Inspect(r.Runs[i], r.Tokens); err != nil {
			return err
		}
	}
	for i, u := range s.units {
		u.tokens.Decode(r.Runs[i], r.Tokens)
	}
	s.n = r.Tokens
	return nil
}
