// Regression fits the brightness of a photograph as a function of the pixel coordinates, with
// random features of several kernels. It predicts the other pixels with bands of 90 %.
//
// A Gaussian process with n points solves an n×n system. With D features it is a Bayesian linear
// regression on the features. The evidence of the points chooses length-scale, noise and variance.
package main

import (
	"context"
	"io"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
)

const about = `regression fits the brightness of a photograph as a function of the place, and predicts it with bands of 90 %.

It takes a photograph, which the Go distribution ships for its tests of package image, and draws pixels of it at random. A
Gaussian process on random features, 2m from m frequencies (Gram–Schmidt), is fitted to them, for four kernels: Matérn's of
three orders and their limit, the Gaussian kernel. The length-scale (of four), the noise and the variance of each kernel are
those of the most evidence. The other pixels tell the error and how many are within their bands.`

func main() { cli.Main("regression", run) }

func run(args []string, stdout io.Writer) error {
	var path, picture string
	var pixels, frequencies int
	var seed uint64
	fs := cli.NewFlags("regression")
	fs.InputVar(&path, "photo", "", "file", "photograph, .png or .jpeg, to use for the one that ships with Go")
	fs.IntVar(&pixels, "pixels", 4000, 2, morePixels, "pixels of the photograph to fit")
	// Regression holds the square of twice the frequencies.
	fs.IntVar(&frequencies, "frequencies", 512, 1, 2048, "frequencies m of the features")
	fs.Uint64Var(&seed, "seed", 1, "seed of all randomness; the same seed gives the same errors")
	fs.OutputVar(&picture, "bands", "", "picture of the photograph with its predictions and bands", ".png")
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return err
	}
	p, err := openPhoto(path)
	if err != nil {
		return err
	}
	o, err := p.fit(context.Background(), pixels, frequencies, exprand.NewSource(seed))
	if err != nil {
		return err
	}
	if err := o.report(stdout, frequencies); err != nil {
		return err
	}
	return cli.Save(stdout, "picture of the photograph with bands", picture, o.save)
}
