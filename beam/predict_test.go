package beamfeat_test

import (
	"context"
	"reflect"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"

	beamfeat "github.com/seed-feabd252/randfeat/beam"
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/kernelridge"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[numberFn]())
	beam.RegisterDoFn(reflect.TypeFor[collectNumberedFn]())
}

// numberFn gives a number to each of the blocks.
type numberFn struct{}

func (numberFn) ProcessElement(i int, blocks func(*ridge.Block[float64]) bool) (int, ridge.Block[float64]) {
	var b ridge.Block[float64]
	for range i + 1 {
		blocks(&b)
	}
	return i, b
}

// collectNumberedFn keeps the targets of blocks for the test.
type collectNumberedFn struct{}

var (
	numbering sync.Mutex
	numbered  map[int]dense.Matrix[float64]
)

func (collectNumberedFn) ProcessElement(i int, b ridge.Block[float64]) {
	numbering.Lock()
	defer numbering.Unlock()
	numbered[i] = b.Y
}

// predict returns the means of m at the rows of blocks, by a pipeline.
func predict(m *ridge.Model[float64], blocks []ridge.Block[float64]) (dense.Matrix[float64], error) {
	p, s := beam.NewPipelineWithRoot()
	numbers := make([]int, len(blocks))
	for i := range numbers {
		numbers[i] = i
	}
	rows := beam.ParDo(s, &numberFn{}, beam.CreateList(s, numbers), beam.SideInput{Input: beam.CreateList(s, blocks)})
	numbered = map[int]dense.Matrix[float64]{}
	beam.ParDo0(s, &collectNumberedFn{}, beamfeat.Predict[float64](s, beam.Create(s, m), rows))
	if _, err := runPipeline(p); err != nil {
		return dense.Matrix[float64]{}, err
	}
	var all []float64
	for i := range blocks {
		all = append(all, numbered[i].Data...)
	}
	return dense.Of(len(all)/numbered[0].Cols, numbered[0].Cols, all), nil
}

// TestPredictKernel: the exact fit whose products a pipeline computes, rows in parts and vectors
// with each worker, is that of one machine. Fits that stop at Tolerance are as far from the
// solution as Tolerance times the targets, both as root mean squares. Errors at rows left out come
// from A⁻¹y, in which a residual counts 1/λ times.
func TestPredictKernel(t *testing.T) {
	blocks := blocksOf[float64](4)
	x, y := stack(blocks)
	rows := ridge.Block[float64]{X: x, Y: y}
	for i := range blocks {
		blocks[i].Weights = nil
	}
	k := kernels.Matern{LengthScale: 2, Nu: 2.5}
	o := kernelridge.Options{Ratio: 0.01, Rank: 80, Tolerance: 1e-6, Probes: 4, Src: exprand.NewSource(1)}
	want, err := kernelridge.Fit(t.Context(), k, rows, o)
	require.NoError(t, err)
	calls := 0
	o.Src = exprand.NewSource(1)
	o.Product = func(_ context.Context, m *ridge.Model[float64]) (dense.Matrix[float64], error) {
		calls++
		return predict(m, blocks)
	}
	got, err := kernelridge.Fit(t.Context(), k, rows, o)
	require.NoError(t, err)
	assert.Greater(t, calls, 2)
	a, b := want.Model.Mean(dense.Matrix[float64]{}, x), got.Model.Mean(dense.Matrix[float64]{}, x)
	assert.LessOrEqual(t, floats.Distance(a.Data, b.Data, 2), 2*o.Tolerance*floats.Norm(y.Data, 2))
	assert.LessOrEqual(t, floats.Distance(want.LeftOut.Data, got.LeftOut.Data, 2), o.Tolerance/o.Ratio*floats.Norm(want.LeftOut.Data, 2))

	blocks[2].X = blocks[2].X.ColRange(0, 2)
	_, err = predict(got.Model, blocks)
	assert.ErrorContains(t, err, "points in X of 50×2, want 3 columns")
}
