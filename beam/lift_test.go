package beamfeat

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"google.golang.org/protobuf/proto"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

func init() {
	register.Combiner3[sums[float32], ridge.Block[float32], *ridge.Model[float32]](&countedFn{})
	beam.RegisterDoFn(reflect.TypeFor[keyFn]())
}

// keyFn gives blocks one of four keys by their first coordinate.
type keyFn struct{}

func (keyFn) ProcessElement(b ridge.Block[float32]) (int, ridge.Block[float32]) {
	return int(b.X.At(0, 0)) % 4, b
}

// countedFn is fitFn, and counts blocks and accumulators. Accumulators that have travelled are
// bytes.
type countedFn struct{ fitFn[float32] }

var added, merged, travelled atomic.Int64

func (f *countedFn) AddInput(a sums[float32], b ridge.Block[float32]) (sums[float32], error) {
	added.Add(1)
	return f.fitFn.AddInput(a, b)
}

func (f *countedFn) MergeAccumulators(a, b sums[float32]) (sums[float32], error) {
	merged.Add(1)
	for _, s := range [...]sums[float32]{a, b} {
		if s.live == nil {
			travelled.Add(1)
		}
	}
	return f.fitFn.MergeAccumulators(a, b)
}

func (f *countedFn) ExtractOutput(a sums[float32]) (*ridge.Model[float32], error) {
	if a.live == nil {
		travelled.Add(1)
	}
	return f.fitFn.ExtractOutput(a)
}

// testRidge is a spec, with frequencies from R^2.
func testRidge(t *testing.T, m int) Ridge[float32] {
	w, err := orf.Draw[float32](orf.IID{}, m, 2, exprand.NewSource(1))
	require.NoError(t, err)
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
	require.NoError(t, err)
	return Ridge[float32]{Map: phi, Options: ridge.Options{Noise: 1, Prior: 1}}
}

// manyBlocks returns n blocks of one row.
func manyBlocks(n int) []ridge.Block[float32] {
	blocks := make([]ridge.Block[float32], n)
	for i := range blocks {
		blocks[i] = ridge.Block[float32]{X: dense.Of(1, 2, []float32{float32(i), 1}), Y: dense.Of(1, 1, []float32{2})}
	}
	return blocks
}

// TestCombinerLifting: a runner that lifts combines, as prism does, adds every block to sums once,
// where the block is, and moves at most one accumulator a bundle.
func TestCombinerLifting(t *testing.T) {
	const blocks = 100
	fit, err := newSummer(testRidge(t, 4))
	require.NoError(t, err)
	p, s := beam.NewPipelineWithRoot()
	model := beam.Combine(s, &countedFn{fitFn[float32]{fit}}, beam.CreateList(s, manyBlocks(blocks)))
	WriteModel[float32](s, filepath.Join(t.TempDir(), "model.safetensors"), model)
	_, err = beam.Run(context.Background(), "prism", p)
	require.NoError(t, err)
	assert.EqualValues(t, blocks, added.Load())
	assert.GreaterOrEqual(t, travelled.Load(), int64(1), "an accumulator has left the worker that made it")
	assert.LessOrEqual(t, travelled.Load(), int64(blocks/10), "blocks have been summed before")
	assert.Less(t, merged.Load(), max(travelled.Load(), 2))
}

// TestPipelineKeepsLifting: what runners lift is a transform beam:transform:combine_per_key:v1 with
// a coder of accumulators, over a windowing that has no triggers. And the spec, with the map, is in
// that transform once: the pipeline for m frequencies more grows by those of one map, not of every
// block.
func TestPipelineKeepsLifting(t *testing.T) {
	size := func(m, blocks int) int {
		p, s := beam.NewPipelineWithRoot()
		spec := testRidge(t, m)
		FitRidge(s, beam.CreateList(s, manyBlocks(blocks)), spec)
		edges, _, err := p.Build()
		require.NoError(t, err)
		pipeline, err := graphx.Marshal(edges, &graphx.Options{Environment: &pipepb.Environment{}})
		require.NoError(t, err)
		combines := 0
		for _, transform := range pipeline.GetComponents().GetTransforms() {
			if transform.GetSpec().GetUrn() != "beam:transform:combine_per_key:v1" {
				continue
			}
			combines++
			var payload pipepb.CombinePayload
			require.NoError(t, proto.Unmarshal(transform.GetSpec().GetPayload(), &payload))
			assert.Contains(t, pipeline.GetComponents().GetCoders(), payload.GetAccumulatorCoderId())
		}
		assert.Equal(t, 1, combines)
		for _, w := range pipeline.GetComponents().GetWindowingStrategies() {
			assert.NotNil(t, w.GetTrigger().GetDefault())
		}
		return proto.Size(pipeline)
	}
	const more = 1000 // frequencies of two float32
	few, many := size(10+more, 2)-size(10, 2), size(10+more, 50)-size(10, 50)
	assert.InDelta(t, few, many, 100)
	assert.Greater(t, few, more*8)
}

// TestRegistered: a worker in another process knows functions and types by the names that they are
// registered by, and closures have none.
func TestRegistered(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	spec := testRidge(t, 4)
	blocks := beam.Flatten(s, ReadNPY(s, ridge.NPY[float32]{X: "x", Y: "y"}), ReadCSV(s, ridge.CSV[float32]{Path: "z"}))
	WriteModel[float32](s, "model", FitRidge(s, blocks, spec))
	FitComponents(s, blocks, Components[float32]{Map: spec.Map, Components: 2})
	FitMetric(s, blocks, spec.Map)
	UniformLandmarks[float32](s, blocks, 3, 1)
	attention := Attention[float32]{Map: spec.Map, Values: 1}
	Attend(s, blocks, blocks, attention)
	keyed := beam.ParDo(s, &keyFn{}, blocks)
	AttendPerKey(s, keyed, keyed, attention)
	edges, nodes, err := p.Build()
	require.NoError(t, err)
	functions := 0
	for _, e := range edges {
		for _, f := range [...]*graph.Fn{(*graph.Fn)(e.DoFn), (*graph.Fn)(e.CombineFn)} {
			if f == nil {
				continue
			}
			functions++
			if f.Fn != nil {
				_, err := runtime.ResolveFunction(f.Fn.Fn.Name(), f.Fn.Fn.Type())
				assert.NoError(t, err)
				assert.NotRegexp(t, `\.func\d`, f.Fn.Fn.Name())
				continue
			}
			assertRegistered(t, reflect.TypeOf(f.Recv).Elem())
		}
	}
	assert.Greater(t, functions, 20)
	for _, n := range nodes {
		assertCoded(t, n.Coder)
	}
}

// assertRegistered fails unless the type is one that a worker finds by its name.
func assertRegistered(t *testing.T, of reflect.Type) {
	t.Helper()
	key, ok := runtime.TypeKey(of)
	require.True(t, ok, of)
	found, ok := runtime.LookupType(key)
	assert.True(t, ok && found == of, "%v", of)
}

// assertCoded fails for structs with a coder that Beam makes from their exported fields.
func assertCoded(t *testing.T, c *coder.Coder) {
	t.Helper()
	for _, part := range c.Components {
		assertCoded(t, part)
	}
	if of := c.T.Type(); c.Kind == coder.Row || c.Custom != nil && strings.Contains(c.Custom.Name, "json") {
		assert.Contains(t, []reflect.Type{reflect.TypeFor[ridge.NPY[float32]](), reflect.TypeFor[ridge.CSV[float32]]()}, of,
			"%v: only paths may be written by their fields", of)
	}
}
