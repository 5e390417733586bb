package beamfeat

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

// register.DoFn1x1 and so on save a microsecond a call, and take some seconds to compile each.
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

// ReadNPY reads shards of a data set in files of NumPy's format. ReadNPY returns a PCollection of
// ridge.Block[T], blocks of at most 8160 rows. The workers open the files, so a path must lead to
// the same file on every worker. A pipeline with ReadNPY has the paths of the files, not the data.
//
// If ridge.NPY returns an error for a shard, the pipeline fails. ReadNPY panics without shards.
func ReadNPY[T dense.Float](s beam.Scope, shards ...ridge.NPY[T]) beam.PCollection {
	return read[T](s.Scope("beamfeat.ReadNPY"), shards)
}

// ReadCSV reads shards in files of comma-separated numbers, as ReadNPY reads .npy files.
func ReadCSV[T dense.Float](s beam.Scope, shards ...ridge.CSV[T]) beam.PCollection {
	return read[T](s.Scope("beamfeat.ReadCSV"), shards)
}

func read[T dense.Float, R ridge.Rows[T]](s beam.Scope, shards []R) beam.PCollection {
	if len(shards) == 0 {
		panic("beamfeat: no shards, want at least one")
	}
	// Reshuffle lets a runner read the shards on several workers.
	names := beam.Reshuffle(s, beam.CreateList(s, shards))
	return beam.ParDo(s, &readFn[T, R]{}, names)
}

type readFn[T dense.Float, R ridge.Rows[T]] struct{}

func (f *readFn[T, R]) ProcessElement(ctx context.Context, rows R, emit func(ridge.Block[T])) error {
	for b, err := range rows.Blocks() {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		// The next block overwrites b, and elements of a PCollection must not change.
		emit(ridge.Block[T]{X: b.X.Clone(), Y: b.Y.Clone(), Weights: slices.Clone(b.Weights)})
	}
	return nil
}
