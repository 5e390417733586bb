package beamfeat_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	beamfeat "github.com/seed-feabd252/randfeat/beam"
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// TestMain starts Beam as a program does.
func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // prism tells much of every job
	os.Exit(m.Run())
}

func gaussianMap[T dense.Float](t testing.TB, m, d int) rff.Map[T] {
	w, err := orf.Draw[T](orf.Hadamard{}, m, d, exprand.NewSource(1))
	require.NoError(t, err)
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
	require.NoError(t, err)
	centre, factors := make([]float64, d), make([]float64, d)
	for j := range d {
		centre[j], factors[j] = 0.1, 1/(1+0.1*float64(j))
	}
	// the scale travels with the map
	phi, err = rff.Compose(rff.Affine{Centre: centre, Factors: factors}, phi)
	require.NoError(t, err)
	return phi
}

const (
	dim     = 3
	outputs = 2
)

// rowsOf draws n rows with weights.
func rowsOf[T dense.Float](n int, seed uint64) ridge.Block[T] {
	r := exprand.New(exprand.NewSource(seed))
	b := ridge.Block[T]{X: dense.New[T](n, dim), Y: dense.New[T](n, outputs), Weights: make([]T, n)}
	for i := range n {
		for j := range dim {
			b.X.Set(i, j, T(r.NormFloat64()))
		}
		b.Y.Set(i, 0, T(math.Sin(float64(b.X.At(i, 0)))+0.1*r.NormFloat64()))
		b.Y.Set(i, 1, T(100+float64(b.X.At(i, 1))+0.1*r.NormFloat64()))
		b.Weights[i] = T(0.5 + r.Float64())
	}
	return b
}

// blocksOf draws blocks of 50 rows.
func blocksOf[T dense.Float](n int) []ridge.Block[T] {
	blocks := make([]ridge.Block[T], n)
	for i := range blocks {
		blocks[i] = rowsOf[T](50, uint64(i))
	}
	return blocks
}

// runPipeline runs p on prism.
func runPipeline(p *beam.Pipeline) (beam.PipelineResult, error) {
	return beam.Run(context.Background(), "prism", p)
}

// readModel opens the model in a file.
func readModel[T dense.Float](t testing.TB, path string) *ridge.Model[T] {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	model, err := ridge.ReadModel[T](file)
	require.NoError(t, err)
	return model
}

// fixed are options with λ = 1. The condition number of A is at most 1 + Σω, some 3·10³ here, as
// features have length 1. Sums in another order differ by 10⁻¹² of their size in float64.
var fixed = ridge.Options{Noise: 0.01, Prior: 0.01}

func inMemory[T dense.Float](t testing.TB, phi rff.Map[T], blocks []ridge.Block[T], o ridge.Options) *ridge.Model[T] {
	t.Helper()
	s, err := ridge.NewSums(phi, outputs)
	require.NoError(t, err)
	for _, b := range blocks {
		require.NoError(t, s.Add(b.X, b.Y, b.Weights))
	}
	m, err := s.Fit(t.Context(), o)
	require.NoError(t, err)
	return m
}

func assertSameModel[T dense.Float](t testing.TB, want, got *ridge.Model[T], tolerance float64) {
	t.Helper()
	w, b := want.Weights()
	v, c := got.Weights()
	require.Equal(t, w.Rows, v.Rows)
	for j := range w.Cols {
		var size, far float64
		for i := range w.Rows {
			size += w.At(i, j) * w.At(i, j)
			far += (w.At(i, j) - v.At(i, j)) * (w.At(i, j) - v.At(i, j))
		}
		assert.LessOrEqual(t, math.Sqrt(far), tolerance*math.Sqrt(size), "weights of output %d", j)
		assert.InDelta(t, b[j], c[j], tolerance*math.Sqrt(size), "intercept %d", j)
	}
	assert.InEpsilon(t, want.LogEvidence(), got.LogEvidence(), tolerance)
}

func testFit[T dense.Float](t *testing.T, tolerance float64) {
	phi := gaussianMap[T](t, 16, dim)
	blocks := blocksOf[T](40)
	path := filepath.Join(t.TempDir(), "model.safetensors")
	p, s := beam.NewPipelineWithRoot()
	model := beamfeat.FitRidge(s, beam.CreateList(s, blocks), beamfeat.Ridge[T]{Map: phi, Outputs: outputs, Options: fixed})
	beamfeat.WriteModel[T](s, path, model)
	_, err := runPipeline(p)
	require.NoError(t, err)
	assertSameModel(t, inMemory(t, phi, blocks, fixed), readModel[T](t, path), tolerance)
	files, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, files, 1, "no half a file is left")
}

// TestFitRidge: a pipeline gives the model of one machine. Sums of float32 products are in float32
// for some hundred rows: other blocks are other sums, to 2⁻²⁴ times the condition number.
func TestFitRidge(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testFit[float64](t, 3e-9) })
	t.Run("float32", func(t *testing.T) { testFit[float32](t, 2e-4) })
}

// TestReadShards: rows from files are those of the files, in any number of shards.
func TestReadShards(t *testing.T) {
	phi := gaussianMap[float64](t, 16, dim)
	dir := t.TempDir()
	blocks := blocksOf[float64](7)
	var shards []ridge.CSV[float64]
	for i, b := range blocks {
		blocks[i].Weights = nil // which CSV does not have
		var text strings.Builder
		text.WriteString("a;b;c;d;e\n")
		for r := range b.X.Rows {
			fmt.Fprintf(&text, "%v;%v;%v;%v;%v\n", b.X.At(r, 0), b.Y.At(r, 1), b.X.At(r, 1), b.X.At(r, 2), b.Y.At(r, 0))
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.csv", i))
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
		shards = append(shards, ridge.CSV[float64]{Path: path, Targets: []int{4, 1}, Header: true, Comma: ';'})
	}
	path := filepath.Join(dir, "model.safetensors")
	p, s := beam.NewPipelineWithRoot()
	beamfeat.WriteModel[float64](s, path, beamfeat.FitRidge(s, beamfeat.ReadCSV(s, shards...),
		beamfeat.Ridge[float64]{Map: phi, Outputs: outputs, Options: fixed}))
	_, err := runPipeline(p)
	require.NoError(t, err)
	assertSameModel(t, inMemory(t, phi, blocks, fixed), readModel[float64](t, path), 3e-9)
}
