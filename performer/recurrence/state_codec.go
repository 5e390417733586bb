package recurrence

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

type stateRecipe[T dense.Float] struct {
	stateShape
	Tokens int
	Sums   dense.Matrix[T] // S, Hv·dk×dv
}

type stateShape struct {
	Rule                        Rule
	NormaliseKeys               bool
	Heads, KeyHeads, ValueHeads int
	D, DV                       int
}

func (s *state[T]) recipe() stateRecipe[T] {
	shape := stateShape{s.r.opts.Rule, s.r.opts.NormaliseKeys, s.r.queryHeads, s.r.keyHeads, s.r.valueHeads, s.dk, s.dv}
	return stateRecipe[T]{shape, s.n, s.matrix}
}

func (s *state[T]) MarshalBinary() ([]byte, error) {
	return archive.Marshal[T]("recurrence", "state", s.recipe())
}

func (s *state[T]) UnmarshalBinary(data []byte) error {
	r, err := archive.Unmarshal[T, stateRecipe[T]](data, "recurrence", "state")
	if err != nil {
		return err
	}
	switch want := s.recipe(); {
	case r.stateShape != want.stateShape:
		return fmt.Errorf("recurrence: state of %+v, want %+v", r.stateShape, want.stateShape)
	case r.Tokens < 0 || r.Tokens > limit.Tokens:
		return fmt.Errorf("recurrence: state of %d tokens, want 0 to %d", r.Tokens, limit.Tokens)
	case r.Sums.Rows != s.matrix.Rows || r.Sums.Cols != s.matrix.Cols:
		return fmt.Errorf("recurrence: state with %d×%d sums, want %d×%d", r.Sums.Rows, r.Sums.Cols, s.matrix.Rows, s.matrix.Cols)
	}
	s.n, s.matrix = r.Tokens, r.Sums
	return nil
}
