package beamfeat

import (
	"hash/crc32"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[spreadFn[float32]]())
	beam.RegisterDoFn(reflect.TypeFor[spreadFn[float64]]())
}

// spread gives each bundle of blocks one of n keys and returns a PCollection of KV<int, Block>. All
// blocks of a bundle have the same key. So a lifted combine leaves one accumulator per bundle, as
// without keys.
func spread[T dense.Float](s beam.Scope, blocks beam.PCollection, n int) beam.PCollection {
	return beam.ParDo(s, &spreadFn[T]{N: n}, blocks)
}

// spreadFn computes the key from the first block of a bundle, so a repeated bundle has the same key.
type spreadFn[T dense.Float] struct {
	N int

	begun bool
	key   int
}

func (f *spreadFn[T]) StartBundle() { f.begun = false }

func (f *spreadFn[T]) ProcessElement(b ridge.Block[T]) (int, ridge.Block[T], error) {
	if !f.begun {
		data, err := encodeBlock(b)
		if err != nil {
			return 0, b, err
		}
		f.begun, f.key = true, int(uint64(crc32.ChecksumIEEE(data))%uint64(f.N))
	}
	return f.key, b, nil
}
