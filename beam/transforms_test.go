package beamfeat_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	beamfeat "github.com/seed-feabd252/randfeat/beam"
	"github.com/seed-feabd252/randfeat/components"
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[collectFn]())
	beam.RegisterDoFn(reflect.TypeFor[collectComponentsFn]())
	beam.RegisterDoFn(reflect.TypeFor[groupFn]())
	beam.RegisterDoFn(reflect.TypeFor[ungroupFn]())
}

// groupFn gives blocks to groups by their first coordinate.
type groupFn struct{ Groups int }

func (f *groupFn) ProcessElement(b ridge.Block[float64]) (string, ridge.Block[float64]) {
	return fmt.Sprint("group ", groupOf(b, f.Groups)), b
}

func groupOf(b ridge.Block[float64], groups int) int {
	return int(math.Float64bits(b.X.At(0, 0))>>20) % groups
}

// ungroupFn drops groups, of which blocks must be members.
type ungroupFn struct{ Groups int }

func (f *ungroupFn) ProcessElement(group string, b ridge.Block[float64]) (ridge.Block[float64], error) {
	if want := fmt.Sprint("group ", groupOf(b, f.Groups)); group != want {
		return b, fmt.Errorf("a block of %s in %s", want, group)
	}
	return b, nil
}

// collectFn keeps blocks for the test, which runs in the process of the pipeline.
type collectFn struct{}

var (
	collecting sync.Mutex
	collected  []ridge.Block[float64]
)

func (collectFn) ProcessElement(b ridge.Block[float64]) error {
	collecting.Lock()
	defer collecting.Unlock()
	collected = append(collected, b)
	return nil
}

// collectComponentsFn keeps a model for the test.
type collectComponentsFn struct{}

var collectedModel *components.Model[float64]

func (collectComponentsFn) ProcessElement(m *components.Model[float64]) error {
	collectedModel = m
	return nil
}

// collect runs the pipeline and returns the blocks of a PCollection.
func collect(t *testing.T, p *beam.Pipeline, s beam.Scope, blocks beam.PCollection) []ridge.Block[float64] {
	t.Helper()
	collected = nil
	beam.ParDo0(s, &collectFn{}, blocks)
	_, err := runPipeline(p)
	require.NoError(t, err)
	return collected
}

// stack returns the points of all blocks.
func stack(blocks []ridge.Block[float64]) (x, y dense.Matrix[float64]) {
	for i := range blocks {
		for r := range blocks[i].X.Rows {
			x.Data, y.Data = append(x.Data, blocks[i].X.Row(r)...), append(y.Data, blocks[i].Y.Row(r)...)
		}
	}
	d, p := blocks[0].X.Cols, blocks[0].Y.Cols
	return dense.Of(len(x.Data)/d, d, x.Data), dense.Of(len(y.Data)/max(p, 1), p, y.Data)
}

// TestFitComponents: components of points and of features are those of one machine, far from zero
// too. Targets are not read.
func TestFitComponents(t *testing.T) {
	blocks := blocksOf[float64](9)
	for i := range blocks {
		for r := range blocks[i].X.Rows {
			row := blocks[i].X.Row(r)
			row[0], row[1] = 3*row[0]+1000, 2*row[1]+row[0]
		}
	}
	x, _ := stack(blocks)
	identity, err := rff.Draw[float64](rff.Identity{D: dim}, nil)
	require.NoError(t, err)
	features := gaussianMap[float64](t, 8, dim)
	for i, phi := range []rff.Map[float64]{identity, features, identity} {
		sums, err := ridge.NewSums(phi, 0)
		require.NoError(t, err)
		for _, b := range blocks {
			require.NoError(t, sums.Add(b.X, dense.Matrix[float64]{}, b.Weights))
		}
		want, err := components.FromSums(t.Context(), sums, 2, i == 2)
		require.NoError(t, err)
		p, s := beam.NewPipelineWithRoot()
		beam.ParDo0(s, &collectComponentsFn{}, beamfeat.FitComponents(s, beam.CreateList(s, blocks),
			beamfeat.Components[float64]{Map: phi, Components: 2, Whiten: i == 2}))
		_, err = runPipeline(p)
		require.NoError(t, err)
		assert.Equal(t, want.String(), collectedModel.String())
		a, b := want.Transform(dense.Matrix[float64]{}, x), collectedModel.Transform(dense.Matrix[float64]{}, x)
		assert.InDeltaSlice(t, a.Data, b.Data, 1e-9)
	}
	p, s := beam.NewPipelineWithRoot()
	beamfeat.FitComponents(s, beam.CreateList(s, blocks), beamfeat.Components[float64]{Map: identity, Components: dim + 1})
	_, err = runPipeline(p)
	assert.ErrorContains(t, err, "components = 4")
	assert.Panics(t, func() { beamfeat.FitComponents(s, beam.CreateList(s, blocks), beamfeat.Components[float64]{}) })
}

// TestFitMetric: the metric is that of one machine. Sums of another map fail the pipeline.
func TestFitMetric(t *testing.T) {
	blocks := blocksOf[float64](9)
	features := gaussianMap[float64](t, 8, dim)
	_, width := features.Dims()
	w := dense.New[float64](width, 2)
	for i := range w.Data {
		w.Data[i] = float64(i%5) - 2
	}
	gradients, err := rff.Gradients(features, w)
	require.NoError(t, err)
	sums, err := ridge.NewSums(gradients, 0)
	require.NoError(t, err)
	for _, b := range blocks {
		require.NoError(t, sums.Add(b.X, dense.Matrix[float64]{}, b.Weights))
	}
	want, err := components.Metric(t.Context(), sums)
	require.NoError(t, err)
	p, s := beam.NewPipelineWithRoot()
	got := collect(t, p, s, beamfeat.FitMetric(s, beam.CreateList(s, blocks), gradients))
	require.Len(t, got, 1)
	assert.InDeltaSlice(t, want.Data, got[0].X.Data, 1e-9)

	p, s = beam.NewPipelineWithRoot()
	beamfeat.FitMetric(s, beam.CreateList(s, blocks), features)
	_, err = runPipeline(p)
	assert.ErrorContains(t, err, "want those of rff.Gradients")
	assert.Panics(t, func() { beamfeat.FitMetric[float64](s, beam.CreateList(s, blocks), nil) })
}

// TestUniformLandmarks: the points are different rows, the same ones for any blocks and repeats,
// and every row is as likely as every other.
func TestUniformLandmarks(t *testing.T) {
	blocks := blocksOf[float64](8)
	x, _ := stack(blocks)
	landmarks := func(blocks []ridge.Block[float64], n int, seed uint64) [][]float64 {
		p, s := beam.NewPipelineWithRoot()
		got := collect(t, p, s, beamfeat.UniformLandmarks[float64](s, beam.CreateList(s, blocks), n, seed))
		require.Len(t, got, 1)
		var rows [][]float64
		for i := range got[0].X.Rows {
			rows = append(rows, got[0].X.Row(i))
		}
		return rows
	}
	chosen := landmarks(blocks, 20, 1)
	require.Len(t, chosen, 20)
	number := func(row []float64) int {
		for i := range x.Rows {
			if slices.Equal(row, x.Row(i)) {
				return i
			}
		}
		return -1
	}
	seen := map[int]bool{}
	for _, row := range chosen {
		i := number(row)
		require.GreaterOrEqual(t, i, 0)
		require.False(t, seen[i])
		seen[i] = true
	}
	again := append(slices.Clone(blocks[4:]), blocks[:6]...)
	assert.Equal(t, chosen, landmarks(again, 20, 1))
	assert.NotEqual(t, chosen, landmarks(blocks, 20, 2))
	assert.Len(t, landmarks(blocks[:1], 100, 1), 50, "all there are")
	assert.Panics(t, func() { landmarks(blocks, 0, 1) })
}

// TestAttendPerKey: attention over the keys of a group, in many blocks, is that on one machine.
func TestAttendPerKey(t *testing.T) {
	const groups = 4
	w, err := orf.Draw[float64](orf.IID{}, 32, dim, exprand.NewSource(5))
	require.NoError(t, err)
	phi, err := rff.Draw(rff.SoftmaxPositive{Scale: 0.5}, w)
	require.NoError(t, err)
	form, err := performer.NewLinear[float64](phi, performer.LinearOptions{})
	require.NoError(t, err)
	keys, queries := blocksOf[float64](40), blocksOf[float64](12)
	members := make([][]ridge.Block[float64], groups)
	for _, b := range keys {
		g := groupOf(b, groups)
		members[g] = append(members[g], b)
	}
	asked := map[int]bool{}
	for i := range queries {
		queries[i].Y, queries[i].Weights = dense.New[float64](50, 0), nil
		asked[groupOf(queries[i], groups)] = true
	}
	require.Len(t, asked, groups)
	run := func(keys, queries []ridge.Block[float64]) (beam.PCollection, *beam.Pipeline, beam.Scope) {
		p, s := beam.NewPipelineWithRoot()
		out := beamfeat.AttendPerKey(s, beam.ParDo(s, &groupFn{groups}, beam.CreateList(s, keys)),
			beam.ParDo(s, &groupFn{groups}, beam.CreateList(s, queries)), beamfeat.Attention[float64]{Map: phi, Values: outputs})
		return beam.ParDo(s, &ungroupFn{groups}, out), p, s
	}
	out, p, s := run(keys, queries)
	got := collect(t, p, s, out)
	require.Len(t, got, len(queries))
	for _, b := range got {
		k, v := stack(members[groupOf(b, groups)])
		want := form.Forward(dense.Matrix[float64]{}, b.X, k, v)
		for i := range want.Rows {
			// As in TestAttend, of at most 2000 keys.
			assert.InDeltaSlice(t, want.Row(i), b.Y.Row(i), 2*2000*0x1p-52*101)
		}
	}

	out, p, s = run(members[0], queries)
	beam.ParDo0(s, &collectFn{}, out)
	_, err = runPipeline(p)
	assert.ErrorContains(t, err, "has queries and no keys")
	out, p, s = run(keys, members[1][:1])
	assert.Len(t, collect(t, p, s, out), 1, "groups without queries have no outputs")
}

// TestAttendErrors: shapes that do not fit fail the pipeline.
func TestAttendErrors(t *testing.T) {
	phi := gaussianMap[float64](t, 8, dim)
	narrow := blocksOf[float64](2)
	narrow[1].X = narrow[1].X.ColRange(0, 2)
	for _, c := range []struct {
		keys, queries []ridge.Block[float64]
		values        int
		says          string
	}{
		{narrow, blocksOf[float64](1), outputs, "keys in X of 50×2, want 3 columns"},
		{blocksOf[float64](1), narrow, outputs, "queries in X of 50×2, want 3 columns"},
		{blocksOf[float64](1), blocksOf[float64](1), 5, "values in Y of 50×2, want 50×5"},
	} {
		p, s := beam.NewPipelineWithRoot()
		out := beamfeat.Attend(s, beam.CreateList(s, c.keys), beam.CreateList(s, c.queries), beamfeat.Attention[float64]{Map: phi, Values: c.values})
		beam.ParDo0(s, &collectFn{}, out)
		_, err := runPipeline(p)
		assert.ErrorContains(t, err, c.says)
	}
	_, s := beam.NewPipelineWithRoot()
	keys := beam.CreateList(s, blocksOf[float64](1))
	assert.Panics(t, func() { beamfeat.Attend(s, keys, keys, beamfeat.Attention[float64]{Map: phi}) })
	assert.Panics(t, func() { beamfeat.Attend(s, keys, keys, beamfeat.Attention[float64]{Values: 1}) })
}
