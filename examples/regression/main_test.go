package main

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

func small(args ...string) []string {
	return append([]string{"-train", "60", "-test", "20", "-images", "30", "-imagetest", "10", "-draws", "2", "-pixels", "200", "-frequencies", "8"}, args...)
}

func TestRun(t *testing.T) {
	var b bytes.Buffer
	path := filepath.Join(t.TempDir(), "a.svg")
	bands := filepath.Join(t.TempDir(), "b.png")
	require.NoError(t, run(small("-table", "-plot", path, "-photo", gradient(t), "-bands", bands), &b, io.Discard))
	assert.Equal(t, 2+(6+2)*len(sizes), strings.Count(b.String(), "×\n"))
	for _, k := range smoothness {
		assert.Contains(t, b.String(), "\n"+k.name)
	}
	drawn, err := os.Open(bands)
	require.NoError(t, err)
	defer drawn.Close()
	_, kind, err := image.DecodeConfig(drawn)
	require.NoError(t, err)
	assert.Equal(t, "png", kind)
	assert.Contains(t, b.String(), "m needed")
	short := clitest.Output(t, run, small("-photo", gradient(t))...)
	assert.LessOrEqual(t, strings.Count(short, "\n"), 25, "without -table the answer is short")
	assert.Contains(t, b.String(), path)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, name := range []string{"exact kernel ridge", "features", "images: test error"} {
		assert.Contains(t, string(data), name)
	}
	for _, by := range methods(1) {
		assert.Contains(t, string(data), by.name)
	}
}

// gradient writes a photograph whose brightness is a smooth function of the place.
func gradient(t *testing.T) string {
	img := image.NewGray(image.Rect(0, 0, 30, 20))
	for i := range img.Pix {
		img.Pix[i] = uint8(127.5 + 127.5*math.Sin(float64(i%30)/6)*math.Cos(float64(i/30)/7))
	}
	path := filepath.Join(t.TempDir(), "photo.png")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, png.Encode(f, img))
	return path
}

// A smooth photograph is predicted from a sixth of its pixels, and bands hold for most of
// the others: not for 90 %, since 100 pixels have little to say of the noise.
func TestPhotographIsPredicted(t *testing.T) {
	p, err := openPhoto(gradient(t))
	require.NoError(t, err)
	assert.Equal(t, []int{30, 20}, []int{p.width, p.height})
	steps := 0
	o, err := p.fit(context.Background(), 100, 64, func() { steps++ }, exprand.NewSource(1))
	require.NoError(t, err)
	assert.Equal(t, len(smoothness)*len(lengthScaleParts), steps)
	assert.Equal(t, 500, o.test)
	for _, c := range o.choices {
		assert.Less(t, c.error, 0.3*o.spread, c.kernel)
		assert.Greater(t, c.held, 0.7, c.kernel)
	}
	last := o.choices[len(o.choices)-1]
	assert.Equal(t, "Gaussian", last.kernel)
	assert.Greater(t, last.evidence, o.choices[0].evidence, "the photograph is smooth")
}

// The photograph of the Go distribution is there, in colour, and has the right way up.
func TestDefaultPhotograph(t *testing.T) {
	p, err := openPhoto("")
	if err != nil {
		t.Skip(err)
	}
	assert.Equal(t, []int{150, 103}, []int{p.width, p.height})
	train, test := p.split(1000, exprand.NewSource(1))
	assert.Equal(t, 1000, train.X.Rows)
	assert.Equal(t, 150*103-1000, test.X.Rows)
	for i := range 10 {
		assert.Equal(t, p.brightness.At(int(train.X.At(i, 1)), int(train.X.At(i, 0))), train.Y.At(i, 0))
	}
	assert.Equal(t, []float64{3, 7}, p.pixels(7).Row(3))
	assert.Equal(t, []float64{3, 7}, p.pixels(-1).Row(7*150+3))
}

func TestFlags(t *testing.T) { clitest.Flags(t, run) }

func TestErrorsDoNotDependOnTheClock(t *testing.T) {
	s := settings{train: 50, test: 10, lengthScale: 2, lambda: 0.1}
	measure := func() []row {
		src := exprand.NewSource(4)
		o, err := s.points(src).run(2, src)
		require.NoError(t, err)
		for i := range o.rows {
			o.rows[i].time = 0
		}
		return o.rows
	}
	assert.Equal(t, measure(), measure())
}

// Every method comes within 5 % of the test error of exact regression, on points and on
// images, with at most 512 features.
func TestFeaturesReachTheExactError(t *testing.T) {
	s := settings{train: 1000, test: 300, images: 300, imageTest: 200, lengthScale: 3, lambda: 0.05, patchScale: 1, imageLambda: 0.03}
	src := exprand.NewSource(1)
	for name, set := range map[string]task{"points": s.points(src), "images": s.pictures(src)} {
		o, err := set.run(2, exprand.NewSource(2))
		require.NoError(t, err)
		mean := make([]float64, len(set.test.y))
		for i := range mean {
			mean[i] = stat.Mean(set.train.y, nil)
		}
		assert.Less(t, o.exactError, 0.6*rmse(mean, set.test.y), "%s: exact regression has learnt something", name)
		for _, by := range set.by {
			r, ok := o.needed(by.name)
			require.True(t, ok, "%s with %s", name, by.name)
			assert.LessOrEqual(t, r.features, 512, "%s with %s", name, by.name)
			assert.LessOrEqual(t, r.test.mean, 1.05*o.exactError)
			t.Logf("%s with %s: m = %d, %d features, error %.4f, exact %.4f", name, by.name, r.m, r.features, r.test.mean, o.exactError)
		}
		assert.Greater(t, o.rows[0].test.mean, 1.05*o.exactError, "%s: not with any m", name)
		_, ok := o.needed("none")
		assert.False(t, ok)
	}
}

// The convolutional map with exact features of patches predicts as its kernel does.
func TestConvolutionRidgeIsKernelRidge(t *testing.T) {
	src := exprand.NewSource(3)
	train, test := drawImages(30, src), drawImages(10, src)
	quadratic, err := rff.Quadratic[float64](16)
	require.NoError(t, err)
	f, err := rff.Convolution(rff.Map[float64](quadratic), patches)
	require.NoError(t, err)
	want, err := kernelRidge(f.Kernel(), train, test.x, 0.1)
	require.NoError(t, err)
	got, err := featureRidge(f, train, test.x, 0.1)
	require.NoError(t, err)
	assert.InDeltaSlice(t, want, got, 1e-8)
}

// A stroke is as bright as its intensity along its line, and fades beside it.
func TestStroke(t *testing.T) {
	image := make([]float64, side*side)
	stroke{x: 5, y: 6, angle: 0, length: 4, intensity: 2}.draw(image)
	for j := 3; j <= 7; j++ {
		assert.InDelta(t, 2, image[6*side+j], 1e-12)
	}
	assert.InDelta(t, 2*math.Exp(-1/0.72), image[5*side+5], 1e-12)
	assert.InDelta(t, 2*math.Exp(-4/0.72), image[6*side+9], 1e-12)
}

func TestHelp(t *testing.T) {
	out := clitest.Output(t, run, "-h")
	assert.Contains(t, out, "kernel ridge regression")
	assert.Contains(t, out, "-lengthscale")
}

func TestErrors(t *testing.T) {
	assert.ErrorContains(t, run(small("-lambda", "1e-300", "-lengthscale", "1e6"), io.Discard, io.Discard), "is too small")
	assert.ErrorContains(t, run(small("-photo", "none.png"), io.Discard, io.Discard), "no such file")
	assert.ErrorContains(t, run(small("-photo", "main.go"), io.Discard, io.Discard), "main.go: image: unknown format")
	assert.ErrorContains(t, run(small("-photo", gradient(t), "-pixels", "600"), io.Discard, io.Discard), "-pixels 600, want from 2 to all but one of the 600")
	assert.EqualError(t, run(small(), clitest.Full{}, io.Discard), "disk full")
}

// At the training points kernel ridge predicts p = K(K + λI)⁻¹y, so that
// a = (y − p)/λ solves (K + λI)a = y.
func TestKernelRidge(t *testing.T) {
	const lambda = 0.1
	train := draw(30, exprand.NewSource(1))
	got, err := kernelRidge(kernels.Gaussian{LengthScale: 2}, train, train.x, lambda)
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

func TestMoreFeaturesComeCloser(t *testing.T) {
	s := settings{train: 270, test: 60, lengthScale: 2, lambda: 0.1}
	src := exprand.NewSource(6)
	o, err := s.points(src).run(2, src)
	require.NoError(t, err)
	for i := 0; i < len(o.rows); i += len(sizes) {
		first, last := o.rows[i], o.rows[i+len(sizes)-1]
		// The error of random features falls as 1/√m: by 4 from 16 to 256.
		assert.Greater(t, first.exact.mean, 2.5*last.exact.mean, first.method)
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
