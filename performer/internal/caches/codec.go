package caches

import (
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/performer/internal/streams"
)

func (s *Memory[T]) Record() streams.Record {
	r := s.scores.Record(s.places, s.heads)
	r.Flags |= streams.FlagCodes
	r.Options = append(r.Options, streams.Option{Name: "Bits of keys", Value: s.keys.codes.bits}, streams.Option{Name: "Bits of values", Value: s.values.codes.bits})
	return r
}

func (s *Memory[T]) Size(tokens int) (fixed, token int) {
	first, coded, recent := s.written(tokens)
	block, element := s.blockSize(), s.keyHeads*(s.keys.d+s.values.d)*frame.ElementSize[T]()
	blocks := (first + coded) / s.together
	if blocks > (frame.MaxTokens-recent*element)/block {
		return frame.MaxTokens, 0
	}
	return blocks*block + recent*element, 0
}

// blockSize returns the number of bytes of a block of tokens.
func (s *Memory[T]) blockSize() int {
	return s.keyHeads * (s.together*(s.keys.codes.size()+s.values.codes.size()) + s.keys.means.size() + s.values.means.size())
}

// written returns how many of a number of tokens are written: the codes of the first tokens, the
// codes of the last tokens with codes, and tokens without codes.
func (s *Memory[T]) written(tokens int) (first, last, recent int) {
	coded := s.codedOf(tokens)
	from := max(tokens-1-s.places.Reach(), 0) / s.together * s.together
	if !s.drops() || from <= s.sinks() {
		return 0, coded, tokens - coded
	}
	return s.sinks(), coded - from, tokens - coded
}

func (s *Memory[T]) Encode(b []byte) []byte {
	first, last, _ := s.written(s.dropped + s.tokens)
	for h := range s.keyHeads {
		for _, x := range [...]*store[T]{&s.keys, &s.values} {
			for _, r := range [...]run{{0, first}, {s.coded - last, s.coded}} {
				b = x.codes.encode(b, h*s.room+r.from, r.to-r.from)
				b = x.means.encode(b, (h*s.room+r.from)/s.together, (r.to-r.from)/s.together)
			}
		}
		k, v := s.recent(h)
		b = frame.AppendElements(frame.AppendElements(b, k.Data), v.Data)
	}
	return b
}

// Inspect returns no error, because any codes are valid.
func (s *Memory[T]) Inspect(b []byte, tokens int) (rest []byte, err error) {
	fixed, _ := s.Size(tokens)
	return b[fixed:], nil
}

func (s *Memory[T]) Decode(b []byte, tokens int) (rest []byte) {
	s.Reset()
	first, last, recent := s.written(tokens)
	s.grow(first + last)
	s.coded, s.tokens = first+last, first+last+recent
	s.dropped = tokens - s.tokens
	s.arrivals.Extend(s.tokens)
	for h := range s.keyHeads {
		for _, x := range [...]*store[T]{&s.keys, &s.values} {
			for _, r := range [...]run{{0, first}, {first, s.coded}} {
				b = x.codes.decode(b, h*s.room+r.from, r.to-r.from)
				b = x.means.decode(b, (h*s.room+r.from)/s.together, (r.to-r.from)/s.together)
			}
		}
		k, v := s.recent(h)
		b = frame.ReadElements(v.Data, frame.ReadElements(k.Data, b))
	}
	return b
}
