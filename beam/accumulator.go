package beamfeat

import (
	"encoding"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/ridge"
)

func init() {
	registerAccumulator[*ridge.Sums[float32]](encodeSums32, decodeSums32)
	registerAccumulator[*ridge.Sums[float64]](encodeSums64, decodeSums64)
	registerAccumulator[*performer.State[float32]](encodeState32, decodeState32)
	registerAccumulator[*performer.State[float64]](encodeState64, decodeState64)
}

// Beam finds a coder by the name of its function, and all instances of a generic function have one
// name, so that each accumulator has its own functions.
func registerAccumulator[S mergeable[S]](encode, decode any) {
	beam.RegisterType(reflect.TypeFor[accumulator[S]]())
	beam.RegisterCoder(reflect.TypeFor[accumulator[S]](), encode, decode)
}

func encodeSums32(a sums[float32]) ([]byte, error)   { return a.encode() }
func encodeSums64(a sums[float64]) ([]byte, error)   { return a.encode() }
func encodeState32(a state[float32]) ([]byte, error) { return a.encode() }
func encodeState64(a state[float64]) ([]byte, error) { return a.encode() }
func decodeSums32(data []byte) sums[float32]         { return sums[float32]{data: data} }
func decodeSums64(data []byte) sums[float64]         { return sums[float64]{data: data} }
func decodeState32(data []byte) state[float32]       { return state[float32]{data: data} }
func decodeState64(data []byte) state[float64]       { return state[float64]{data: data} }

type (
	sums[T dense.Float]  = accumulator[*ridge.Sums[T]]
	state[T dense.Float] = accumulator[*performer.State[T]]
)

// mergeable is a *ridge.Sums[T] or a *performer.State[T].
type mergeable[S any] interface {
	comparable
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	Merge(other S) error
}

// accumulator is an S, or the bytes of an S if live is nil: a coder has no feature map to make an S
// from bytes, but a CombineFn has, and calls open.
type accumulator[S mergeable[S]] struct {
	live S
	data []byte
}

func (a accumulator[S]) open(fresh func() (S, error)) (S, error) {
	var none S
	if a.live != none {
		return a.live, nil
	}
	s, err := fresh()
	if err != nil {
		return none, err
	}
	return s, s.UnmarshalBinary(a.data)
}

func (a accumulator[S]) merge(b accumulator[S], fresh func() (S, error)) (accumulator[S], error) {
	s, err := a.open(fresh)
	if err != nil {
		return a, err
	}
	other, err := b.open(fresh)
	if err != nil {
		return a, err
	}
	return accumulator[S]{live: s}, s.Merge(other)
}

func (a accumulator[S]) encode() ([]byte, error) {
	var none S
	if a.live == none {
		return a.data, nil
	}
	return a.live.MarshalBinary()
}
