package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // photographs of the user's own
	_ "image/png"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/goroot"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// photo is a photograph: the brightness of each pixel, from 0 to 1.
type photo struct {
	name          string
	width, height int
	brightness    dense.Matrix[float64] // height×width
}

// morePixels is the largest number of pixels of a photograph.
const morePixels = 1 << 20

// openPhoto returns the photograph in a file, or the photograph of the Go distribution if path is
// "".
func openPhoto(path string) (photo, error) {
	name, data, ok := "video-001.png of the Go distribution", []byte(nil), false
	if path == "" {
		if data, ok = goroot.Read("src", "image", "testdata", "video-001.png"); !ok {
			return photo{}, errors.New("this Go distribution ships no photograph: name one with -photo")
		}
	} else {
		var err error
		if data, err = os.ReadFile(path); err != nil {
			return photo{}, err
		}
		name = path
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return photo{}, fmt.Errorf("%s: %w", name, err)
	}
	size := img.Bounds()
	if pixels := size.Dx() * size.Dy(); pixels < 100 || pixels > morePixels {
		return photo{}, fmt.Errorf("%s has %d×%d pixels, want from 100 to %d", name, size.Dx(), size.Dy(), morePixels)
	}
	p := photo{name: name, width: size.Dx(), height: size.Dy(), brightness: dense.New[float64](size.Dy(), size.Dx())}
	for i := range p.height {
		for j := range p.width {
			grey := color.Gray16Model.Convert(img.At(size.Min.X+j, size.Min.Y+i)).(color.Gray16)
			p.brightness.Set(i, j, float64(grey.Y)/math.MaxUint16)
		}
	}
	return p, nil
}

// split returns n random pixels and all other pixels.
func (p photo) split(n int, src rand.Source) (train, test ridge.Block[float64]) {
	order := rand.New(src).Perm(p.width * p.height)
	take := func(pixels []int) ridge.Block[float64] {
		b := ridge.Block[float64]{X: dense.New[float64](len(pixels), 2), Y: dense.New[float64](len(pixels), 1)}
		for i, at := range pixels {
			b.X.Set(i, 0, float64(at%p.width))
			b.X.Set(i, 1, float64(at/p.width))
			b.Y.Set(i, 0, p.brightness.At(at/p.width, at%p.width))
		}
		return b
	}
	return take(order[:n]), take(order[n:])
}

// pixels returns the coordinates of the pixels in row i, or of all pixels if i is −1.
func (p photo) pixels(i int) dense.Matrix[float64] {
	first, last := i, i+1
	if i < 0 {
		first, last = 0, p.height
	}
	x := dense.New[float64]((last-first)*p.width, 2)
	for at := range x.Rows {
		x.Set(at, 0, float64(at%p.width))
		x.Set(at, 1, float64(first+at/p.width))
	}
	return x
}

// smoothness lists the kernels: three orders of Matérn's kernel and their limit, the Gaussian
// kernel.
var smoothness = []struct {
	name string
	nu   float64 // infinite for the Gaussian kernel
}{{"Matérn 1/2", 0.5}, {"Matérn 3/2", 1.5}, {"Matérn 5/2", 2.5}, {"Gaussian", math.Inf(1)}}

// choice is a kernel at its best length-scale: a row of the table.
type choice struct {
	kernel              string
	lengthScale         float64
	evidence            float64
	noise               float64 // standard deviation
	error, held, median float64 // of test pixels; median of the standard deviations
}

// portrait is a photograph with the results of all kernels.
type portrait struct {
	photo
	train, test int
	spread      float64 // standard deviation of the brightness
	choices     []choice
	best        *ridge.Model[float64]
	chosen      ridge.Block[float64]
}

// fit compares kernels and length-scales by the evidence of n pixels, with m frequencies.
func (p photo) fit(ctx context.Context, n, m int, src rand.Source) (portrait, error) {
	if n < 2 || n >= p.width*p.height {
		return portrait{}, fmt.Errorf("-pixels %d, want from 2 to all but one of the %d", n, p.width*p.height)
	}
	train, test := p.split(n, src)
	usual, err := ridge.MedianDistance(train.X, src)
	if err != nil {
		return portrait{}, err
	}
	o := portrait{photo: p, train: n, test: test.X.Rows, chosen: train}
	o.spread = stat.PopStdDev(test.Y.Data, nil)
	w, err := orf.Draw[float64](orf.GramSchmidt{}, m, 2, src)
	if err != nil {
		return portrait{}, err
	}
	best := math.Inf(-1)
	for _, k := range smoothness {
		var maps []rff.Map[float64]
		var scales []float64
		for _, part := range lengthScaleParts {
			l := usual / part
			phi, err := rff.Gaussian(w, l)
			if !math.IsInf(k.nu, 1) {
				phi, err = rff.Matern(w, k.nu, l, src)
			}
			if err != nil {
				return portrait{}, err
			}
			maps, scales = append(maps, phi), append(scales, l)
		}
		s, err := ridge.Choose(ctx, maps, train, ridge.ChooseOptions{})
		if err != nil {
			return portrait{}, err
		}
		c := choice{kernel: k.name, lengthScale: scales[s.Best], evidence: s.Trials[s.Best].Score, noise: math.Sqrt(s.Model.Noise()[0])}
		c.assess(s.Model, test)
		o.choices = append(o.choices, c)
		if c.evidence > best {
			best, o.best = c.evidence, s.Model
		}
	}
	return o, nil
}

// lengthScaleParts are the divisors of the median distance that give the tried length-scales.
var lengthScaleParts = []float64{4, 8, 16, 32}

// assess measures the errors at test pixels.
func (c *choice) assess(m *ridge.Model[float64], test ridge.Block[float64]) {
	mean, sd := m.Predict(test.X)
	c.error = floats.Distance(mean.Data, test.Y.Data, 2) / math.Sqrt(float64(test.Y.Rows))
	for i, v := range test.Y.Data {
		if math.Abs(v-mean.At(i, 0)) < bandWidth*sd.At(i, 0) {
			c.held += 1 / float64(test.Y.Rows)
		}
	}
	c.median = slices.Sorted(slices.Values(sd.Data))[sd.Rows/2]
}
