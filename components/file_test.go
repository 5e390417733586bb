package components_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/components"
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/safetensors"
)

func fileOf[T dense.Float](t testing.TB, m *components.Model[T]) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, rff.Write[T](&b, m))
	return b.Bytes()
}

// read reads the model in a file.
func read[T dense.Float](t testing.TB, file []byte) *components.Model[T] {
	t.Helper()
	phi := must.Have(rff.Read[T](bytes.NewReader(file)))
	return phi.(*components.Model[T])
}

// A model that is read has the bits of the model that was written, alone and as the map of another.
func TestFiles(t *testing.T) {
	t.Run("type=float32", testFiles[float32])
	t.Run("type=float64", testFiles[float64])
}

func testFiles[T dense.Float](t *testing.T) {
	x := normal[T](300, 4, 1, 1)
	for _, whiten := range []bool{false, true} {
		m := fit(t, gaussian[T](20, 4, 1, 1), x, 5, whiten)
		got := read[T](t, fileOf(t, m))
		z := m.Transform(dense.Matrix[T]{}, x)
		assert.Equal(t, z, got.Transform(dense.Matrix[T]{}, x))
		assert.Equal(t, m.ExplainedVariance(), got.ExplainedVariance())
		assert.Equal(t, m.ExplainedVarianceRatio(), got.ExplainedVarianceRatio())
		assert.Equal(t, m.Components(), got.Components())
		assert.Equal(t, m.Mean(), got.Mean())
		assert.Equal(t, m.String(), got.String())

		// Regression on components, in one file.
		y := dense.New[T](300, 1)
		for i := range y.Data {
			y.Data[i] = z.At(i, 1) * z.At(i, 0)
		}
		model := must.Have(ridge.Fit(t.Context(), rff.Map[T](m), ridge.Block[T]{X: x, Y: y}, ridge.Options{}))
		var b bytes.Buffer
		require.NoError(t, model.Write(&b))
		again := must.Have(ridge.ReadModel[T](&b))
		assert.Equal(t, model.Mean(dense.Matrix[T]{}, x), again.Mean(dense.Matrix[T]{}, x))
	}
}

// testdata/Components.safetensors was written by the first version; testdata/transform.py knows the
// format and the formulas.
func TestGoldenFile(t *testing.T) {
	path := filepath.Join("testdata", "Components.safetensors")
	x := normal[float64](30, 2, 1, 1)
	want := fit(t, gaussian[float64](6, 2, 1.5, 1), x, 3, true)
	if os.Getenv("RANDFEAT_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, fileOf(t, want), 0o666))
	}
	file := must.Have(os.ReadFile(path))
	m := read[float64](t, file)
	assert.Equal(t, file, fileOf(t, m), "written as something else")
	z := want.Transform(dense.Matrix[float64]{}, x)
	assert.InDeltaSlice(t, z.Data, m.Transform(dense.Matrix[float64]{}, x).Data, 1e-11)
	assert.InDeltaSlice(t, z.Data, densetest.NumPy(t, filepath.Join("testdata", "transform.py"), file, x.Data), 1e-11)
}

func TestFileErrors(t *testing.T) {
	m := fit(t, gaussian[float64](6, 2, 1.5, 1), normal[float64](30, 2, 1, 1), 3, true)
	file := fileOf(t, m)
	changed := func(change func(f *safetensors.File)) []byte { return must.Have(archive.Changed(file, change)) }
	for want, data := range map[string][]byte{
		"of is nil, want a map":       changed(func(f *safetensors.File) { dropMap(f) }),
		"totalVariance = -1":          changed(func(f *safetensors.File) { f.Metadata["map.totalVariance"] = "-1" }),
		"explainedVariance 2, for 12": changed(func(f *safetensors.File) { cut(f, "map.explainedVariance", 2) }),
		"mean has 11 numbers":         changed(func(f *safetensors.File) { cut(f, "map.mean", 11) }),
		"cannot be whitened":          changed(func(f *safetensors.File) { clear(f.Tensors["map.explainedVariance"].Data) }),
	} {
		_, err := rff.Read[float64](bytes.NewReader(data))
		assert.ErrorContains(t, err, want)
	}
	_, err := rff.Read[float32](bytes.NewReader(file))
	assert.ErrorContains(t, err, "float64")
	assert.ErrorContains(t, rff.Write[float64](new(bytes.Buffer), new(components.Model[float64])), "the Model is zero")
}

// cut leaves the first n numbers of a tensor.
func cut(f *safetensors.File, name string, n int) {
	t := f.Tensors[name]
	t.Shape, t.Data = []int{n}, t.Data[:8*n]
	f.Tensors[name] = t
}

// dropMap takes the map of the features away.
func dropMap(f *safetensors.File) {
	maps.DeleteFunc(f.Metadata, func(key, _ string) bool { return strings.HasPrefix(key, "map.of.") })
	maps.DeleteFunc(f.Tensors, func(key string, _ safetensors.Tensor) bool { return strings.HasPrefix(key, "map.of.") })
	f.Metadata["map.of"] = "nil"
}
