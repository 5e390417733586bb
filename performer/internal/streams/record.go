package streams

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Record is the header of the encoded memory of a run of heads. Memories with equal records have
// attention with equal options, apart from feature maps.
type Record struct {
	Flags, Features int
	Scale           float64
	Options         []Option // as many, with the same names, for equal flags and numbers of heads
}

// Option is a number of an attention. Value is an int, a uint64 or a float64.
type Option struct {
	Name  string
	Value any
}

// Flags of a Record.
const (
	FlagUnnormalised = 1 << iota
	flagLogarithms
	FlagKeys
	flagLandmarks
	flagLocal
	FlagClusters
	FlagCodes
)

const flagNames = "1 unnormalised, 2 log-features, 4 keys and values, 8 landmarks, 16 local and earlier tokens, 32 clusters, 64 codes"

// Size returns the number of bytes of the record.
func (r Record) Size() int { return 24 + 8*len(r.Options) }

// Append appends the record for the given number of heads of queries.
func (r Record) Append(b []byte, heads int) []byte {
	for _, n := range [...]int{r.Flags, heads, r.Features, 0} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.Scale))
	for _, o := range r.Options {
		b = binary.LittleEndian.AppendUint64(b, o.word())
	}
	return b
}

// Check returns an error unless b begins with the record for the given number of heads of queries.
func (r Record) Check(b []byte, heads int) error {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
	if flags := word(0); flags&^FlagUnnormalised != uint32(r.Flags&^FlagUnnormalised) {
		return fmt.Errorf("performer: state with flags %#x, want %#x (%s)", flags, r.Flags, flagNames)
	}
	for i, want := range [...]frame.Word{{Name: "heads of an attention", Value: heads}, {Name: "m", Value: r.Features}, {Name: "reserved word"}} {
		if got := word(i + 1); got != uint32(want.Value) {
			return fmt.Errorf("performer: state with %s = %d, want %d", want.Name, got, want.Value)
		}
	}
	other := Record{Flags: int(word(0)), Scale: math.Float64frombits(binary.LittleEndian.Uint64(b[16:]))}
	for i, o := range r.Options {
		other.Options = append(other.Options, o.like(binary.LittleEndian.Uint64(b[24+8*i:])))
	}
	if got, want, differ := r.difference(other); differ {
		return fmt.Errorf("performer: state with %s = %v, want %v", got.Name, got.Value, want.Value)
	}
	return nil
}

// CheckMerge returns an error if other, the record of a memory of the same kind and with as many
// heads, differs from r.
func (r Record) CheckMerge(other Record) error {
	if got, want, differ := r.difference(other); differ {
		return fmt.Errorf("performer: %s = %v, but the state belongs to attention with %v", got.Name, got.Value, want.Value)
	}
	return nil
}

// difference returns the first option of other that differs from the option of r.
func (r Record) difference(other Record) (got, want Option, differ bool) {
	if a, b := r.Flags&FlagUnnormalised != 0, other.Flags&FlagUnnormalised != 0; a != b {
		return Option{"Unnormalised", b}, Option{"Unnormalised", a}, true
	}
	if r.Scale != other.Scale {
		return Option{"Scale", other.Scale}, Option{"Scale", r.Scale}, true
	}
	for i, o := range r.Options {
		if other.Options[i] != o {
			return other.Options[i], o, true
		}
	}
	return Option{}, Option{}, false
}

// word returns the value as 64 bits.
func (o Option) word() uint64 {
	switch v := o.Value.(type) {
	case int:
		return uint64(v)
	case float64:
		return math.Float64bits(v)
	}
	return o.Value.(uint64)
}

// like returns the option of the same name and type whose word is w.
func (o Option) like(w uint64) Option {
	switch o.Value.(type) {
	case int:
		return Option{o.Name, int(w)}
	case float64:
		return Option{o.Name, math.Float64frombits(w)}
	}
	return Option{o.Name, w}
}

// HeadScores are the Scores of heads of queries, which may have a Sink each.
type HeadScores struct {
	tiles.Scores
	Sinks []float64 // of each head; nil if all heads have the Sink of Scores
}

// Of returns the scores of a head.
func (s *HeadScores) Of(head int) tiles.Scores {
	scores := s.Scores
	if s.Sinks != nil {
		scores.Sink = s.Sinks[head]
	}
	return scores
}

// Record returns the record of a memory of exact attention with the given places.
func (s *HeadScores) Record(p Places, heads int) Record {
	r := Record{Flags: FlagKeys, Scale: s.Scale, Options: []Option{
		{"Softcap", s.Softcap}, {"Window", p.Window}, {"Sinks", p.Sinks}, {"Chunk", p.Chunk}, {"Slope", p.Slope},
	}}
	if s.Unnormalised {
		r.Flags |= FlagUnnormalised
	}
	for h := range heads {
		r.Options = append(r.Options, Option{"SinkWeight", s.Of(h).Sink})
	}
	return r
}
