package beamfeat

import (
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[predictFn[float32]]())
	beam.RegisterDoFn(reflect.TypeFor[predictFn[float64]]())
}

// Predict computes the means of a regression model at the rows of blocks. The argument model is a
// PCollection of one *ridge.Model[T], as from FitRidge. The argument blocks is a PCollection of
// KV<G, ridge.Block[T]>, where G is any type, for example the number of a block among all blocks.
// Predict returns a PCollection of KV<G, ridge.Block[T]>, the keys and blocks with the means of the
// model in Y.
//
// Predict also multiplies a kernel matrix by vectors, which the function Product in the Options of
// kernelridge.Fit does: each worker gets the model and some blocks of rows. A pipeline with Predict
// fails for points in X whose dimension does not fit the model, also in a block without rows.
func Predict[T dense.Float](s beam.Scope, model, blocks beam.PCollection) beam.PCollection {
	return beam.ParDo(s.Scope("beamfeat.Predict"), &predictFn[T]{}, blocks, beam.SideInput{Input: model})
}

type predictFn[T dense.Float] struct{}

func (f *predictFn[T]) ProcessElement(key beam.T, b ridge.Block[T], m *ridge.Model[T]) (beam.T, ridge.Block[T], error) {
	if d, _ := m.Map().Dims(); b.X.Cols != d {
		return key, b, fmt.Errorf("beamfeat: points in X of %d×%d, want %d columns", b.X.Rows, b.X.Cols, d)
	}
	b.Y = m.Mean(dense.Matrix[T]{}, b.X)
	return key, b, nil
}
