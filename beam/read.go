package beamfeat

import (
	"context"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

// DoFns are registered by reflection. The functions register.DoFn1x1 and so on save a microsecond a
// call, which is nothing beside a block, and take the compiler some seconds each.
func init() {
	registerRead[float32]()
	registerRead[float64]()
}

func registerRead[T dense.Float]() {
	beam.RegisterType(reflect.TypeFor[ridge.NPY[T]]())
	beam.RegisterType(reflect.TypeFor[ridge.CSV[T]]())
	beam.RegisterDoFn(reflect.TypeFor[readFn[T, ridge.NPY[T]]]())
	beam.RegisterDoFn(reflect.TypeFor[readFn[T, ridge.CSV[T]]]())
	register.Emitter1[ridge.Block[T]]()
}

// ReadNPY reads shards in files of NumPy's format and returns a PCollection of ridge.Block[T],
// blocks of 8160 rows at most. Workers share the shards, and open the files themselves: the paths
// must mean the same on every worker. Only the paths are part of the pipeline.
//
// What ridge.NPY reports of a file fails the pipeline. ReadNPY panics without shards.
func ReadNPY[T dense.Float](s beam.Scope, shards ...ridge.NPY[T]) beam.PCollection {
	return read[T](s.Scope("beamfeat.ReadNPY"), shards)
}

// ReadCSV reads shards in files of comma-separated numbers. Everything else is as for ReadNPY.
func ReadCSV[T dense.Float](s beam.Scope, shards ...ridge.CSV[T]) beam.PCollection {
	return read[T](s.Scope("beamfeat.ReadCSV"), shards)
}

func read[T dense.Float, R ridge.Rows[T]](s beam.Scope, shards []R) beam.PCollection {
	if len(shards) == 0 {
		panic("beamfeat: no shards, want at least one")
	}
	// The names are shuffled, a few bytes each, so that a runner may read them on several workers.
	names := beam.Reshuffle(s, beam.CreateList(s, shards))
	return beam.ParDo(s, &readFn[T, R]{}, names)
}

// readFn emits the blocks of rows.
type readFn[T dense.Float, R ridge.Rows[T]] struct{}

func (f *readFn[T, R]) ProcessElement(ctx context.Context, rows R, emit func(ridge.Block[T])) error {
	for b, err := range rows.Blocks() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		// Rows use the memory of a block again, elements of a PCollection never change.
		emit(ridge.Block[T]{X: b.X.Clone(), Y: b.Y.Clone(), Weights: slices.Clone(b.Weights)})
	}
	return nil
}
