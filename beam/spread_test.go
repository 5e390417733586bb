package beamfeat

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// TestSpread: the blocks of a bundle have one key, the same if the bundle is repeated, and many
// bundles have all keys: a share of 400 bundles is 80, with a standard deviation of 8.
func TestSpread(t *testing.T) {
	const keys, bundles = 5, 400
	f := &spreadFn[float32]{N: keys}
	blocks := manyBlocks(2 * bundles)
	count := make([]int, keys)
	for i := range bundles {
		var first int
		for range 2 {
			f.StartBundle()
			key, b, err := f.ProcessElement(blocks[2*i])
			require.NoError(t, err)
			require.Equal(t, blocks[2*i], b)
			next, _, err := f.ProcessElement(blocks[2*i+1])
			require.NoError(t, err)
			require.Equal(t, key, next)
			first = key
		}
		count[first]++
	}
	for key, n := range count {
		assert.InDelta(t, bundles/keys, n, 40, "key %d", key)
	}
}

// keyFn gives blocks one of four keys by their first coordinate.
type keyFn struct{}

func (keyFn) ProcessElement(b ridge.Block[float32]) (int, ridge.Block[float32]) {
	return int(b.X.At(0, 0)) % 4, b
}

func init() { beam.RegisterDoFn(reflect.TypeFor[keyFn]()) }

// TestFanout: the model of sums of four groups, and of a spec with Fanout, is that of all rows.
// Points, which are their own features, and targets are whole numbers, and the sums of products are
// below 2²⁴, so that sums in any order are the same.
func TestFanout(t *testing.T) {
	phi, err := rff.Identity[float32](2)
	require.NoError(t, err)
	blocks := manyBlocks(100)
	sums, err := ridge.NewSums(phi, 1)
	require.NoError(t, err)
	for i := range blocks {
		blocks[i].Y.Set(0, 0, float32(i%7))
		require.NoError(t, sums.Add(blocks[i].X, blocks[i].Y, nil))
	}
	spec := Ridge[float32]{Map: phi, Options: ridge.Options{Noise: 1, Prior: 1}, Fanout: 4}
	want, err := sums.Fit(t.Context(), spec.Options)
	require.NoError(t, err)
	x := dense.Of(2, 2, []float32{1, 2, 3, 4})
	for name, fit := range map[string]func(s beam.Scope, blocks beam.PCollection) beam.PCollection{
		"keys": func(s beam.Scope, blocks beam.PCollection) beam.PCollection {
			f, err := newSummer(spec)
			require.NoError(t, err)
			return beam.Combine(s, &fitSumsFn[float32]{f}, sumGroups(s, f, beam.ParDo(s, &keyFn{}, blocks)))
		},
		"Fanout": func(s beam.Scope, blocks beam.PCollection) beam.PCollection { return FitRidge(s, blocks, spec) },
	} {
		path := filepath.Join(t.TempDir(), "model.safetensors")
		p, s := beam.NewPipelineWithRoot()
		WriteModel[float32](s, path, fit(s, beam.CreateList(s, blocks)))
		_, err = beam.Run(context.Background(), "prism", p)
		require.NoError(t, err, name)
		file, err := os.Open(path)
		require.NoError(t, err)
		got, err := ridge.ReadModel[float32](file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		mean, sd := want.Predict(x)
		m, d := got.Predict(x)
		// Bundles are merged in another order: sums of 100 rows in float64, rounded to float32.
		assert.InDeltaSlice(t, mean.Data, m.Data, 1e-6, name)
		assert.InDeltaSlice(t, sd.Data, d.Data, 1e-6, name)
		assert.InEpsilon(t, want.LogEvidence(), got.LogEvidence(), 1e-12, name)
	}
	assert.Panics(t, func() {
		_, s := beam.NewPipelineWithRoot()
		FitRidge(s, beam.CreateList(s, blocks), Ridge[float32]{Map: phi, Fanout: -1})
	})
}
