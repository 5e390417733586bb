package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/internal/file/frame"
)

// parameter is a number that must be equal in a store to merge, and in the bytes of a store to read.
type parameter struct {
	name  string
	value any // an int, a bool or a float64
}

// word returns the bits of the value, and of returns the value with the bits of a word.
func (p parameter) word() uint64 {
	switch v := p.value.(type) {
	case bool:
		if v {
			return 1
		}
		return 0
	case float64:
		return math.Float64bits(v)
	}
	return uint64(p.value.(int))
}

func (p parameter) of(word uint64) any {
	switch p.value.(type) {
	case bool:
		return word != 0
	case float64:
		return math.Float64frombits(word)
	}
	return int64(word)
}

// parameters are those of the attention and of its heads.
func (s *Store[T]) parameters() []parameter {
	return append([]parameter{{"linear attention", s.segments == nil}, {"heads of an attention", s.heads}}, s.content.parameters(s)...)
}

// Check returns an error unless other can be merged.
func (s *Store[T]) Check(other *Store[T]) error {
	want, got := s.parameters(), other.parameters()
	if want[0] != got[0] {
		return fmt.Errorf("performer: other belongs to other attention, want linear attention = %v", want[0].value)
	}
	for i, p := range got {
		if p != want[i] {
			return fmt.Errorf("performer: %s = %v, but the state belongs to attention with %v", p.name, p.value, want[i].value)
		}
	}
	if s.places.drops() || s.places.Slope != 0 {
		return errors.New("performer: states with a Window, a Chunk or a Slope do not merge, as tokens would change places")
	}
	return s.content.checkMarks(other.content.marks())
}

// exact are the parameters of exact attention with codes of so many bits, or 0 for elements.
func (s *Store[T]) exact(keyBits, valueBits int) []parameter {
	p := []parameter{
		{"KeyBits", keyBits}, {"ValueBits", valueBits}, {"Scale", s.scores[0].Scale}, {"Softcap", s.scores[0].Softcap},
		{"Unnormalised", s.scores[0].Unnormalised}, {"Window", s.places.Window}, {"Sinks", s.places.Sinks}, {"Chunk", s.places.Chunk}, {"Slope", s.places.Slope},
	}
	for h := range s.heads {
		p = append(p, parameter{"SinkWeight", s.scores[h].Sink})
	}
	return p
}

// runs are the closed tokens that are written: the first sinks, and from ≤ i < closed. Later queries
// see no others.
type runs struct{ sinks, from, closed int }

// runsOf returns the runs of so many tokens.
func (s *Store[T]) runsOf(tokens int) runs {
	r := runs{closed: s.closedOf(tokens)}
	up := func(n int) int { return min((n+Segment-1)/Segment*Segment, r.closed) }
	if s.places.drops() {
		r.sinks, r.from = up(s.places.Sinks), up(s.places.needed(tokens, 0)-Segment+1)
	}
	if r.from <= r.sinks {
		r.sinks, r.from = 0, 0
	}
	return r
}

// Size returns the number of bytes of so many tokens, or frame.MaxTokens if it is larger.
func (s *Store[T]) Size(tokens int) int {
	r, element := s.runsOf(tokens), frame.ElementSize[T]()
	size := s.content.bytes(r)
	if size >= frame.MaxTokens {
		return frame.MaxTokens
	}
	return size + 8*(len(s.parameters())+len(s.content.marks())) + (tokens-r.closed)*s.keyHeads*(s.dims[0]+s.dims[1])*element
}

// times returns n·size, or frame.MaxTokens if it is larger.
func times(n, size int) int {
	if n > frame.MaxTokens/2/max(size, 1) {
		return frame.MaxTokens
	}
	return n * size
}

// EncodeParameters appends a word for each parameter, and CheckParameters returns the bytes after the
// words, or an error if a word differs. It returns nil if there are too few bytes.
func (s *Store[T]) EncodeParameters(b []byte) []byte {
	for _, p := range s.parameters() {
		b = binary.LittleEndian.AppendUint64(b, p.word())
	}
	return b
}

func (s *Store[T]) CheckParameters(b []byte) (rest []byte, err error) {
	for _, p := range s.parameters() {
		if len(b) < 8 {
			return nil, nil
		}
		if word := binary.LittleEndian.Uint64(b); word != p.word() {
			return nil, fmt.Errorf("performer: state with %s = %v, want %v", p.name, p.of(word), p.value)
		}
		b = b[8:]
	}
	return b, nil
}

// Encode appends marks, closed segments, and the elements of open tokens.
func (s *Store[T]) Encode(b []byte) []byte {
	b = s.content.encode(frame.AppendElements(b, s.content.marks()), s.runsOf(s.tokens()))
	for side := range s.tail {
		for _, x := range s.tail[side] {
			b = frame.AppendElements(b, x.RowRange(0, s.open).Data)
		}
	}
	return b
}

// Inspect returns an error unless Decode can read the first bytes of b. rest is b after these bytes.
func (s *Store[T]) Inspect(b []byte, tokens int) (rest []byte, err error) {
	marks := make([]float64, len(s.content.marks()))
	body := frame.ReadElements(marks, b)
	if err := s.content.checkMarks(marks); err != nil {
		return nil, err
	}
	return b[s.Size(tokens)-8*len(s.parameters()):], s.content.inspect(body)
}

// Decode sets the store to the encoded store, and returns the bytes after it.
func (s *Store[T]) Decode(b []byte, tokens int) (rest []byte) {
	s.Reset()
	r := s.runsOf(tokens)
	b = s.content.decode(b[8*len(s.content.marks()):], r)
	s.grow(tokens - r.closed)
	s.closed, s.open = r.closed, tokens-r.closed
	if s.segments != nil {
		s.first = s.segments.drop(0)
	}
	for side := range s.tail {
		for _, x := range s.tail[side] {
			b = frame.ReadElements(x.RowRange(0, s.open).Data, b)
		}
	}
	return b
}
