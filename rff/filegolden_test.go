package rff_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

var update = flag.Bool("update", false, "write testdata anew")

// goldenPoint is a point with positive coordinates.
func goldenPoint[T dense.Float](d int) dense.Matrix[T] {
	x := dense.New[T](1, d)
	for j := range x.Data {
		x.Data[j] = T(1+j%4) / 4
	}
	return x
}

// TestGoldenFiles reads one file of every kind of map that the first version wrote. It gives the
// same bytes when it is written again, and the features that it gave then.
//
//ci:portable
func TestGoldenFiles(t *testing.T) {
	path := func(name string) string { return filepath.Join("testdata", name+".safetensors") }
	list := filepath.Join("testdata", "features.txt")
	if *update {
		var lines []string
		seen := map[string]bool{}
		for _, w := range fileMaps[float64](t, 4, 3) {
			if seen[w.kind] {
				continue
			}
			seen[w.kind] = true
			var file bytes.Buffer
			require.NoError(t, rff.Write(&file, w.m))
			require.NoError(t, os.WriteFile(path(w.kind), file.Bytes(), 0o666))
			line := w.kind
			in, _ := w.m.Dims()
			for _, v := range w.m.Transform(dense.Matrix[float64]{}, goldenPoint[float64](in)).Data {
				line += " " + strconv.FormatFloat(v, 'g', -1, 64)
			}
			lines = append(lines, line)
		}
		require.NoError(t, os.WriteFile(list, []byte(strings.Join(lines, "\n")+"\n"), 0o666))
	}
	text, err := os.ReadFile(list)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, 24)
	for _, line := range lines {
		want := strings.Fields(line)
		file, err := os.ReadFile(path(want[0]))
		require.NoError(t, err)
		m, err := rff.Read[float64](bytes.NewReader(file))
		require.NoError(t, err, want[0])
		var again bytes.Buffer
		require.NoError(t, rff.Write(&again, m))
		assert.True(t, bytes.Equal(file, again.Bytes()), "%s is written as something else", want[0])
		in, out := m.Dims()
		require.Len(t, want, 1+out)
		for k, v := range m.Transform(dense.Matrix[float64]{}, goldenPoint[float64](in)).Data {
			w, err := strconv.ParseFloat(want[1+k], 64)
			require.NoError(t, err)
			// Processors round functions and products of some tens of terms in their own way.
			assert.InDelta(t, w, v, 1e-12*(1+math.Abs(w)), "%s: feature %d", want[0], k)
		}
	}
}

// TestNumPyEvaluatesFiles runs a script that knows the format and the formulas.
func TestNumPyEvaluatesFiles(t *testing.T) {
	const d = 6
	x := points[float64](1, 9, d, 1)
	for _, e := range []orf.Ensemble{orf.GramSchmidt{}, orf.Hadamard{}} {
		w, err := orf.Draw[float64](e, 7, d, exprand.NewSource(2))
		require.NoError(t, err)
		gaussian, err := rff.Draw(rff.Gaussian{LengthScale: lengthScale}, w)
		require.NoError(t, err)
		positive, err := rff.Draw(rff.SoftmaxPositive{Scale: scaleOf}, w)
		require.NoError(t, err)
		for _, m := range []rff.Map[float64]{gaussian, positive} {
			got := densetest.NumPy(t, filepath.Join("testdata", "evaluate.py"), fileOf(t, m), x.Data)
			want := m.Transform(dense.Matrix[float64]{}, x).Data
			require.Len(t, got, len(want))
			for k, v := range want {
				require.InDelta(t, v, got[k], 1e-12*(1+math.Abs(v)), "%s, feature %d", fmt.Sprint(m, e), k)
			}
		}
	}
}
