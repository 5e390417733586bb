package ridge_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// fileOf returns the bytes of a model or a classifier.
func fileOf(t testing.TB, m interface{ Write(w io.Writer) error }) []byte {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, m.Write(&file))
	return file.Bytes()
}

// reread writes m, reads it, and writes what was read: the bytes are the same.
func reread[M interface{ Write(w io.Writer) error }](t testing.TB, m M, read func(r io.Reader) (M, error)) M {
	t.Helper()
	file := fileOf(t, m)
	again := must.Have(read(bytes.NewReader(file)))
	require.True(t, bytes.Equal(file, fileOf(t, again)))
	return again
}

// fitted returns a regression on two outputs. Its targets have means.
func fitted[T dense.Float](t testing.TB, phi rff.Map[T], rows int, o ridge.Options) (*ridge.Model[T], ridge.Block[T]) {
	t.Helper()
	b := ridge.Block[T]{X: dense.New[T](rows, 5), Y: dense.New[T](rows, 2), Weights: make([]T, rows)}
	x, y := friedman[T](rows, 5, 1)
	dense.Copy(b.X, x)
	for i := range rows {
		b.Y.Set(i, 0, y.At(i, 0))
		b.Y.Set(i, 1, 100-x.At(i, 2)*y.At(i, 0))
		b.Weights[i] = 0.5 + T(i%3)
	}
	m := must.Have(sumOf(t, phi, b.X, b.Y, b.Weights).Fit(t.Context(), o))
	return m, b
}

// classified returns a classifier of three classes and points.
func classified[T dense.Float](t testing.TB, m int) (*ridge.Classifier[T], dense.Matrix[T]) {
	t.Helper()
	rows, _, _ := rings[T](200, 3)
	o := ridge.ClassifyOptions{Classes: 3, Labels: []string{"inner", "null", "ß"}}
	found := must.Have(ridge.Classify(context.Background(), []rff.Map[T]{gaussian[T](t, m, 2, 1.5, 1)}, rows, o))
	return found.Classifier, rows.X
}

// TestFiles: what is read says what was written, to the bit. The maps have less than a tile of
// features, one tile, and more.
func TestFiles(t *testing.T) {
	densetest.Both(t, testFiles[float32], testFiles[float64])
}

func testFiles[T dense.Float](t *testing.T) {
	w := must.Have(orf.Draw[T](orf.Hadamard{}, 150, 5, rand.NewPCG(1, 2)))
	fast := must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, w))
	x, _ := friedman[T](40, 5, 3)
	landmarks := must.Have(rff.Nystroem(kernels.Gaussian{}, x))
	for _, phi := range []rff.Map[T]{fast, gaussian[T](t, 64, 5, 1, 1), landmarks} {
		for _, o := range []ridge.Options{{}, {Noise: 0.7, Prior: 3, NoIntercept: true}} {
			want, rows := fitted(t, phi, 150, o)
			got := reread(t, want, ridge.ReadModel[T])
			none := dense.Matrix[T]{}
			assert.Equal(t, want.Mean(none, rows.X), got.Mean(none, rows.X))
			for _, both := range []func(m *ridge.Model[T]) (mean, sd dense.Matrix[T]){
				func(m *ridge.Model[T]) (mean, sd dense.Matrix[T]) { return m.Predict(rows.X) },
				func(m *ridge.Model[T]) (mean, sd dense.Matrix[T]) { return m.Posterior(rows.X) },
			} {
				mean, sd := both(want)
				m, s := both(got)
				assert.Equal(t, mean, m)
				assert.Equal(t, sd, s)
			}
			assert.Equal(t, want.Covariance(x, 1), got.Covariance(x, 1))
			errs := must.Have(want.LeaveOneOut(none, rows.X, rows.Y, rows.Weights))
			again := must.Have(got.LeaveOneOut(none, rows.X, rows.Y, rows.Weights))
			assert.Equal(t, errs, again)
			f := must.Have(want.Sample(3, 1, rand.NewPCG(1, 2)))
			g := must.Have(got.Sample(3, 1, rand.NewPCG(1, 2)))
			assert.Equal(t, f.Eval(none, x), g.Eval(none, x))
			weights, intercepts := want.Weights()
			v, b := got.Weights()
			assert.Equal(t, weights, v)
			assert.Equal(t, intercepts, b)
			assert.Equal(t, []any{want.Noise(), want.Prior(), want.LogEvidence(), want.DegreesOfFreedom()},
				[]any{got.Noise(), got.Prior(), got.LogEvidence(), got.DegreesOfFreedom()})
		}
	}
	c, points := classified[T](t, 70)
	assert.Equal(t, c.Probabilities(dense.Matrix[T]{}, points), reread(t, c, ridge.ReadClassifier[T]).Probabilities(dense.Matrix[T]{}, points))
}

var update = flag.Bool("update", false, "write testdata anew")

// goldenRow are predictions at three points: means and standard deviations, or probabilities.
func goldenRow(t testing.TB, file []byte) []float64 {
	x := dense.Of(3, 2, []float64{0, 0.5, -1, 2, 3, 0.25})
	if m, err := ridge.ReadModel[float64](bytes.NewReader(file)); err == nil {
		assert.True(t, bytes.Equal(file, fileOf(t, m)), "written as something else")
		mean, sd := m.Predict(x)
		return append(mean.Data, sd.Data...)
	}
	c := must.Have(ridge.ReadClassifier[float64](bytes.NewReader(file)))
	assert.True(t, bytes.Equal(file, fileOf(t, c)), "written as something else")
	return c.Probabilities(dense.Matrix[float64]{}, x).Data
}

// TestGoldenFiles reads a model and a classifier that earlier versions wrote. They give the same
// bytes when they are written again, and the predictions that they gave then, to rounding:
// processors round functions and sums of some terms in their own way.
//
//ci:portable
func TestGoldenFiles(t *testing.T) {
	list := filepath.Join("testdata", "predictions.txt")
	if *update {
		phi := gaussian[float64](t, 3, 2, 1.5, 1)
		rows, _, _ := rings[float64](60, 3)
		m := must.Have(ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: rows.X, Y: rows.Y}, ridge.Options{}))
		c := must.Have(ridge.Classify(context.Background(), []rff.Map[float64]{phi}, rows, ridge.ClassifyOptions{Classes: 3}))
		var lines []string
		for name, file := range map[string][]byte{"Model": fileOf(t, m), "Classifier": fileOf(t, c.Classifier)} {
			require.NoError(t, os.WriteFile(filepath.Join("testdata", name+".safetensors"), file, 0o666))
			line := name
			for _, v := range goldenRow(t, file) {
				line += " " + strconv.FormatFloat(v, 'g', -1, 64)
			}
			lines = append(lines, line+"\n")
		}
		slices.Sort(lines)
		require.NoError(t, os.WriteFile(list, []byte(strings.Join(lines, "")), 0o666))
	}
	text := must.Have(os.ReadFile(list))
	lines := 0
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		got := goldenRow(t, golden(t, fields[0]))
		require.Len(t, fields, 1+len(got))
		for k, v := range got {
			want := must.Have(strconv.ParseFloat(fields[1+k], 64))
			assert.InDelta(t, want, v, 1e-12*(1+math.Abs(want)), "%s: number %d", fields[0], k)
		}
		lines++
	}
	assert.Equal(t, 2, lines)
}

// golden returns the bytes of a golden file.
func golden(t testing.TB, name string) []byte {
	t.Helper()
	file := must.Have(os.ReadFile(filepath.Join("testdata", name+".safetensors")))
	return file
}

// TestNumPyPredictsFromFiles runs a script that knows the format and the formulas.
func TestNumPyPredictsFromFiles(t *testing.T) {
	phi := gaussian[float64](t, 70, 5, 1.5, 1)
	centred, rows := fitted(t, phi, 150, ridge.Options{})
	plain, _ := fitted(t, phi, 150, ridge.Options{Noise: 0.7, Prior: 3, NoIntercept: true})
	classifier, points := classified[float64](t, 20)
	both := func(m *ridge.Model[float64]) dense.Matrix[float64] {
		mean, sd := m.Predict(rows.X)
		all := dense.New[float64](mean.Rows, 2*mean.Cols)
		dense.Copy(all.ColRange(0, mean.Cols), mean)
		dense.Copy(all.ColRange(mean.Cols, all.Cols), sd)
		return all
	}
	for _, c := range []struct {
		file    []byte
		x, want dense.Matrix[float64]
	}{
		{fileOf(t, centred), rows.X, both(centred)},
		{fileOf(t, plain), rows.X, both(plain)},
		{fileOf(t, classifier), points, classifier.Probabilities(dense.Matrix[float64]{}, points)},
	} {
		got := densetest.NumPy(t, filepath.Join("testdata", "predict.py"), c.file, c.x.Data)
		require.Len(t, got, len(c.want.Data))
		for k, v := range c.want.Data {
			require.InDelta(t, v, got[k], 1e-12*(1+math.Abs(v)), "number %d", k)
		}
	}
}

// own is a map of another package.
type own struct{ rff.Map[float64] }

// TestHostileFiles: what does not fit is an error that names it.
//
//ci:portable
func TestHostileFiles(t *testing.T) {
	text := func(key, value string) func(f *safetensors.File) {
		return func(f *safetensors.File) { f.Metadata["model."+key] = value }
	}
	number := func(name string, at int, v float64) func(f *safetensors.File) {
		return func(f *safetensors.File) {
			binary.LittleEndian.PutUint64(f.Tensors["model."+name].Data[8*at:], math.Float64bits(v))
		}
	}
	reshape := func(name string, shape ...int) func(f *safetensors.File) {
		return func(f *safetensors.File) {
			size := 1
			for _, n := range shape {
				size *= n
			}
			f.Tensors["model."+name] = safetensors.Tensor{DType: safetensors.F64, Shape: shape, Data: make([]byte, 8*size)}
		}
	}
	model, classifier := golden(t, "Model"), golden(t, "Classifier")
	for _, c := range []struct {
		file   []byte
		change func(f *safetensors.File)
		want   string
	}{
		{model, func(f *safetensors.File) { f.Metadata["version"] = "1" }, `ridge: the file has version "1" of the format, this package reads version "3" alone`},
		{model, func(f *safetensors.File) { f.Metadata["model"] = "Forest" }, `ridge: metadata: "model" is "Forest", which is unknown`},
		{model, text("more", "1"), `ridge: metadata: "model.more" is unknown`},
		{model, text("map.spec.lengthScale", "-1"), "ridge: model.map: rff: lengthScale = -1"},
		{model, text("ratio", "0"), "ridge: model: ratio = 0, want a positive number"},
		{model, text("ratio", "1e-320"), "ridge: model: noise[0]/ratio = +Inf, want a positive number"},
		{model, text("rowWeight", "NaN"), "ridge: model: rowWeight = NaN, want a positive number"},
		{model, text("logEvidence", "-Inf"), "ridge: model: logEvidence = -Inf, want a finite number"},
		{model, text("centred", "2"), `ridge: metadata: "model.centred" is "2", want a truth value`},
		{model, text("centred", "0"), `ridge: metadata: "model.centred" is "0", want a truth value`},
		{model, text("centred", "True"), `ridge: metadata: "model.centred" is "True", want a truth value`},
		{model, func(f *safetensors.File) { delete(f.Tensors, "model.weights") }, `ridge: tensor "model.weights" is missing`},
		{model, number("noise", 0, -1), "ridge: model: noise[0] = -1, want a positive number"},
		{model, number("weights", 2, math.NaN()), "ridge: model: weights[2][0] = NaN, want a finite number"},
		{model, number("featureMean", 1, math.Inf(1)), "ridge: model: featureMean[1] = +Inf, want a finite number"},
		{model, number("targetMean", 0, math.Inf(1)), "ridge: model: targetMean[0] = +Inf, want a finite number"},
		{model, number("root", 3, math.NaN()), "ridge: model: root[3] = NaN, want a finite number"},
		{model, number("root", 5, 0), "ridge: model: pivot 2 of root = 0, want a positive number"},
		{model, reshape("weights", 5, 1), "ridge: model: weights are 5×1, want 6 rows of features and at least 1 outputs"},
		{model, reshape("weights", 6, 0), "ridge: model: weights are 6×0, want 6 rows of features and at least 1 outputs"},
		{model, reshape("featureMean", 5), "ridge: model: featureMean has 5 numbers, want 6"},
		{model, reshape("noise", 2), "ridge: model: targetMean has 1 numbers and noise 2, want 1"},
		{model, reshape("root", 36), "ridge: model: root has 36 numbers, want the 21 of 6 features and 0 samples"},
		{classifier, reshape("weights", 6, 1), "ridge: model: weights are 6×1, want 6 rows of features and at least 2 classes"},
		{classifier, reshape("intercepts", 2), "ridge: model: 2 intercepts, want 3"},
		{classifier, number("intercepts", 2, math.NaN()), "ridge: model: intercepts[2] = NaN, want a finite number"},
		{classifier, reshape("featureMean", 5), "ridge: model: featureMean has 5 numbers, want 6"},
		{classifier, number("featureMean", 5, math.Inf(-1)), "ridge: model: featureMean[5] = -Inf, want a finite number"},
	} {
		_, err := ridge.ReadModel[float64](bytes.NewReader(must.Have(archive.Changed(c.file, c.change))))
		assert.ErrorContains(t, err, c.want)
	}
	_, err := ridge.ReadModel[float64](bytes.NewReader(classifier))
	assert.EqualError(t, err, "ridge: the file has a *ridge.Classifier[float64], want a *ridge.Model[float64]")
	_, err = ridge.ReadClassifier[float64](bytes.NewReader(model))
	assert.EqualError(t, err, "ridge: the file has a *ridge.Model[float64], want a *ridge.Classifier[float64]")
	_, err = ridge.ReadModel[float32](bytes.NewReader(model))
	assert.EqualError(t, err, "ridge: the file is of float64, want float32")
	_, err = ridge.ReadModel[float64](strings.NewReader(""))
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = ridge.ReadModel[float64](bytes.NewReader(must.Have(archive.Changed(model, func(f *safetensors.File) {
		clear(f.Tensors)
		maps.DeleteFunc(f.Metadata, func(key, _ string) bool { return strings.HasPrefix(key, "model.") })
		f.Metadata["model"] = "nil"
	}))))
	assert.EqualError(t, err, "ridge: model is nil")
}

func TestWriteErrors(t *testing.T) {
	var file bytes.Buffer
	m, _ := fitted(t, rff.Map[float64](own{gaussian[float64](t, 4, 5, 1, 1)}), 50, ridge.Options{})
	assert.EqualError(t, m.Write(&file), "ridge: model.map is a ridge_test.own, not of this library, and cannot be written")
	assert.Zero(t, file.Len())
	m, _ = fitted(t, gaussian[float64](t, 4, 5, 1, 1), 50, ridge.Options{})
	assert.ErrorIs(t, m.Write(full{}), errFull)
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
