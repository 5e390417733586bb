package main

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

const (
	side       = 12  // of an image, in pixels
	strokes    = 3   // in an image
	imageNoise = 0.1 // of the value and of a pixel, standard deviation
)

// patches is how images are cut: 5×5 patches of 4×4 pixels, all in one cell, since it does not
// matter where a stroke is.
var patches = kernels.Patches{Height: side, Width: side, Size: 4, Stride: 2}

// imageKernel compares patches by their pattern and weighs them by their contrast.
func imageKernel(k kernels.Gaussian) kernels.Kernel {
	return kernels.Convolution{K: kernels.Homogeneous{K: k}, Patches: patches}
}

// imageMap returns the convolutional map of imageKernel with m frequencies or landmarks for the
// directions of patches. Landmarks are chosen among the patches of x.
func imageMap(by method, m int, x dense.Matrix[float64], k kernels.Gaussian, src rand.Source) (rff.Map[float64], error) {
	f, err := by.draw(m, directions(x), k, src)
	if err != nil {
		return nil, err
	}
	h, err := rff.Homogeneous(f)
	if err != nil {
		return nil, err
	}
	return rff.Convolution(rff.Map[float64](h), patches)
}

// directions returns the patches of all images, divided by their lengths.
func directions(x dense.Matrix[float64]) dense.Matrix[float64] {
	p := kernels.CutPatches(dense.Matrix[float64]{}, patches, x, 0)
	for i := range p.Rows {
		var square float64
		for _, v := range p.Row(i) {
			square += v * v
		}
		for j := range p.Row(i) {
			p.Row(i)[j] /= math.Sqrt(square)
		}
	}
	return p
}

// drawImages returns n images of strokes, and as the value of each the sum of
// intensity·cos(2·angle) over its strokes.
func drawImages(n int, src rand.Source) data {
	uniform := func(lo, hi float64) float64 { return distuv.Uniform{Min: lo, Max: hi, Src: src}.Rand() }
	normal := distuv.Normal{Sigma: imageNoise, Src: src}
	d := data{x: dense.New[float64](n, side*side), y: make([]float64, n)}
	for i := range d.y {
		image := d.x.Row(i)
		for range strokes {
			s := stroke{
				x: uniform(3, side-4), y: uniform(3, side-4), angle: uniform(0, math.Pi),
				length: uniform(3, 6), intensity: uniform(0.5, 1.5),
			}
			s.draw(image)
			d.y[i] += s.intensity * math.Cos(2*s.angle)
		}
		for j := range image {
			image[j] += normal.Rand()
		}
		d.y[i] += normal.Rand()
	}
	return d
}

// stroke is a straight line of soft edges around the point (x, y), in pixels.
type stroke struct{ x, y, angle, length, intensity float64 }

// draw adds the stroke to an image.
func (s stroke) draw(image []float64) {
	const width = 0.6
	cos, sin := math.Cos(s.angle), math.Sin(s.angle)
	for i := range side {
		for j := range side {
			dx, dy := float64(j)-s.x, float64(i)-s.y
			along := max(math.Abs(dx*cos+dy*sin)-s.length/2, 0)
			across := dy*cos - dx*sin
			image[i*side+j] += s.intensity * math.Exp(-(along*along+across*across)/(2*width*width))
		}
	}
}
