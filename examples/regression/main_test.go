package main

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

func small(args ...string) []string {
	return append([]string{"-train", "60", "-test", "20", "-draws", "2"}, args...)
}

func TestRun(t *testing.T) {
	var b bytes.Buffer
	path := filepath.Join(t.TempDir(), "a.svg")
	require.NoError(t, run(small("-plot", path), &b, io.Discard))
	assert.Equal(t, 1+len(projectionNames)*len(sizes), strings.Count(b.String(), "×\n"))
	assert.Contains(t, b.String(), path)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, name := range append([]string{"exact kernel ridge", "frequencies m"}, projectionNames...) {
		assert.Contains(t, string(data), name)
	}
}

func TestErrorsDoNotDependOnTheClock(t *testing.T) {
	s := settings{draws: 2, lengthScale: 2, lambda: 0.1}
	measure := func() []row {
		src := exprand.NewSource(4)
		train, test := draw(50, src), draw(10, src)
		rows, err := s.measure(train, test, make([]float64, 10), src)
		require.NoError(t, err)
		for i := range rows {
			rows[i].time = 0
		}
		return rows
	}
	assert.Equal(t, measure(), measure())
}

func TestHelp(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, run([]string{"-h"}, &b, io.Discard))
	assert.Contains(t, b.String(), "kernel ridge regression")
	assert.Contains(t, b.String(), "-lengthscale")
}

func TestErrors(t *testing.T) {
	for args, want := range map[string]string{
		"-train 1":        "-train 1, want at least 2",
		"-test 0":         "-test 0, want at least 1",
		"-draws 1":        "-draws 1, want at least 2",
		"-lengthscale -1": "-lengthscale -1, want a positive number",
		"-lambda 0":       "-lambda 0, want a positive number",
		"-lambda Inf":     "-lambda +Inf, want a positive number",
		"-plot a.gif":     "a.gif: a picture's name must end in .png or .svg",
		"-plot no/a.png":  "no",
		"more":            `unexpected argument "more"`,
	} {
		assert.ErrorContains(t, run(strings.Fields(args), io.Discard, io.Discard), want)
	}
	assert.ErrorContains(t, run(small("-lambda", "1e-300", "-lengthscale", "1e6"), io.Discard, io.Discard), "is too small")
	assert.EqualError(t, run(small(), full{}, io.Discard), "disk full")
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// At the training points kernel ridge predicts p = K(K + λI)⁻¹y, so that
// a = (y − p)/λ solves (K + λI)a = y.
func TestKernelRidge(t *testing.T) {
	const lambda = 0.1
	train := draw(30, exprand.NewSource(1))
	got, err := kernelRidge(train, train.x, 2, lambda)
	require.NoError(t, err)
	gram := kernels.Gram(dense.Matrix[float64]{}, kernels.Gaussian{LengthScale: 2}, train.x, dense.Matrix[float64]{})
	for i := range got {
		left := train.y[i] - got[i]
		for j, k := range gram.Row(i) {
			left += k * (train.y[j] - got[j]) / lambda
		}
		assert.InDelta(t, train.y[i], left, 1e-10)
	}
}

// Ridge regression on features with ΦΦᵀ = K is kernel ridge regression. The
// features of the polynomial kernel of degree 2 are exact.
func TestFeatureRidgeIsKernelRidge(t *testing.T) {
	const lambda = 0.3
	src := exprand.NewSource(2)
	train, test := draw(40, src), draw(10, src)
	f, err := rff.Quadratic[float64](dim)
	require.NoError(t, err)
	got, err := featureRidge(f, train, test.x, lambda)
	require.NoError(t, err)

	k := f.Kernel()
	a, err := solve(kernels.Gram(dense.Matrix[float64]{}, k, train.x, dense.Matrix[float64]{}), train.y, lambda)
	require.NoError(t, err)
	want := times(kernels.Gram(dense.Matrix[float64]{}, k, test.x, train.x), a)
	assert.InDeltaSlice(t, want, got, 1e-10)
}

func TestMoreFrequenciesComeCloser(t *testing.T) {
	s := settings{draws: 3, lengthScale: 2, lambda: 0.1}
	src := exprand.NewSource(6)
	train, test := draw(200, src), draw(100, src)
	exact, err := kernelRidge(train, test.x, s.lengthScale, s.lambda)
	require.NoError(t, err)
	rows, err := s.measure(train, test, exact, src)
	require.NoError(t, err)
	for i := 0; i < len(rows); i += len(sizes) {
		first, last := rows[i], rows[i+len(sizes)-1]
		// The error falls as 1/√m: by more than 5 from 16 to 512.
		assert.Greater(t, first.exact.mean, 3*last.exact.mean, first.projection)
	}
}

func TestTruth(t *testing.T) {
	assert.InDelta(t, 1+0.5+0.25-0.5, truth([]float64{1, 0.5, 1, 0.25, -1, 9, 9, 9}), 1e-15)
	d := draw(4000, exprand.NewSource(7))
	y := make([]float64, len(d.y))
	for i := range y {
		y[i] = truth(d.x.Row(i))
	}
	// The standard error of a standard deviation is σ/√(2n): 4 of them are 1.3e-2.
	assert.InDelta(t, noise, rmse(d.y, y), 4*noise/math.Sqrt(2*4000))
}
