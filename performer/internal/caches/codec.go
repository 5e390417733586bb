package caches

import (
	"encoding/binary"
	"fmt"

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

// headSize is the number of bytes of bits, window, sinks, and the number of kept tokens.
const headSize = 32

func (s *Memory[T]) Size() (fixed, token int) {
	fixed = headSize + s.keyHeads*mostRecent*(s.keys.d+s.values.d)*frame.ElementSize[T]()
	if s.drops() {
		return fixed + s.most()*s.tokenSize(), 0
	}
	return fixed, s.tokenSize()
}

// tokenSize returns the number of bytes of the codes and scales of a token.
func (s *Memory[T]) tokenSize() int { return s.keyHeads * (8*(s.keys.words+s.values.words) + 8) }

func (s *Memory[T]) Encode(b []byte) []byte {
	fixed, token := s.Size()
	end := len(b) + fixed + (s.dropped+s.tokens)*token
	for _, n := range [...]int{s.bits, s.places.Window, s.places.Sinks, s.tokens} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	for h := range s.keyHeads {
		for _, x := range [...]*store[T]{&s.keys, &s.values} {
			for _, word := range x.codes[h*s.room*x.words:][:s.coded*x.words] {
				b = binary.LittleEndian.AppendUint64(b, word)
			}
			b = frame.AppendElements(b, x.scales[h*s.room:][:s.coded])
		}
		k, v := s.recent(h)
		b = frame.AppendElements(frame.AppendElements(b, k.Data), v.Data)
	}
	return append(b, make([]byte, end-len(b))...)
}

// Inspect returns an error if bits or places differ. Any codes are valid.
func (s *Memory[T]) Inspect(b []byte, tokens int) (rest []byte, err error) {
	fixed, token := s.Size()
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	if bits, window, sinks := word(0), word(1), word(2); bits != uint64(s.bits) || window != uint64(s.places.Window) || sinks != uint64(s.places.Sinks) {
		return nil, fmt.Errorf("performer: state with Bits = %d, Window = %d and Sinks = %d, want %d, %d and %d",
			bits, window, sinks, s.bits, s.places.Window, s.places.Sinks)
	}
	kept, least := word(3), tokens
	if s.drops() {
		least = min(tokens, s.places.Sinks+s.needed())
	}
	if kept > uint64(tokens) || kept < uint64(least) || s.drops() && codedOf(int(kept)) > s.most() || (uint64(tokens)-kept)%dropTogether != 0 {
		return nil, fmt.Errorf("performer: state with %d of %d tokens, want at least %d", kept, tokens, least)
	}
	return b[fixed+tokens*token:], nil
}

func (s *Memory[T]) Decode(b []byte, tokens int) (rest []byte) {
	fixed, token := s.Size()
	rest = b[fixed+tokens*token:]
	s.Reset()
	kept := int(binary.LittleEndian.Uint64(b[24:]))
	s.grow(codedOf(kept))
	s.arrivals.Extend(kept)
	s.dropped, s.tokens, s.coded = tokens-kept, kept, codedOf(kept)
	b = b[headSize:]
	for h := range s.keyHeads {
		for _, x := range [...]*store[T]{&s.keys, &s.values} {
			codes := x.codes[h*s.room*x.words:][:s.coded*x.words]
			for i := range codes {
				codes[i] = binary.LittleEndian.Uint64(b[8*i:])
			}
			b = frame.ReadElements(x.scales[h*s.room:][:s.coded], b[8*len(codes):])
		}
		k, v := s.recent(h)
		b = frame.ReadElements(v.Data, frame.ReadElements(k.Data, b))
	}
	return rest
}
