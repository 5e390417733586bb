package beamfeat

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/seed-feabd252/randfeat/components"
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

func init() {
	registerFit[float32]()
	registerFit[float64]()
}

func registerFit[T dense.Float]() {
	beam.RegisterType(reflect.TypeFor[ridge.Model[T]]())
	beam.RegisterType(reflect.TypeFor[components.Model[T]]())
	register.Combiner3[sums[T], ridge.Block[T], *ridge.Model[T]](&fitFn[T]{})
	register.Combiner2[sums[T], ridge.Block[T]](&sumFn[T]{})
	beam.RegisterDoFn(reflect.TypeFor[componentsFn[T]]())
	beam.RegisterDoFn(reflect.TypeFor[metricFn[T]]())
}

// Ridge has the feature map, the number of targets and the options of the fit of FitRidge.
type Ridge[T dense.Float] struct {
	Map     rff.Map[T]    // of the features; rff.Write must support the map
	Outputs int           // p, the number of targets of a row; 0 for 1
	Options ridge.Options // of the fit
}

// FitRidge fits a Bayesian ridge regression to all rows of blocks, a PCollection of ridge.Block[T].
// FitRidge returns a PCollection of one *ridge.Model[T], which is empty if there are no blocks.
// FitRidge sums each Beam bundle into one ridge.Sums of 4·D² + 8·D·p bytes, for D features and p
// targets, and one worker merges the sums and fits the model.
//
// A pipeline with FitRidge fails if ridge.Sums.Add or ridge.Sums.Fit returns an error, or if the
// encoded bytes of a ridge.Sums that Beam passes between workers are damaged. FitRidge panics for a
// feature map that rff.Write does not support, negative Outputs, Options with Iterative, and blocks
// of another type than ridge.Block[T].
func FitRidge[T dense.Float](s beam.Scope, blocks beam.PCollection, spec Ridge[T]) beam.PCollection {
	s = s.Scope("beamfeat.FitRidge")
	f, err := newSummer(spec)
	if err != nil {
		panic(err)
	}
	return beam.Combine(s, &fitFn[T]{f}, blocks)
}

// Components has the feature map and the number of principal components for FitComponents.
type Components[T dense.Float] struct {
	// Map is a feature map that rff.Write accepts, such as rff.Identity.
	Map        rff.Map[T]
	Components int  // number of components
	Whiten     bool // whether components have variance 1
}

// FitComponents finds principal components of the features of all rows of the argument blocks, as
// components.FromSums does on one machine. FitComponents ignores the targets in blocks.
// FitComponents returns a PCollection of one *components.Model[T]. FitComponents sums rows at the
// cost of FitRidge, and panics where FitRidge panics. A pipeline with FitComponents fails if
// ridge.Sums.Add or components.FromSums returns an error.
func FitComponents[T dense.Float](s beam.Scope, blocks beam.PCollection, spec Components[T]) beam.PCollection {
	s = s.Scope("beamfeat.FitComponents")
	f, err := newSummer(Ridge[T]{Map: spec.Map})
	if err != nil {
		panic(err)
	}
	f.Outputs = 0
	return beam.ParDo(s, &componentsFn[T]{f, spec.Components, spec.Whiten}, beam.Combine(s, &sumFn[T]{f}, blocks))
}

// FitMetric computes, from gradients at all rows of the argument blocks, the matrix L of a distance
// ‖L·(x − y)‖, as components.Metric does on one machine. The argument gradients is a feature map
// from rff.Gradients. FitMetric returns a PCollection of one ridge.Block[float64], whose X is the
// matrix L, and panics where FitRidge panics. A pipeline with FitMetric fails if ridge.Sums.Add or
// components.Metric returns an error.
func FitMetric[T dense.Float](s beam.Scope, blocks beam.PCollection, gradients rff.Map[T]) beam.PCollection {
	s = s.Scope("beamfeat.FitMetric")
	f, err := newSummer(Ridge[T]{Map: gradients})
	if err != nil {
		panic(err)
	}
	f.Outputs = 0
	return beam.ParDo(s, &metricFn[T]{f}, beam.Combine(s, &sumFn[T]{f}, blocks))
}

// summer makes sums. Beam stores the exported fields in the pipeline.
type summer[T dense.Float] struct {
	Map     []byte // file of the map
	Outputs int

	// The numbers of ridge.Options: Beam stores no functions.
	Noise, Prior, Ratio float64
	NoIntercept         bool

	phi rff.Map[T]
}

func newSummer[T dense.Float](spec Ridge[T]) (f summer[T], err error) {
	if spec.Outputs < 0 {
		return f, fmt.Errorf("beamfeat: Outputs = %d, want at least 0", spec.Outputs)
	}
	o := spec.Options
	if o.Iterative != nil {
		return f, errors.New("beamfeat: Options.Iterative is given, and sums have the direct solution alone")
	}
	file, err := writeMap(spec.Map)
	return summer[T]{Map: file, Outputs: max(spec.Outputs, 1), Noise: o.Noise, Prior: o.Prior, Ratio: o.Ratio, NoIntercept: o.NoIntercept}, err
}

func (f *summer[T]) Setup() (err error) {
	f.phi, err = readMap[T](f.Map)
	return err
}

func (f *summer[T]) fresh() (*ridge.Sums[T], error) { return ridge.NewSums(f.phi, f.Outputs) }

func (f *summer[T]) CreateAccumulator() (sums[T], error) {
	s, err := f.fresh()
	return sums[T]{live: s}, err
}

func (f *summer[T]) MergeAccumulators(a, b sums[T]) (sums[T], error) { return a.merge(b, f.fresh) }

func (f *summer[T]) add(a sums[T], b ridge.Block[T]) (sums[T], error) {
	s, err := a.open(f.fresh)
	if err != nil {
		return sums[T]{}, err
	}
	if f.Outputs == 0 {
		b.Y = dense.Matrix[T]{}
	}
	return sums[T]{live: s}, s.Add(b.X, b.Y, b.Weights)
}

func (f *summer[T]) fit(a sums[T]) (*ridge.Model[T], error) {
	s, err := a.open(f.fresh)
	if err != nil {
		return nil, err
	}
	return s.Fit(context.Background(), ridge.Options{Noise: f.Noise, Prior: f.Prior, Ratio: f.Ratio, NoIntercept: f.NoIntercept})
}

type fitFn[T dense.Float] struct{ summer[T] }

func (f *fitFn[T]) AddInput(a sums[T], b ridge.Block[T]) (sums[T], error) { return f.add(a, b) }
func (f *fitFn[T]) ExtractOutput(a sums[T]) (*ridge.Model[T], error)      { return f.fit(a) }

type sumFn[T dense.Float] struct{ summer[T] }

func (f *sumFn[T]) AddInput(a sums[T], b ridge.Block[T]) (sums[T], error) { return f.add(a, b) }
func (f *sumFn[T]) ExtractOutput(a sums[T]) sums[T]                       { return a }

type componentsFn[T dense.Float] struct {
	summer[T]
	Components int
	Whiten     bool
}

func (f *componentsFn[T]) ProcessElement(a sums[T]) (*components.Model[T], error) {
	s, err := a.open(f.fresh)
	if err != nil {
		return nil, err
	}
	return components.FromSums(context.Background(), s, f.Components, f.Whiten)
}

type metricFn[T dense.Float] struct{ summer[T] }

func (f *metricFn[T]) ProcessElement(a sums[T]) (b ridge.Block[float64], err error) {
	s, err := a.open(f.fresh)
	if err != nil {
		return b, err
	}
	b.X, err = components.Metric(context.Background(), s)
	b.Y = dense.New[float64](b.X.Rows, 0)
	return b, err
}
