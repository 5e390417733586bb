package beamfeat

import (
	"context"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

func init() {
	registerFit[float32]()
	registerFit[float64]()
	beam.RegisterCoder(reflect.TypeFor[sums[float32]](), encodeSums32, decodeSums32)
	beam.RegisterCoder(reflect.TypeFor[sums[float64]](), encodeSums64, decodeSums64)
	beam.RegisterCoder(reflect.TypeFor[*ridge.Model[float32]](), encodeModel32, decodeModel32)
	beam.RegisterCoder(reflect.TypeFor[*ridge.Model[float64]](), encodeModel64, decodeModel64)
}

func registerFit[T dense.Float]() {
	beam.RegisterType(reflect.TypeFor[sums[T]]())
	beam.RegisterType(reflect.TypeFor[ridge.Model[T]]())
	register.Combiner3[sums[T], ridge.Block[T], *ridge.Model[T]](&fitFn[T]{})
	register.Combiner2[sums[T], ridge.Block[T]](&sumFn[T]{})
	register.Combiner3[sums[T], sums[T], *ridge.Model[T]](&fitSumsFn[T]{})
}

// Ridge says what FitRidge fits.
type Ridge[T dense.Float] struct {
	Map     rff.Map[T]    // of the features; rff.Write must know it
	Outputs int           // p, the number of targets of a row; 0 for 1
	Options ridge.Options // of the fit
	Fanout  int           // number of groups of bundles that are merged apart; 0 for 1
}

// FitRidge fits a Bayesian ridge regression to all rows of blocks, a PCollection of ridge.Block[T],
// and returns a PCollection of one *ridge.Model[T]; of none if there is no block.
//
// Each bundle of blocks leaves one ridge.Sums, so the runner moves 4·D² + 8·D·p bytes a bundle,
// whatever the number of rows. One worker merges them and fits. With a Fanout F the bundles are
// divided into F groups by a checksum of their first block, F workers merge a group each, and one
// worker merges the F sums: of S bundles no worker takes in more than some S/F or F, at the price
// of F accumulators more that travel. The model is that of ridge.Sum and Fit on one machine, to the
// rounding of sums in another order.
//
// A block that ridge.Sums.Add refuses, sums that are damaged and a fit without a result fail the
// pipeline. FitRidge panics for a map that cannot be written, for negative numbers, and for blocks
// of another type.
func FitRidge[T dense.Float](s beam.Scope, blocks beam.PCollection, spec Ridge[T]) beam.PCollection {
	s = s.Scope("beamfeat.FitRidge")
	f, err := newSummer(spec)
	if err != nil {
		panic(err)
	}
	if spec.Fanout <= 1 {
		return beam.Combine(s, &fitFn[T]{f}, blocks)
	}
	return fitKeyed(s, f, spread[T](s, blocks, spec.Fanout))
}

// fitKeyed sums the blocks of each key, and fits to the sums of all keys.
func fitKeyed[T dense.Float](s beam.Scope, f summer[T], keyed beam.PCollection) beam.PCollection {
	parts := beam.CombinePerKey(s, &sumFn[T]{f}, keyed)
	return beam.Combine(s, &fitSumsFn[T]{f}, beam.DropKey(s, parts))
}

// summer makes sums. Beam stores the exported fields in the pipeline.
type summer[T dense.Float] struct {
	Map     []byte // file of the map
	Outputs int
	Options ridge.Options

	phi rff.Map[T]
}

func newSummer[T dense.Float](spec Ridge[T]) (f summer[T], err error) {
	if spec.Outputs < 0 || spec.Fanout < 0 {
		return f, fmt.Errorf("beamfeat: Outputs = %d and Fanout = %d, want at least 0", spec.Outputs, spec.Fanout)
	}
	file, err := writeMap(spec.Map)
	return summer[T]{Map: file, Outputs: max(spec.Outputs, 1), Options: spec.Options}, err
}

// Setup reads the map, once for each copy of f.
func (f *summer[T]) Setup() (err error) {
	f.phi, err = readMap[T](f.Map)
	return err
}

func (f *summer[T]) CreateAccumulator() (sums[T], error) {
	s, err := ridge.NewSums(f.phi, f.Outputs)
	return sums[T]{live: s}, err
}

func (f *summer[T]) MergeAccumulators(a, b sums[T]) (sums[T], error) {
	s, err := f.open(a)
	if err != nil {
		return sums[T]{}, err
	}
	other, err := f.open(b)
	if err != nil {
		return sums[T]{}, err
	}
	return sums[T]{live: s}, s.Merge(other)
}

// add adds a block to the sums of an accumulator.
func (f *summer[T]) add(a sums[T], b ridge.Block[T]) (sums[T], error) {
	s, err := f.open(a)
	if err != nil {
		return sums[T]{}, err
	}
	return sums[T]{live: s}, s.Add(b.X, b.Y, b.Weights)
}

// fit returns the model of the sums of an accumulator.
func (f *summer[T]) fit(a sums[T]) (*ridge.Model[T], error) {
	s, err := f.open(a)
	if err != nil {
		return nil, err
	}
	return s.Fit(context.Background(), f.Options)
}

// fitFn is the CombineFn from blocks to the model.
type fitFn[T dense.Float] struct{ summer[T] }

func (f *fitFn[T]) AddInput(a sums[T], b ridge.Block[T]) (sums[T], error) { return f.add(a, b) }
func (f *fitFn[T]) ExtractOutput(a sums[T]) (*ridge.Model[T], error)      { return f.fit(a) }

// sumFn is the CombineFn from blocks to sums.
type sumFn[T dense.Float] struct{ summer[T] }

func (f *sumFn[T]) AddInput(a sums[T], b ridge.Block[T]) (sums[T], error) { return f.add(a, b) }
func (f *sumFn[T]) ExtractOutput(a sums[T]) sums[T]                       { return a }

// fitSumsFn is the CombineFn from sums to the model.
type fitSumsFn[T dense.Float] struct{ summer[T] }

func (f *fitSumsFn[T]) AddInput(a, b sums[T]) (sums[T], error)           { return f.MergeAccumulators(a, b) }
func (f *fitSumsFn[T]) ExtractOutput(a sums[T]) (*ridge.Model[T], error) { return f.fit(a) }

// open returns the sums of an accumulator.
func (f *summer[T]) open(a sums[T]) (*ridge.Sums[T], error) {
	if a.live != nil {
		return a.live, nil
	}
	s, err := ridge.NewSums(f.phi, f.Outputs)
	if err != nil {
		return nil, err
	}
	return s, s.UnmarshalBinary(a.data)
}

// sums is an accumulator: sums at work, or sums as bytes if live is nil. A coder does not know the
// map, without which there is no Sums. So an accumulator that has arrived stays bytes until the
// CombineFn, which knows the map, opens it.
type sums[T dense.Float] struct {
	live *ridge.Sums[T]
	data []byte
}

func encodeSums32(a sums[float32]) ([]byte, error) { return a.encode() }
func encodeSums64(a sums[float64]) ([]byte, error) { return a.encode() }
func decodeSums32(data []byte) sums[float32]       { return sums[float32]{data: data} }
func decodeSums64(data []byte) sums[float64]       { return sums[float64]{data: data} }

func (a sums[T]) encode() ([]byte, error) {
	if a.live == nil {
		return a.data, nil
	}
	return a.live.MarshalBinary()
}
