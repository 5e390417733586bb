package ridge_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// A predictor predicts what its model does, with means to rounding and variances to that of
// float32, and so does the predictor of its file, wherever the bytes lie.
func TestPredictor(t *testing.T) {
	densetest.Both(t, testPredictor[float32], testPredictor[float64])
}

func testPredictor[T dense.Float](t *testing.T) {
	for _, features := range []int{1, 20, 150} {
		for _, o := range []ridge.Options{{}, {Noise: 0.7, Prior: 3, NoIntercept: true}, {Noise: 1e-3, Prior: 1e3}} {
			m, rows := fitted(t, gaussian[T](t, features, 5, 1, 1), 300, o)
			predictor, err := m.Predictor(t.Context())
			require.NoError(t, err)
			in, out := predictor.Dims()
			require.Equal(t, []int{5, rows.Y.Cols}, []int{in, out})
			file := fileOf(t, predictor)
			for skip := range 5 {
				data := append(make([]byte, skip), file...)[skip:]
				again, err := ridge.ViewPredictor[T](data)
				require.NoError(t, err)
				m, sd := again.Predict(nil, nil, rows.X.Row(7))
				mean, want := predictor.Predict(nil, nil, rows.X.Row(7))
				require.Equal(t, [][]T{mean, want}, [][]T{m, sd})
				require.True(t, bytes.Equal(file, fileOf(t, again)))
			}
			mean, sd := m.Predict(rows.X)
			for i := range rows.X.Rows {
				gotMean, gotSD := predictor.Predict(nil, nil, rows.X.Row(i))
				require.Equal(t, gotMean, predictor.Mean(nil, rows.X.Row(i)))
				for j := range gotMean {
					require.InDelta(t, float64(mean.At(i, j)), float64(gotMean[j]), 1e-5*(1+math.Abs(float64(mean.At(i, j)))))
					require.InEpsilon(t, float64(sd.At(i, j)), float64(gotSD[j]), 1e-4, "row %d of %d features, %+v", i, features, o)
				}
			}
		}
	}
}

// Predictions have the same bits on one processor, and goroutines share a predictor.
func TestSharedServer(t *testing.T) {
	m, rows := fitted(t, gaussian[float64](t, 100, 5, 1, 1), 150, ridge.Options{})
	predictor, err := m.Predictor(t.Context())
	require.NoError(t, err)
	predict := func() dense.Matrix[float64] {
		all := dense.New[float64](rows.X.Rows, 2*rows.Y.Cols)
		for i := range all.Rows {
			row := all.Row(i)
			predictor.Predict(row[:rows.Y.Cols], row[rows.Y.Cols:], rows.X.Row(i))
		}
		return all
	}
	old := runtime.GOMAXPROCS(1)
	want := predict()
	runtime.GOMAXPROCS(old)
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() { assert.Equal(t, want, predict()) })
	}
	calls.Wait()
	if race.Detector {
		return // pools forget
	}
	mean, sd := make([]float64, rows.Y.Cols), make([]float64, rows.Y.Cols)
	assert.Zero(t, allocs.Settled(2, func() { predictor.Predict(mean, sd, rows.X.Row(3)) }))
}

// Features that hardly vary, with little noise, have a posterior that float32 does not hold.
func TestPredictorRefuses(t *testing.T) {
	m, rows := fitted(t, gaussian[float64](t, 60, 5, 50, 1), 150, ridge.Options{Noise: 1e-6, Prior: 1e3})
	_, err := m.Predictor(t.Context())
	assert.ErrorContains(t, err, "ridge: Noise/Prior = 1e-09 lets float32 round variances by a share of")

	m, rows = fitted(t, gaussian[float64](t, 60, 5, 1, 1), 150, ridge.Options{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = m.Predictor(ended)
	assert.ErrorIs(t, err, context.Canceled)
	var unset context.Context
	assert.Panics(t, func() { _, _ = m.Predictor(unset) })
	_, err = new(ridge.Model[float64]).Predictor(t.Context())
	assert.ErrorContains(t, err, "the Model is zero")

	predictor, err := m.Predictor(t.Context())
	require.NoError(t, err)
	x := rows.X.Row(0)
	assert.PanicsWithValue(t, "ridge: x has 4 elements, want 5", func() { predictor.Mean(nil, x[:4]) })
	assert.PanicsWithValue(t, "ridge: dst has 1 elements, want 2", func() { predictor.Mean(make([]float64, 1), x) })
	assert.PanicsWithValue(t, "ridge: sd has 3 elements, want 2", func() { predictor.Predict(nil, make([]float64, 3), x) })
	var none ridge.Predictor[float64]
	assert.Panics(t, func() { none.Mean(nil, x) })
	assert.ErrorContains(t, none.Write(io.Discard), "the Predictor is zero")
	x = append([]float64{math.NaN()}, x[1:]...)
	mean, sd := predictor.Predict(nil, nil, x)
	assert.True(t, math.IsNaN(mean[0]) && math.IsNaN(sd[0]), "a row with NaN has %v and %v", mean, sd)
}

// What does not fit in the file of a predictor is an error that names it, and so is all damage.
//
//ci:portable
func TestHostileServers(t *testing.T) {
	m, _ := fitted(t, gaussian[float64](t, 3, 5, 1, 1), 50, ridge.Options{})
	predictor, err := m.Predictor(t.Context())
	require.NoError(t, err)
	file := fileOf(t, predictor)
	for _, c := range []struct {
		change func(f *safetensors.File)
		want   string
	}{
		{func(f *safetensors.File) { f.Metadata["model.base"] = "-1" }, "ridge: model: base = -1, want a number of at least 0"},
		{func(f *safetensors.File) { delete(f.Tensors, "model.inverse") }, `ridge: tensor "model.inverse" is missing`},
		{func(f *safetensors.File) {
			f.Tensors["model.inverse"] = safetensors.Tensor{DType: safetensors.F32, Shape: []int{20}, Data: make([]byte, 80)}
		}, "ridge: model: inverse has 20 numbers, want the 21 of a triangle of order 6"},
		{func(f *safetensors.File) {
			binary.LittleEndian.PutUint32(f.Tensors["model.inverse"].Data[8:], math.Float32bits(float32(math.Inf(1))))
		}, "ridge: model: inverse[2] = +Inf, want a finite number"},
		{func(f *safetensors.File) { clear(f.Tensors["model.noise"].Data) }, "ridge: model: noise[0] = 0, want a positive number"},
	} {
		_, err := ridge.ViewPredictor[float64](changed(t, file, c.change))
		assert.ErrorContains(t, err, c.want)
	}
	_, err = ridge.ViewPredictor[float32](file)
	assert.EqualError(t, err, "ridge: the file is of float64, want float32")
	_, err = ridge.ViewPredictor[float64](fileOf(t, m))
	assert.EqualError(t, err, "ridge: the file has a *ridge.Model[float64], want a *ridge.Predictor[float64]")
	for at := range file {
		damaged := bytes.Clone(file)
		damaged[at] ^= 1 << (at % 8)
		_, err := ridge.ViewPredictor[float64](damaged)
		require.Error(t, err, "byte %d", at)
		_, err = ridge.ViewPredictor[float64](file[:at])
		require.Error(t, err, "%d bytes", at)
	}
}

// The script that predicts from files of models knows those of predictors.
func TestNumPyPredictsFromServers(t *testing.T) {
	m, rows := fitted(t, gaussian[float64](t, 70, 5, 1.5, 1), 150, ridge.Options{})
	predictor, err := m.Predictor(t.Context())
	require.NoError(t, err)
	got := densetest.NumPy(t, filepath.Join("testdata", "predict.py"), fileOf(t, predictor), rows.X.Data)
	for i := range rows.X.Rows {
		mean, sd := predictor.Predict(nil, nil, rows.X.Row(i))
		for j, v := range append(mean, sd...) {
			require.InEpsilon(t, v, got[i*2*rows.Y.Cols+j], 1e-5)
		}
	}
}

// BenchmarkServe predicts one row with 2048 features.
func BenchmarkServe(b *testing.B) {
	m := served[float32](b, 1024)
	predictor, err := m.Predictor(b.Context())
	require.NoError(b, err)
	x, mean, sd := dense.New[float32](1, 10), make([]float32, 1), make([]float32, 1)
	for name, call := range map[string]func(){
		"Model.Mean":        func() { m.Mean(dense.Of(1, 1, mean), x) },
		"Model.Predict":     func() { m.Predict(x) },
		"Predictor.Mean":    func() { predictor.Mean(mean, x.Row(0)) },
		"Predictor.Predict": func() { predictor.Predict(mean, sd, x.Row(0)) },
	} {
		b.Run("call="+name+"/type=float32/d=10/D=2048", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}

func served[T dense.Float](b *testing.B, frequencies int) *ridge.Model[T] {
	x, y := friedman[T](5000, 10, 1)
	m, err := ridge.Fit(b.Context(), gaussian[T](b, frequencies, 10, 1, 1), x, y, ridge.Options{Noise: 1, Prior: 10})
	require.NoError(b, err)
	return m
}
