package beamfeat_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	beamfeat "github.com/seed-feabd252/randfeat/beam"
	"github.com/seed-feabd252/randfeat/ridge"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[failFn]())
}

// failFn passes blocks on. At the block that begins with X it fails or panics, unless the file Once
// is there: it makes the file first.
type failFn struct {
	X     float64
	Once  string
	Panic bool
}

func (f *failFn) ProcessElement(b ridge.Block[float64]) (ridge.Block[float64], error) {
	if b.X.At(0, 0) != f.X {
		return b, nil
	}
	if _, err := os.Stat(f.Once); err == nil {
		return b, nil
	}
	if err := os.WriteFile(f.Once, nil, 0o600); err != nil {
		return b, err
	}
	if f.Panic {
		panic("injected failure")
	}
	return b, errors.New("injected failure")
}

// TestFailureInABundle: a bundle that fails after some of its blocks leaves the model of all rows,
// where the runner repeats it, or an error that says why and no model; never a model of other rows.
func TestFailureInABundle(t *testing.T) {
	phi := gaussianMap[float64](t, 16, dim)
	blocks := blocksOf[float64](40)
	want := inMemory(t, phi, blocks, fixed)
	for _, panics := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "model.safetensors")
		attempt := func() error {
			p, s := beam.NewPipelineWithRoot()
			passed := beam.ParDo(s, &failFn{X: blocks[25].X.At(0, 0), Once: filepath.Join(dir, "once"), Panic: panics},
				beam.CreateList(s, blocks))
			beamfeat.WriteModel[float64](s, path, beamfeat.FitRidge(s, passed,
				beamfeat.Ridge[float64]{Map: phi, Outputs: outputs, Options: fixed}))
			_, err := runPipeline(p)
			return err
		}
		err := attempt()
		require.FileExists(t, filepath.Join(dir, "once"), "the bundle failed")
		if err != nil {
			require.ErrorContains(t, err, "injected failure")
			require.NoFileExists(t, path)
			require.NoError(t, attempt())
		}
		assertSameModel(t, want, readModel[float64](t, path), 3e-9)
	}
}

// TestBadRows: rows that cannot be summed fail the pipeline with an error that names them.
func TestBadRows(t *testing.T) {
	phi := gaussianMap[float64](t, 16, dim)
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.csv"), filepath.Join(dir, "bad.csv")
	require.NoError(t, os.WriteFile(good, []byte("1,2,3,4\n"), 0o600))
	require.NoError(t, os.WriteFile(bad, []byte("1,2,3,4\n1,2,x,4\n"), 0o600))
	nan := blocksOf[float64](3)
	nan[1].Y.Set(7, 0, math.NaN())
	narrow := blocksOf[float64](3)
	narrow[2].X = narrow[2].X.ColRange(0, 2)
	for name, c := range map[string]struct {
		blocks func(s beam.Scope) beam.PCollection
		says   []string
	}{
		"text": {func(s beam.Scope) beam.PCollection {
			return beamfeat.ReadCSV(s, ridge.CSV[float64]{Path: good}, ridge.CSV[float64]{Path: bad})
		}, []string{bad, "line 2, column 3"}},
		"no file": {func(s beam.Scope) beam.PCollection {
			return beamfeat.ReadNPY(s, ridge.NPY[float64]{X: filepath.Join(dir, "none.npy"), Y: good})
		}, []string{"none.npy"}},
		"NaN":    {func(s beam.Scope) beam.PCollection { return beam.CreateList(s, nan) }, []string{"NaN"}},
		"narrow": {func(s beam.Scope) beam.PCollection { return beam.CreateList(s, narrow) }, []string{"50×2"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "model.safetensors")
			p, s := beam.NewPipelineWithRoot()
			n := outputs
			if name == "text" {
				n = 1
			}
			beamfeat.WriteModel[float64](s, path, beamfeat.FitRidge(s, c.blocks(s), beamfeat.Ridge[float64]{Map: phi, Outputs: n, Options: fixed}))
			_, err := runPipeline(p)
			for _, text := range c.says {
				assert.ErrorContains(t, err, text)
			}
			assert.NoFileExists(t, path)
		})
	}
}
