package orf_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/orf"
)

// ensembles has every ensemble, and those with fields that are set.
func ensembles() []orf.Ensemble {
	return []orf.Ensemble{
		orf.IID{}, orf.IID{FixedLength: true}, orf.GramSchmidt{}, orf.Simplex{}, orf.Hadamard{},
		orf.Hadamard{FixedLength: true, Factors: 2}, orf.Givens{}, orf.Givens{FixedLength: true, Rotations: 3},
		orf.Halton{}, orf.Cauchy{},
	}
}

func testFiles[T dense.Float](t *testing.T) {
	for _, e := range ensembles() {
		for _, s := range [][2]int{{1, 1}, {3, 70}, {70, 20}, {24, 12}, {130, 65}} {
			if rotations, ok := e.(orf.Givens); ok && s[1] == 1 && rotations.Rotations > 0 {
				continue
			}
			p, err := orf.Draw[T](e, s[0], s[1], exprand.NewSource(1))
			require.NoError(t, err)
			q := again(t, p)
			x := densetest.Gapped[T](2, 9, s[1])
			y := p.Project(dense.Matrix[T]{}, x)
			name := fmt.Sprint(e, s)
			require.Equal(t, y, q.Project(dense.Matrix[T]{}, x), name)
			z := densetest.Gapped[T](2, 9, s[0])
			require.Equal(t, p.(orf.Transposer[T]).ProjectTransposed(dense.Matrix[T]{}, z),
				q.(orf.Transposer[T]).ProjectTransposed(dense.Matrix[T]{}, z), name)
			require.Equal(t, p.Frequencies(), q.Frequencies(), name)
			require.Equal(t, ensembleOf(p), ensembleOf(q), name)
			require.IsType(t, p, q, "the structure is kept")
		}
	}
	p, err := orf.FromMatrix(densetest.Gapped[T](3, 5, 4))
	require.NoError(t, err)
	q := again(t, p)
	assert.Equal(t, p.Frequencies(), q.Frequencies())
	assert.Nil(t, ensembleOf(q))
}

// again writes p, reads it, and writes what was read: the bytes are the same.
func again[T dense.Float](t *testing.T, p orf.Projection[T]) orf.Projection[T] {
	t.Helper()
	var file, second bytes.Buffer
	require.NoError(t, orf.Write(&file, p))
	q, err := orf.Read[T](bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.NoError(t, orf.Write(&second, q))
	require.Equal(t, file.Bytes(), second.Bytes())
	return q
}

func TestFiles(t *testing.T) {
	densetest.Both(t, testFiles[float32], testFiles[float64])
}

// TestFilesOfEveryKind fails where a kind is registered and ensembles has none of it.
//
//ci:portable
func TestFilesOfEveryKind(t *testing.T) {
	kinds := map[string]bool{}
	for _, e := range ensembles() {
		kinds[fmt.Sprintf("%T", e)[len("orf."):]] = true
	}
	for _, name := range registry.Names[orf.Ensemble]() {
		assert.True(t, kinds[name], "%s has no file", name)
	}
	assert.Len(t, registry.Names[orf.Ensemble](), len(kinds))
}

var update = flag.Bool("update", false, "write testdata anew")

// TestGoldenFiles reads one file of every kind of projection that the first version wrote. It gives
// the same bytes when it is written again, and the projections that it gave then: structured ones
// to the bit on every platform, others to rounding.
//
//ci:portable
func TestGoldenFiles(t *testing.T) {
	const d = 3
	x := densetest.Counted[float32](1, d, d)
	for name, want := range map[string][]float32{
		"Explicit": {-0.019770503, 1.8140624, -0.69635046, -3.995448, -0.981361},
		"Hadamard": {2.581288, 3.9538784, 0.9308489, -0.26957628, 1.9806867},
		"Givens":   {-0.24165535, 0.9188764, 2.5851643, -0.63310397, -1.3336314},
	} {
		path := filepath.Join("testdata", name+".safetensors")
		if *update {
			e := map[string]orf.Ensemble{"Explicit": orf.GramSchmidt{}, "Hadamard": orf.Hadamard{}, "Givens": orf.Givens{}}[name]
			p, err := orf.Draw[float32](e, 5, d, exprand.NewSource(1))
			require.NoError(t, err)
			var file bytes.Buffer
			require.NoError(t, orf.Write(&file, p))
			require.NoError(t, os.WriteFile(path, file.Bytes(), 0o666))
		}
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		p, err := orf.Read[float32](bytes.NewReader(file))
		require.NoError(t, err)
		var again bytes.Buffer
		require.NoError(t, orf.Write(&again, p))
		assert.True(t, bytes.Equal(file, again.Bytes()), "%s is written as something else", name)
		got := p.Project(dense.Matrix[float32]{}, x).Data
		if name == "Explicit" {
			assert.InDeltaSlice(t, want, got, 1e-5)
		} else {
			assert.Equal(t, want, got, name)
		}
	}
}

// own is a projection of another package.
type own struct{ orf.Projection[float64] }

//ci:portable
func TestFileErrors(t *testing.T) {
	var file bytes.Buffer
	assert.EqualError(t, orf.Write[float64](&file, nil), "orf: p is nil, want a projection")
	p, err := orf.Draw[float64](orf.IID{}, 2, 2, exprand.NewSource(1))
	require.NoError(t, err)
	assert.EqualError(t, orf.Write[float64](&file, own{p}), "orf: projection is a orf_test.own, not of this library, and cannot be written")
	assert.Zero(t, file.Len())
	require.NoError(t, orf.Write(&file, p))
	_, err = orf.Read[float32](bytes.NewReader(file.Bytes()))
	assert.EqualError(t, err, "orf: the file is of float64, want float32")
	_, err = orf.Read[float64](bytes.NewReader(file.Bytes()[:100]))
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	var none bytes.Buffer
	require.NoError(t, archive.Write[float64, orf.Projection[float64]](&none, "orf", "projection", nil))
	_, err = orf.Read[float64](&none)
	assert.EqualError(t, err, "orf: projection is nil")
}
