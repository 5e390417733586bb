// Regression fits functions with feature maps instead of a kernel matrix.
//
// Exact kernel ridge regression with n points solves an n×n system; with D features it is a linear
// regression on those. The program draws two data sets, points and images, fits each exactly and
// with random features, Nyström features and convolutional features of images, and prints test
// error and time as the number of frequencies or landmarks grows, and how many come close to the
// exact error. Then it fits a photograph, and prints and draws predictions with bands.
package main

import (
	"context"
	"io"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/progress"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	exprand "golang.org/x/exp/rand"
)

const about = `regression compares ridge regression on random features of the Gaussian kernel with exact kernel ridge regression.

It draws points x uniformly from [−1, 1]⁸ and values
    y = sin(π·x₁·x₂) + 2·(x₃ − ½)² + x₄ + ½·x₅ + 0.3·N(0, 1)
(after Friedman 1991; x₆, x₇ and x₈ do nothing), and fits them with the kernel exp(−‖x−x'‖²/(2ℓ²)). Exact regression
solves (K + λI)a = y with the n×n Gram matrix K. The other solves (ΦᵀΦ + λI)w = Φᵀy with the n×D matrix of features
Φ, for which ΦΦᵀ ≈ K. Both systems are solved by Cholesky factorisation. Features are
    random    D = 2m, from m frequencies: independent, orthogonal (gram-schmidt), or structured (hadamard)
    Nyström   D = m, from m landmarks: points drawn uniformly, centres of k-means, or points drawn by leverage scores

Then it draws images of 12×12 pixels with 3 strokes of random place, length, angle and intensity, and noise, and values
    y = sum of intensity·cos(2·angle) + 0.1·N(0, 1)
and fits these with the convolutional kernel that compares all patches of 4×4 pixels, p and q, of two images by
    ‖p‖‖q‖·exp(−‖p/‖p‖ − q/‖q‖‖²/(2ℓ²)),
and with the convolutional map whose features of patches are made of m frequencies or landmarks.

Last it takes a photograph, which the Go distribution ships for its tests of package image, fits the brightness of pixels
drawn at random as a function of their place, chooses the length-scale, the noise and the variance of four kernels by the
evidence, and predicts the other pixels with bands of 90 %.

It prints what each method needs to come near exact regression, and what the kernels make of the photograph; -table
prints all errors and times first.`

func main() { cli.Main("regression", run) }

// settings are the flags.
type settings struct {
	train, test, images, imageTest, draws int
	lengthScale, lambda                   float64
	patchScale, imageLambda               float64
	photo                                 string
	pixels, frequencies                   int
	seed                                  uint64
	plot, bands                           string
	table                                 bool
}

// sizes are the numbers of frequencies or landmarks of the tables.
var sizes = []int{16, 32, 64, 128, 256}

func run(args []string, stdout, stderr io.Writer) error {
	var s settings
	fs := cli.NewFlags("regression")
	// Exact regression holds n² numbers of n rows, features the square of twice the frequencies.
	fs.IntVar(&s.train, "train", 1500, 2, 10_000, "points to fit")
	fs.IntVar(&s.test, "test", 500, 1, 10_000, "points to test on")
	fs.IntVar(&s.images, "images", 400, 2, 2000, "images to fit")
	fs.IntVar(&s.imageTest, "imagetest", 200, 1, 2000, "images to test on")
	fs.IntVar(&s.draws, "draws", 5, 2, 1000, "draws of frequencies or landmarks that an error bar is made of")
	fs.Float64Var(&s.lengthScale, "lengthscale", 3, 1e-6, 1e6, "length-scale ℓ of the Gaussian kernel, in units of x")
	fs.Float64Var(&s.lambda, "lambda", 0.05, 1e-300, 1e6, "ridge λ")
	fs.Float64Var(&s.patchScale, "patchscale", 1, 1e-6, 1e6, "length-scale ℓ of the kernel of patches, for directions")
	fs.Float64Var(&s.imageLambda, "imagelambda", 0.03, 1e-300, 1e6, "ridge λ for images")
	fs.InputVar(&s.photo, "photo", "", "file", "photograph, .png or .jpeg, to use for the one that ships with Go")
	fs.IntVar(&s.pixels, "pixels", 4000, 2, morePixels, "pixels of the photograph to fit")
	fs.IntVar(&s.frequencies, "frequencies", 512, 1, 2048, "frequencies for the photograph")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness; the same seed gives the same errors")
	fs.OutputVar(&s.plot, "plot", "", "picture of test error against m", cli.Pictures...)
	fs.OutputVar(&s.bands, "bands", "", "picture of the photograph with its predictions and bands", ".png")
	fs.BoolVar(&s.table, "table", "also print the error and the time of every method and size")
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return err
	}
	src := exprand.NewSource(s.seed)
	points, err := s.points(src).run(s.draws, src)
	if err != nil {
		return err
	}
	images, err := s.pictures(src).run(s.draws, src)
	if err != nil {
		return err
	}
	if err := s.report(stdout, points, images); err != nil {
		return err
	}
	if err := cli.Save(stdout, "picture of test error against the number of features", s.plot, picture(points, images).Save); err != nil {
		return err
	}
	return s.portray(stdout, stderr, src)
}

// portray fits the photograph, reports and draws it.
func (s settings) portray(stdout, stderr io.Writer, src rand.Source) error {
	p, err := openPhoto(s.photo)
	if err != nil {
		return err
	}
	bar := progress.New(stderr, len(smoothness)*len(lengthScaleParts), "photograph")
	o, err := p.fit(context.Background(), s.pixels, s.frequencies, bar.Step, src)
	bar.Close()
	if err != nil {
		return err
	}
	if err := o.report(stdout, s.frequencies, s.table); err != nil {
		return err
	}
	return cli.Save(stdout, "picture of the photograph with bands", s.bands, o.save)
}

// points returns the task of fitting points.
func (s settings) points(src rand.Source) task {
	k := kernels.Gaussian{LengthScale: s.lengthScale}
	t := task{train: draw(s.train, src), test: draw(s.test, src), kernel: k, lambda: s.lambda, by: methods(s.lambda)}
	t.draw = func(by method, m int, src rand.Source) (rff.Map[float64], error) {
		return by.draw(m, t.train.x, k, src)
	}
	return t
}

// pictures returns the task of fitting images.
func (s settings) pictures(src rand.Source) task {
	k := kernels.Gaussian{LengthScale: s.patchScale}
	all := methods(s.imageLambda)
	t := task{
		train: drawImages(s.images, src), test: drawImages(s.imageTest, src), kernel: imageKernel(k), lambda: s.imageLambda,
		by: []method{all[1], all[4]},
	}
	t.draw = func(by method, m int, src rand.Source) (rff.Map[float64], error) {
		return imageMap(by, m, t.train.x, k, src)
	}
	return t
}
