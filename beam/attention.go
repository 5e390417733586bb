package beamfeat

import (
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

func init() {
	registerAttention[float32]()
	registerAttention[float64]()
	beam.RegisterCoder(reflect.TypeFor[state[float32]](), encodeState32, decodeState32)
	beam.RegisterCoder(reflect.TypeFor[state[float64]](), encodeState64, decodeState64)
}

func registerAttention[T dense.Float]() {
	beam.RegisterType(reflect.TypeFor[state[T]]())
	register.Combiner2[state[T], ridge.Block[T]](&stateFn[T]{})
	beam.RegisterDoFn(reflect.TypeFor[attendFn[T]]())
	beam.RegisterDoFn(reflect.TypeFor[attendKeyFn[T]]())
}

// Attention says what Attend computes.
type Attention[T dense.Float] struct {
	Map          rff.Map[T] // of the features of queries and keys, as for performer.NewLinear; rff.Write must know it
	Values       int        // dv, the dimension of values
	Unnormalised bool       // as in performer.LinearOptions
}

// Attend answers queries by linear attention over all keys and values, as performer.Linear does
// on one machine,
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij.
//
// keys is a PCollection of ridge.Block[T] with keys in X (n×d) and values in Y (n×dv); queries is
// one with queries in X. The result has the blocks of queries with outputs in Y (n×dv). Weights are
// not read.
//
// The keys of a bundle leave one performer.State of m·(dv + 1) numbers for m features. The states
// are merged and travel to the queries as a side input. Outputs are those on one machine, to the
// rounding of sums in another order.
//
// Shapes that do not fit and states that are damaged fail the pipeline, as queries without keys do.
// Attend panics for a map that cannot be written and for Values below 1.
func Attend[T dense.Float](s beam.Scope, keys, queries beam.PCollection, spec Attention[T]) beam.PCollection {
	s = s.Scope("beamfeat.Attend")
	f := newFormer(spec)
	sum := beam.Combine(s, &stateFn[T]{f}, keys)
	return beam.ParDo(s, &attendFn[T]{f}, queries, beam.SideInput{Input: sum})
}

// AttendPerKey answers queries by linear attention over the keys and values of the same group, as
// Attend does over all: groups are documents, users or heads, and each has any number of blocks.
//
// keys and queries are PCollections of KV<G, ridge.Block[T]>, where G is any type that Beam groups
// by, such as string or int. The result is one of KV<G, ridge.Block[T]> with the blocks of queries
// and outputs in Y.
//
// The states of a group are merged on one worker, where its queries meet them. So one group is
// limited by what a worker does, and many groups are not; all queries of a few large groups are
// better asked through Attend. A bundle holds a state for each of its groups, up to some 2000.
//
// A group with queries and without keys fails the pipeline. A group without queries has no outputs.
// Everything else is as for Attend.
func AttendPerKey[T dense.Float](s beam.Scope, keys, queries beam.PCollection, spec Attention[T]) beam.PCollection {
	s = s.Scope("beamfeat.AttendPerKey")
	f := newFormer(spec)
	sums := beam.CombinePerKey(s, &stateFn[T]{f}, keys)
	return beam.ParDo(s, &attendKeyFn[T]{f}, beam.CoGroupByKey(s, sums, queries))
}

// former makes states.
type former[T dense.Float] struct {
	Map          []byte // file of the map
	Values       int
	Unnormalised bool

	form performer.Linear[T]
}

func newFormer[T dense.Float](spec Attention[T]) former[T] {
	file, err := writeMap(spec.Map)
	if err == nil && spec.Values < 1 {
		err = fmt.Errorf("beamfeat: Values = %d, want at least 1", spec.Values)
	}
	if err != nil {
		panic(err)
	}
	return former[T]{Map: file, Values: spec.Values, Unnormalised: spec.Unnormalised}
}

// Setup reads the map, once for each copy of f.
func (f *former[T]) Setup() error {
	phi, err := readMap[T](f.Map)
	if err != nil {
		return err
	}
	f.form, err = performer.NewLinear(phi, performer.LinearOptions{Unnormalised: f.Unnormalised})
	return err
}

// fresh returns the state of no keys.
func (f *former[T]) fresh() (*performer.State[T], error) {
	d, _ := f.form.Dims()
	return f.form.NewState(d, f.Values)
}

// open returns the state of an accumulator.
func (f *former[T]) open(a state[T]) (*performer.State[T], error) {
	if a.live != nil {
		return a.live, nil
	}
	s, err := f.fresh()
	if err != nil {
		return nil, err
	}
	return s, s.UnmarshalBinary(a.data)
}

// attend returns a block of queries with their outputs.
func (f *former[T]) attend(s *performer.State[T], b ridge.Block[T]) (ridge.Block[T], error) {
	if err := f.points("queries", b.X); err != nil {
		return b, err
	}
	b.Y = s.Attend(dense.Matrix[T]{}, b.X)
	return b, nil
}

// points returns an error unless x has the columns of the map.
func (f *former[T]) points(name string, x dense.Matrix[T]) error {
	if d, _ := f.form.Dims(); x.Cols != d {
		return fmt.Errorf("beamfeat: %s in X of %d×%d, want %d columns", name, x.Rows, x.Cols, d)
	}
	return nil
}

// stateFn is the CombineFn of Attend.
type stateFn[T dense.Float] struct{ former[T] }

func (f *stateFn[T]) CreateAccumulator() (state[T], error) {
	s, err := f.fresh()
	return state[T]{live: s}, err
}

func (f *stateFn[T]) AddInput(a state[T], b ridge.Block[T]) (state[T], error) {
	if err := f.points("keys", b.X); err != nil {
		return a, err
	}
	if b.Y.Rows != b.X.Rows || b.Y.Cols != f.Values {
		return a, fmt.Errorf("beamfeat: values in Y of %d×%d, want %d×%d", b.Y.Rows, b.Y.Cols, b.X.Rows, f.Values)
	}
	s, err := f.open(a)
	if err != nil {
		return a, err
	}
	s.Append(b.X, b.Y)
	return state[T]{live: s}, nil
}

func (f *stateFn[T]) MergeAccumulators(a, b state[T]) (state[T], error) {
	s, err := f.open(a)
	if err != nil {
		return a, err
	}
	other, err := f.open(b)
	if err != nil {
		return a, err
	}
	return state[T]{live: s}, s.Merge(other)
}

func (f *stateFn[T]) ExtractOutput(a state[T]) state[T] { return a }

// attendFn answers a block of queries.
type attendFn[T dense.Float] struct{ former[T] }

func (f *attendFn[T]) ProcessElement(b ridge.Block[T], sum state[T]) (ridge.Block[T], error) {
	// A state answers one goroutine at a time, and others may hold the element: bytes are opened
	// anew. Compared with thousands of queries that costs little.
	data, err := sum.encode()
	if err != nil {
		return b, err
	}
	s, err := f.open(state[T]{data: data})
	if err != nil {
		return b, err
	}
	return f.attend(s, b)
}

// attendKeyFn answers the blocks of queries of a group.
type attendKeyFn[T dense.Float] struct{ former[T] }

func (f *attendKeyFn[T]) ProcessElement(group beam.T, sums func(*state[T]) bool, queries func(*ridge.Block[T]) bool,
	emit func(beam.T, ridge.Block[T])) error {
	var sum state[T]
	found := sums(&sum)
	var s *performer.State[T]
	var b ridge.Block[T]
	for queries(&b) {
		if !found {
			return fmt.Errorf("beamfeat: group %v has queries and no keys", group)
		}
		var err error
		if s == nil {
			if s, err = f.open(sum); err != nil {
				return err
			}
		}
		out, err := f.attend(s, b)
		if err != nil {
			return err
		}
		emit(group, out)
	}
	return nil
}

// state is an accumulator: a state at work, or a state as bytes if live is nil, as sums are.
type state[T dense.Float] struct {
	live *performer.State[T]
	data []byte
}

func encodeState32(a state[float32]) ([]byte, error) { return a.encode() }
func encodeState64(a state[float64]) ([]byte, error) { return a.encode() }
func decodeState32(data []byte) state[float32]       { return state[float32]{data: data} }
func decodeState64(data []byte) state[float64]       { return state[float64]{data: data} }

func (a state[T]) encode() ([]byte, error) {
	if a.live == nil {
		return a.data, nil
	}
	return a.live.MarshalBinary()
}
