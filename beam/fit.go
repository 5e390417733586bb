package beamfeat

import (
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
}

func registerFit[T dense.Float]() {
	beam.RegisterType(reflect.TypeFor[sums[T]]())
	register.Combiner3[sums[T], ridge.Block[T], Model](&fitFn[T]{})
}

// Ridge says what FitRidge fits.
type Ridge[T dense.Float] struct {
	Map     rff.Map[T]    // of the features; rff.Write must know it
	Outputs int           // p, the number of targets of a row; 0 for 1
	Options ridge.Options // of the fit
}

// FitRidge fits a Bayesian ridge regression to all rows of blocks, a PCollection of ridge.Block[T],
// and returns a PCollection of one Model; of none if there is no block.
//
// Each bundle of blocks leaves one ridge.Sums, so the runner moves 4·D² + 8·D·p bytes a bundle,
// whatever the number of rows. One worker merges them and fits. The model is that of ridge.Sum and
// Fit on one machine, to the rounding of sums in another order.
//
// A block that ridge.Sums.Add refuses, sums that are damaged and a fit without a result fail the
// pipeline. FitRidge panics for a map that cannot be written, and for blocks of another type.
func FitRidge[T dense.Float](s beam.Scope, blocks beam.PCollection, spec Ridge[T]) beam.PCollection {
	s = s.Scope("beamfeat.FitRidge")
	fn, err := newFit(spec)
	if err != nil {
		panic(err)
	}
	return beam.Combine(s, fn, blocks)
}

// fitFn is the CombineFn of FitRidge. Beam stores the exported fields in the pipeline.
type fitFn[T dense.Float] struct {
	Map     []byte // file of the map
	Outputs int
	Options ridge.Options

	phi rff.Map[T]
}

func newFit[T dense.Float](spec Ridge[T]) (*fitFn[T], error) {
	if spec.Outputs < 0 {
		return nil, fmt.Errorf("beamfeat: Outputs = %d, want at least 0", spec.Outputs)
	}
	file, err := writeMap(spec.Map)
	if err != nil {
		return nil, err
	}
	return &fitFn[T]{Map: file, Outputs: max(spec.Outputs, 1), Options: spec.Options}, nil
}

// Setup reads the map, once for each copy of f.
func (f *fitFn[T]) Setup() (err error) {
	f.phi, err = readMap[T](f.Map)
	return err
}

func (f *fitFn[T]) CreateAccumulator() (sums[T], error) {
	s, err := ridge.NewSums(f.phi, f.Outputs)
	return sums[T]{live: s}, err
}

func (f *fitFn[T]) AddInput(a sums[T], b ridge.Block[T]) (sums[T], error) {
	s, err := f.open(a)
	if err != nil {
		return sums[T]{}, err
	}
	return sums[T]{live: s}, s.Add(b.X, b.Y, b.Weights)
}

func (f *fitFn[T]) MergeAccumulators(a, b sums[T]) (sums[T], error) {
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

func (f *fitFn[T]) ExtractOutput(a sums[T]) (Model, error) {
	s, err := f.open(a)
	if err != nil {
		return Model{}, err
	}
	if _, err := s.Fit(f.Options); err != nil { // now, so that the pipeline reports the error
		return Model{}, err
	}
	data, err := s.MarshalBinary()
	return Model{Map: f.Map, Outputs: f.Outputs, Options: f.Options, Sums: data}, err
}

// open returns the sums of an accumulator.
func (f *fitFn[T]) open(a sums[T]) (*ridge.Sums[T], error) {
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
