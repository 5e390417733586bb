package main

import (
	"context"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
)

func small(args ...string) []string {
	return append([]string{"-pixels", "200", "-frequencies", "8"}, args...)
}

func TestRun(t *testing.T) {
	bands := filepath.Join(t.TempDir(), "b.png")
	photo := gradient(t)
	out := clitest.Output(t, run, small("-photo", photo, "-bands", bands)...)
	for _, k := range smoothness {
		assert.Contains(t, out, "\n"+k.name)
	}
	assert.Contains(t, out, bands)
	drawn, err := os.Open(bands)
	require.NoError(t, err)
	defer drawn.Close()
	_, kind, err := image.DecodeConfig(drawn)
	require.NoError(t, err)
	assert.Equal(t, "png", kind)
	assert.Equal(t, out, clitest.Output(t, run, small("-photo", photo, "-bands", bands)...))
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
	o, err := p.fit(context.Background(), 100, 64, exprand.NewSource(1))
	require.NoError(t, err)
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

func TestHelp(t *testing.T) {
	out := clitest.Output(t, run, "-h")
	assert.Contains(t, out, "Gaussian process")
	assert.Contains(t, out, "-frequencies")
}

func TestErrors(t *testing.T) {
	assert.ErrorContains(t, run(small("-photo", "none.png"), io.Discard), "no such file")
	assert.ErrorContains(t, run(small("-photo", "main.go"), io.Discard), "main.go: image: unknown format")
	assert.ErrorContains(t, run(small("-photo", gradient(t), "-pixels", "600"), io.Discard), "-pixels 600, want from 2 to all but one of the 600")
	assert.EqualError(t, run(small("-photo", gradient(t)), clitest.Full{}), "disk full")
}
