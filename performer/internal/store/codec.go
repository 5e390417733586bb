package store

import (
	"errors"
	"fmt"
	"math"
)

type Recipe struct {
	Parameters []string // name = value, equal in the store that reads them
	Marks      []float64

	// Numbers of each type in order: of closed segments, for each head of keys and each column;
	// then elements of open keys and values. Of linear attention, for each head: exponents, and
	// sums. Last in Doubles are the measured errors of heads with a Tolerance.
	Words   []uint64
	Singles []float32
	Doubles []float64
}

func (r *Recipe) put(x any) {
	switch x := x.(type) {
	case []uint64:
		r.Words = append(r.Words, x...)
	case []float32:
		r.Singles = append(r.Singles, x...)
	case []float64:
		r.Doubles = append(r.Doubles, x...)
	}
}

func (r *Recipe) take(x any) {
	switch x := x.(type) {
	case []uint64:
		r.Words = r.Words[copy(x, r.Words):]
	case []float32:
		r.Singles = r.Singles[copy(x, r.Singles):]
	case []float64:
		r.Doubles = r.Doubles[copy(x, r.Doubles):]
	}
}

// counts are how many words, float32 and float64 a Recipe has, which may exceed an int.
type counts [3]float64

func (c counts) bytes() int { return int(8*c[0] + 4*c[1] + 8*c[2]) }

func add[E uint64 | float32 | float64](c *counts, n int) {
	at := 0
	switch any(E(0)).(type) {
	case float32:
		at = 1
	case float64:
		at = 2
	}
	c[at] += float64(n)
}

// parameter is a value that must be equal in a store to merge, and in a file to read.
type parameter struct {
	name  string
	value any // an int, a bool or a float64
}

func (p parameter) String() string { return fmt.Sprintf("%s = %v", p.name, p.value) }

func (s *Store[T]) parameters() (all []string) {
	for _, p := range append([]parameter{{"linear attention", s.segments == nil}, {"heads of an attention", s.of.Heads}}, s.content.parameters(s)...) {
		all = append(all, p.String())
	}
	return all
}

func (s *Store[T]) check(of string, parameters []string, marks []float64) error {
	want := s.parameters()
	for i := range min(len(want), len(parameters)) {
		if parameters[i] != want[i] {
			return fmt.Errorf("performer: %s with %.80q, want %q", of, parameters[i], want[i])
		}
	}
	if len(parameters) != len(want) || len(marks) != len(s.content.marks()) {
		return fmt.Errorf("performer: %s with %d parameters and %d marks, want %d and %d", of, len(parameters), len(marks), len(want), len(s.content.marks()))
	}
	return s.content.checkMarks(marks)
}

// Check returns an error unless other can be merged.
func (s *Store[T]) Check(tokens TokenStore[T]) error {
	other := tokens.(*Store[T])
	if err := s.check("other", other.parameters(), other.content.marks()); err != nil {
		return err
	}
	if s.of.Places.drops() || s.of.Places.Slope != 0 {
		return errors.New("performer: states with a Window, a Chunk or a Slope do not merge, as tokens would change places")
	}
	return nil
}

// normalised is in files because all attention is normalised, and earlier attention was not.
var normalised = parameter{"Unnormalised", false}

func (s *Store[T]) exact(keyBits, valueBits int) []parameter {
	p := []parameter{
		{"KeyBits", keyBits}, {"ValueBits", valueBits}, {"Scale", s.of.Scores[0].Scale}, {"Softcap", s.of.Scores[0].Softcap},
		normalised, {"Window", s.of.Places.Window}, {"Sinks", s.of.Places.Sinks}, {"Chunk", s.of.Places.Chunk}, {"Slope", s.of.Places.Slope},
	}
	for h := range s.of.Heads {
		p = append(p, parameter{"SinkWeight", s.of.Scores[h].Sink})
	}
	return p
}

// runs are the closed tokens that later queries see: the first sinks, and from ≤ i < closed.
type runs struct{ sinks, from, closed int }

func (s *Store[T]) runsOf(tokens int) runs {
	r := runs{closed: s.closedOf(tokens)}
	up := func(n int) int { return min((n+Segment-1)/Segment*Segment, r.closed) }
	if s.of.Places.drops() {
		r.sinks, r.from = up(s.of.Places.Sinks), up(s.of.Places.needed(tokens, 0)-Segment+1)
	}
	if r.from <= r.sinks {
		r.sinks, r.from = 0, 0
	}
	return r
}

func (s *Store[T]) Recipe() Recipe {
	n := s.counts(s.tokens())
	r := Recipe{s.parameters(), s.content.marks(), make([]uint64, 0, int(n[0])), make([]float32, 0, int(n[1])), make([]float64, 0, int(n[2]))}
	s.content.encode(&r, s.runsOf(s.tokens()))
	for side := range s.tail {
		for _, x := range s.tail[side] {
			r.put(x.RowRange(0, s.open).Data)
		}
	}
	if s.segments != nil && s.segments.choosing().paced {
		for _, p := range s.segments.choosing().paces {
			r.put(p.numbers())
		}
	}
	return r
}

func (s *Store[T]) counts(tokens int) counts {
	c := s.content.counts()
	if s.segments != nil {
		r := s.runsOf(tokens)
		for i := range c {
			c[i] *= float64((r.sinks + r.closed - r.from) / Segment)
		}
		add[T](&c, (tokens-r.closed)*s.of.KeyHeads*(s.dims[0]+s.dims[1]))
	}
	return c
}

// Inspect returns an error unless Decode can read r.
func (s *Store[T]) Inspect(r Recipe, tokens int) error {
	if err := s.check("state", r.Parameters, r.Marks); err != nil {
		return err
	}
	got, want := counts{float64(len(r.Words)), float64(len(r.Singles)), float64(len(r.Doubles))}, s.counts(tokens)
	if paces := s.of.Heads * numbersOfPace; s.segments != nil && got[2] == want[2]+float64(paces) {
		for _, x := range r.Doubles[len(r.Doubles)-paces:] {
			if !(x >= 0 && x <= math.MaxFloat64) {
				return fmt.Errorf("performer: state with a measured error of %v", x)
			}
		}
		got[2] = want[2]
	}
	if got != want {
		return fmt.Errorf("performer: state of %d tokens with %g words, %g float32 and %g float64, want %g, %g and %g", tokens, got[0], got[1], got[2], want[0], want[1], want[2])
	}
	return s.content.inspect(r)
}

func (s *Store[T]) Decode(r Recipe, tokens int) {
	s.Reset()
	runs := s.runsOf(tokens)
	s.content.decode(&r, runs)
	s.grow(tokens - runs.closed)
	s.closed, s.open = runs.closed, tokens-runs.closed
	if s.segments != nil {
		s.first = s.segments.drop(0)
	}
	for side := range s.tail {
		for _, x := range s.tail[side] {
			r.take(x.RowRange(0, s.open).Data)
		}
	}
	for ; s.segments != nil && s.segments.choosing().paced && len(r.Doubles) > 0; r.Doubles = r.Doubles[numbersOfPace:] {
		paces := s.segments.choosing().paces
		paces[s.of.Heads-len(r.Doubles)/numbersOfPace].set(r.Doubles)
	}
}
