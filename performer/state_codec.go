package performer

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/stream"
)

// A State as bytes, all numbers little endian:
//
//	 0  8 bytes  "rfstate" and a zero
//	 8  uint16   version, 3
//	10  uint8    bytes of an element, 4 or 8
//	11  uint8    0
//	12  uint32   H, heads of queries
//	16  uint32   Hk, heads of keys
//	20  uint32   d, dimension of queries and keys
//	24  uint32   dv, dimension of values
//	28  uint32   runs of heads that have one form
//	32  uint64   tokens, at most half of what an int counts
//
// then for each run of heads
//
//	uint32   flags: 1 unnormalised, 2 log-features, 4 keys and values, 8 landmarks, 16 near and far
//	uint32   heads of queries
//	uint32   m, features or landmarks; 0 for keys and values
//	uint32   0
//	float64  scale of exact weights; 0 for linear attention
//
// and for linear attention
//
//	float64  marks of the m features of queries, then of those of keys
//
// with for each of its heads of keys
//
//	int64    m reference exponents, if log-features: −2⁶³ for a feature of no key
//	element  sums, m rows of dv, and one more unless unnormalised
//
// for exact attention, for each of its heads of keys
//
//	element  keys, a row of d a token, then values, a row of dv a token
//
// for near and far tokens
//
//	float64  marks of the features, as for linear attention
//	uint64   window
//	uint64   near tokens, those with exact weights
//
// with for each of its heads of keys the exponents and sums of linear attention, and the keys and
// values of window + max(window, m) tokens as of exact attention, zeros where fewer are near
//
// and at the end the CRC-32C of all that precedes it, a uint32.
const (
	stateName       = "rfstate\x00"
	stateVersion    = 3
	recordSize      = 24
	exponentSize    = 8
	flagUnnormalise = 1
	flagLogarithms  = 2
	flagKeys        = 4
	flagLandmarks   = 8
	flagNear        = 16
)

var (
	_ encoding.BinaryMarshaler   = (*State[float32])(nil)
	_ encoding.BinaryUnmarshaler = (*State[float64])(nil)
)

// record is what says in bytes which form a run of heads has.
type record struct {
	flags, features int
	scale           float64
}

// MarshalBinary returns the state as bytes, which any architecture can read. A state
// that reads them goes on with the bits with which s does from then on.
func (s *State[T]) MarshalBinary() ([]byte, error) {
	if s.units == nil {
		return nil, errNoState
	}
	b := s.header().Append(make([]byte, 0, s.encodedSize()))
	for _, u := range s.units {
		b = u.encode(u.appendRecord(b))
	}
	return stream.Seal(b), nil
}

// UnmarshalBinary makes s what the state was whose bytes these are, whatever s held before. s
// is one of NewState, of the same type, heads, dimensions and forms as that state, so that what
// the bytes hold means the same; features are compared as Merge compares them. UnmarshalBinary
// returns an error and leaves s as it is if anything differs or the bytes are no intact state.
// The checksum finds damage, not forgery; forged sums are at worst wrong. Memory is allocated
// for keys and values alone, as many as data hold.
func (s *State[T]) UnmarshalBinary(data []byte) error {
	if s.units == nil {
		return errNoState
	}
	fixed, token := s.sizes()
	tokens, body, err := s.header().Open(data, fixed, token)
	if err != nil {
		return fmt.Errorf("performer: %w", err)
	}
	rest := body
	for _, u := range s.units {
		if err := u.checkRecord(rest); err != nil {
			return err
		}
		if rest, err = u.inspect(rest[recordSize:], tokens); err != nil {
			return err
		}
	}
	for _, u := range s.units {
		body = u.decode(body[recordSize:], tokens)
	}
	s.n = tokens
	return nil
}

// header returns what the bytes begin with.
func (s *State[T]) header() stream.Header {
	return stream.Header{
		Name: stateName, Version: stateVersion, ElementSize: stream.ElementSize[T](), FlagNames: "none",
		Words: [...]stream.Word{
			{Name: "heads", Value: s.heads}, {Name: "keyHeads", Value: s.keyHeads}, {Name: "d", Value: s.d},
			{Name: "dv", Value: s.dv}, {Name: "runs of heads", Value: len(s.units)},
		},
		Tokens: s.n,
	}
}

// sizes returns the number of bytes without tokens, and how many more each token takes.
func (s *State[T]) sizes() (fixed, token int) {
	fixed = stream.HeaderSize + stream.TrailerSize
	for _, u := range s.units {
		f, t := u.size()
		fixed, token = fixed+recordSize+f, token+t
	}
	return fixed, token
}

// encodedSize returns the number of bytes of the state.
func (s *State[T]) encodedSize() int {
	fixed, token := s.sizes()
	return fixed + s.n*token
}

// appendRecord appends the record of a run of heads.
func (u *stateUnit[T]) appendRecord(b []byte) []byte {
	r := u.record()
	for _, n := range [...]int{r.flags, u.to - u.from, r.features, 0} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(r.scale))
}

// checkRecord returns an error unless b begins with the record of u.
func (u *stateUnit[T]) checkRecord(b []byte) error {
	r := u.record()
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
	if flags := word(0); flags != uint32(r.flags) {
		return fmt.Errorf("performer: state with flags %#x, want %#x (1 unnormalised, 2 log-features, 4 keys and values, 8 landmarks, 16 near and far)", flags, r.flags)
	}
	for i, want := range [...]stream.Word{{Name: "heads of a form", Value: u.to - u.from}, {Name: "m", Value: r.features}, {Name: "reserved word"}} {
		if got := word(i + 1); got != uint32(want.Value) {
			return fmt.Errorf("performer: state with %s = %d, want %d", want.Name, got, want.Value)
		}
	}
	if scale := math.Float64frombits(binary.LittleEndian.Uint64(b[16:])); scale != r.scale {
		return fmt.Errorf("performer: state with scale = %v, want %v", scale, r.scale)
	}
	return nil
}

func (s *linearMemory[T]) record() record {
	r := record{features: s.a.m}
	if s.a.opts.Unnormalised {
		r.flags |= flagUnnormalise
	}
	if s.a.logs {
		r.flags |= flagLogarithms
	}
	return r
}

func (s *linearMemory[T]) size() (fixed, token int) { return 16*s.a.m + len(s.heads)*s.headSize(), 0 }

// headSize returns the number of bytes of a head of keys.
func (s *linearMemory[T]) headSize() int {
	perFeature := s.a.width(s.dv) * stream.ElementSize[T]()
	if s.a.logs {
		perFeature += exponentSize
	}
	return s.a.m * perFeature
}

func (s *linearMemory[T]) encode(b []byte) []byte {
	s.settle()
	b = stream.AppendElements(b, s.a.marks())
	for _, acc := range s.heads {
		b = acc.encode(b)
	}
	return b
}

// encode appends the exponents, if there are references, and the sums.
func (acc *accumulator[T]) encode(b []byte) []byte {
	if acc.ref != nil {
		for _, n := range acc.ref.exponent {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
	}
	sums := acc.sums()
	for f := range sums.Rows {
		b = stream.AppendElements(b, sums.Row(f))
	}
	return b
}

// inspect returns an error if the marks are not those of s, or if the heads hold what no keys
// lead to: exponents of no finite T, or finite sums other than zero of a feature that has none.
func (s *linearMemory[T]) inspect(b []byte, _ int) (rest []byte, err error) {
	marks := make([]float64, 2*s.a.m)
	b = stream.ReadElements(marks, b)
	if err := s.a.checkMarks(marks); err != nil {
		return nil, err
	}
	rest = b[len(s.heads)*s.headSize():]
	if !s.a.logs {
		return rest, nil
	}
	row := make([]T, s.a.width(s.dv))
	for range s.heads {
		if b, err = inspectSums(b, s.a.m, row); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// inspectSums returns an error if the exponents and sums of m features are what no keys lead to,
// and the bytes after them. row is memory for the sums of a feature.
func inspectSums[T dense.Float](b []byte, m int, row []T) (rest []byte, err error) {
	rest = b[exponentSize*m:]
	for f := range m {
		n := int64(binary.LittleEndian.Uint64(b[exponentSize*f:]))
		rest = stream.ReadElements(row, rest)
		if !isExponent[T](n) {
			return nil, fmt.Errorf("performer: state with exponent %d, want that of a finite %T", n, T(0))
		}
		if n == none && slices.ContainsFunc(row, func(x T) bool { return x != 0 && x-x == 0 }) {
			return nil, errors.New("performer: state with sums of a feature that no key has had")
		}
	}
	return rest, nil
}

func (s *linearMemory[T]) decode(b []byte, _ int) (rest []byte) {
	s.settle()
	b = b[16*s.a.m:]
	for _, acc := range s.heads {
		b = acc.decode(b)
	}
	return b
}

// decode reads what encode has appended, and returns the bytes after it.
func (acc *accumulator[T]) decode(b []byte) (rest []byte) {
	if acc.ref != nil {
		for f := range acc.ref.exponent {
			acc.ref.set(f, int64(binary.LittleEndian.Uint64(b[exponentSize*f:])))
		}
		b = b[exponentSize*acc.m:]
	}
	sums := acc.sums()
	for f := range sums.Rows {
		b = stream.ReadElements(sums.Row(f), b)
	}
	return b
}

func (s *exactMemory[T]) record() record {
	r := record{flags: flagKeys, scale: s.form.scale(s.d)}
	if s.form.Unnormalised {
		r.flags |= flagUnnormalise
	}
	return r
}

func (s *exactMemory[T]) size() (fixed, token int) {
	return 0, s.keyHeads * (s.d + s.dv) * stream.ElementSize[T]()
}

func (s *exactMemory[T]) encode(b []byte) []byte {
	for h := range s.keyHeads {
		k, v := s.head(h)
		b = stream.AppendElements(stream.AppendElements(b, k.Data), v.Data)
	}
	return b
}

// inspect returns no error: any keys and values are those of some tokens.
func (s *exactMemory[T]) inspect(b []byte, tokens int) (rest []byte, err error) {
	_, token := s.size()
	return b[tokens*token:], nil
}

func (s *exactMemory[T]) decode(b []byte, tokens int) (rest []byte) {
	s.reset()
	s.extend(tokens)
	for h := range s.keyHeads {
		k, v := s.head(h)
		b = stream.ReadElements(v.Data, stream.ReadElements(k.Data, b))
	}
	return b
}
