package caches

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/performer/internal/streams"
)

func (s *Memory[T]) Record() streams.Record {
	r := streams.Record{Flags: streams.FlagKeys | streams.FlagCodes, Scale: s.scores.Scale}
	if s.scores.Unnormalised {
		r.Flags |= streams.FlagUnnormalised
	}
	return r
}

// parameters are the numbers that must be equal in the bytes and in the memory that reads them.
func (s *Memory[T]) parameters() []uint64 {
	return append([]uint64{uint64(s.keys.codes.bits), uint64(s.values.codes.bits)}, s.places.Words()...)
}

const headSize = 5 * 8

func (s *Memory[T]) Size(tokens int) (fixed, token int) {
	first, coded, recent := s.written(tokens)
	block, element := s.blockSize(), s.keyHeads*(s.keys.d+s.values.d)*frame.ElementSize[T]()
	blocks := (first + coded) / s.together
	if blocks > (frame.MaxTokens-headSize-recent*element)/block {
		return frame.MaxTokens, 0
	}
	return headSize + blocks*block + recent*element, 0
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
	for _, n := range s.parameters() {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
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

// Inspect returns an error if bits or places differ. Any codes are valid.
func (s *Memory[T]) Inspect(b []byte, tokens int) (rest []byte, err error) {
	fixed, _ := s.Size(tokens)
	want := s.parameters()
	got := make([]uint64, len(want))
	for i := range got {
		got[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	if !slices.Equal(got, want) {
		return nil, fmt.Errorf("performer: state with Bits = %d and %d, %s, want %d and %d, %s",
			got[0], got[1], streams.PlacesText(got[2:]), want[0], want[1], streams.PlacesText(want[2:]))
	}
	return b[fixed:], nil
}

func (s *Memory[T]) Decode(b []byte, tokens int) (rest []byte) {
	s.Reset()
	first, last, recent := s.written(tokens)
	s.grow(first + last)
	s.coded, s.tokens = first+last, first+last+recent
	s.dropped = tokens - s.tokens
	s.arrivals.Extend(s.tokens)
	b = b[headSize:]
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
