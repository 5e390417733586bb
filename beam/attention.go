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
}

func registerAttention[T dense.Float]() {
	register.Combiner2[state[T], ridge.Block[T]](&stateFn[T]{})
	beam.RegisterDoFn(reflect.TypeFor[attendFn[T]]())
	beam.RegisterDoFn(reflect.TypeFor[attendKeyFn[T]]())
}

// Attention has the feature map and the dimension of values for Attend and AttendPerKey.
type Attention[T dense.Float] struct {
	// Map is a feature map of queries and keys that performer.NewLinear and rff.Write accept.
	Map    rff.Map[T]
	Values int // dv, the dimension of values
}

// Attend computes linear attention of queries over all keys and values: the result of
// performer.Linear, up to the rounding of sums in another order. The arguments keys and queries are
// PCollections of ridge.Block[T], with keys or queries in the rows of X, and with values in Y for
// keys. Attend returns a PCollection of the blocks of queries, with the outputs of attention in Y.
// The outputs of Attend do not depend on the row weights in the field Weights of a ridge.Block.
//
// Beam passes the sums over all keys, m·(dv + 1) numbers for m features and values of dimension dv,
// to the workers with queries. A pipeline with Attend fails for blocks whose shapes do not fit the
// Map and Values, and for queries if there are no keys. Attend panics for a Map that rff.Write does
// not support and for Values below 1.
func Attend[T dense.Float](s beam.Scope, keys, queries beam.PCollection, spec Attention[T]) beam.PCollection {
	s = s.Scope("beamfeat.Attend")
	f := newAttender(spec)
	sum := beam.Combine(s, &stateFn[T]{f}, keys)
	return beam.ParDo(s, &attendFn[T]{f}, queries, beam.SideInput{Input: sum})
}

// AttendPerKey computes linear attention of the queries of each group, such as a document, over the
// keys and values of the group, as Attend does over all keys. The arguments keys and queries are
// PCollections of KV<G, ridge.Block[T]>, where G is any type that Beam groups by. AttendPerKey
// returns a PCollection of KV<G, ridge.Block[T]>, the groups and blocks of queries with the outputs
// of attention in Y.
//
// One worker sums the keys of a group and computes the outputs of all queries of the group, and
// holds the sums of at most about 2000 groups at a time. A group with queries and no keys fails the
// pipeline. A group with keys and no queries has no outputs.
func AttendPerKey[T dense.Float](s beam.Scope, keys, queries beam.PCollection, spec Attention[T]) beam.PCollection {
	s = s.Scope("beamfeat.AttendPerKey")
	f := newAttender(spec)
	sums := beam.CombinePerKey(s, &stateFn[T]{f}, keys)
	return beam.ParDo(s, &attendKeyFn[T]{f}, beam.CoGroupByKey(s, sums, queries))
}

// attender makes states and computes attention. Beam stores the exported fields in the pipeline.
type attender[T dense.Float] struct {
	Map    []byte // file of the map
	Values int

	attention performer.Linear[T]
}

func newAttender[T dense.Float](spec Attention[T]) attender[T] {
	file, err := writeMap(spec.Map)
	if err == nil && spec.Values < 1 {
		err = fmt.Errorf("beamfeat: Values = %d, want at least 1", spec.Values)
	}
	if err != nil {
		panic(err)
	}
	return attender[T]{Map: file, Values: spec.Values}
}

// Setup decodes the feature map in f; Beam calls Setup once for each copy of f on a worker.
func (f *attender[T]) Setup() error {
	phi, err := readMap[T](f.Map)
	if err != nil {
		return err
	}
	f.attention, err = performer.NewLinear(phi, performer.LinearOptions{})
	return err
}

func (f *attender[T]) fresh() (*performer.State[T], error) {
	return f.attention.NewState(f.attention.Describe().Dim, f.Values)
}

func (f *attender[T]) attend(s *performer.State[T], b ridge.Block[T]) (ridge.Block[T], error) {
	if err := f.points("queries", b.X); err != nil {
		return b, err
	}
	b.Y = s.Attend(dense.Matrix[T]{}, b.X)
	return b, nil
}

func (f *attender[T]) points(name string, x dense.Matrix[T]) error {
	if d := f.attention.Describe().Dim; x.Cols != d {
		return fmt.Errorf("beamfeat: %s in X of %d×%d, want %d columns", name, x.Rows, x.Cols, d)
	}
	return nil
}

type stateFn[T dense.Float] struct{ attender[T] }

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
	s, err := a.open(f.fresh)
	if err != nil {
		return a, err
	}
	s.Append(b.X, b.Y)
	return state[T]{live: s}, nil
}

func (f *stateFn[T]) MergeAccumulators(a, b state[T]) (state[T], error) { return a.merge(b, f.fresh) }

func (f *stateFn[T]) ExtractOutput(a state[T]) state[T] { return a }

type attendFn[T dense.Float] struct{ attender[T] }

func (f *attendFn[T]) ProcessElement(b ridge.Block[T], sum state[T]) (ridge.Block[T], error) {
	// Another goroutine may have the same element: each call opens the bytes again.
	data, err := sum.encode()
	if err != nil {
		return b, err
	}
	s, err := state[T]{data: data}.open(f.fresh)
	if err != nil {
		return b, err
	}
	return f.attend(s, b)
}

type attendKeyFn[T dense.Float] struct{ attender[T] }

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
			if s, err = sum.open(f.fresh); err != nil {
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
