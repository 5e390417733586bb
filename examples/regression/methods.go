package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/kmeans"
	"github.com/seed-feabd252/randfeat/landmarks"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// method is a way to draw m random frequencies, or choose m landmarks among x, for a Gaussian
// kernel on the rows of x.
type method struct {
	name string
	draw func(m int, x dense.Matrix[float64], k kernels.Gaussian, src rand.Source) (rff.Map[float64], error)
}

// lloyd is the number of rounds of k-means.
const lloyd = 10

// methods returns all methods; ridge is the ridge λ of the regression.
func methods(ridge float64) []method {
	return []method{
		random("iid", orf.IID{}), random("gram-schmidt", orf.GramSchmidt{}), random("hadamard", orf.Hadamard{}),
		nystroem("uniform landmarks", func(_ kernels.Kernel, x dense.Matrix[float64], m int, src rand.Source) (dense.Matrix[float64], error) {
			return landmarks.Uniform(x, m, src)
		}),
		nystroem("k-means landmarks", func(_ kernels.Kernel, x dense.Matrix[float64], m int, src rand.Source) (dense.Matrix[float64], error) {
			c, err := kmeans.Cluster(context.Background(), x, m, lloyd, kmeans.Options[float64]{}, src)
			return c.Centres, err
		}),
		nystroem("leverage landmarks", func(k kernels.Kernel, x dense.Matrix[float64], m int, src rand.Source) (dense.Matrix[float64], error) {
			return landmarks.Leverage(context.Background(), k, x, m, ridge, src)
		}),
	}
}

func random(name string, frequencies orf.Ensemble) method {
	return method{name, func(m int, x dense.Matrix[float64], k kernels.Gaussian, src rand.Source) (rff.Map[float64], error) {
		w, err := orf.Draw[float64](frequencies, m, x.Cols, src)
		if err != nil {
			return nil, err
		}
		return rff.Gaussian(w, k.LengthScale)
	}}
}

func nystroem(name string, choose func(k kernels.Kernel, x dense.Matrix[float64], m int, src rand.Source) (dense.Matrix[float64], error)) method {
	return method{name, func(m int, x dense.Matrix[float64], k kernels.Gaussian, src rand.Source) (rff.Map[float64], error) {
		landmarks, err := choose(k, x, min(m, x.Rows), src)
		if err != nil {
			return nil, err
		}
		return rff.Nystroem(k, landmarks)
	}}
}

// task is a data set with its kernel.
type task struct {
	train, test data
	kernel      kernels.Kernel
	lambda      float64
	// draw returns a map for the kernel.
	draw func(by method, m int, src rand.Source) (rff.Map[float64], error)
	by   []method
}

// row is a row of the table.
type row struct {
	method      string
	m, features int
	test, exact estimate
	time        time.Duration
}

// outcome is what comes of a task.
type outcome struct {
	exactError float64
	exactTime  time.Duration
	rows       []row
}

// run fits exactly, and with every method and size in each of several draws.
func (t task) run(draws int, src rand.Source) (outcome, error) {
	start := time.Now()
	exact, err := kernelRidge(t.kernel, t.train, t.test.x, t.lambda)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{exactTime: time.Since(start), exactError: rmse(exact, t.test.y)}
	for _, by := range t.by {
		for _, m := range sizes {
			r := row{method: by.name, m: m}
			var fromTest, fromExact []float64
			var taken []time.Duration
			for range draws {
				start := time.Now()
				f, err := t.draw(by, m, src)
				if err != nil {
					return outcome{}, err
				}
				y, err := featureRidge(f, t.train, t.test.x, t.lambda)
				if err != nil {
					return outcome{}, err
				}
				taken = append(taken, time.Since(start))
				fromTest = append(fromTest, rmse(y, t.test.y))
				fromExact = append(fromExact, rmse(y, exact))
				_, r.features = f.Dims()
			}
			slices.Sort(taken)
			r.test, r.exact, r.time = estimateOf(fromTest), estimateOf(fromExact), taken[len(taken)/2]
			o.rows = append(o.rows, r)
		}
	}
	return o, nil
}

// within is the excess over the exact test error, relative to it, that is close enough.
const within = 0.05

// needed returns the row with the smallest m of a method whose test error is close enough to the
// exact error.
func (o outcome) needed(method string) (row, bool) {
	for _, r := range o.rows {
		if r.method == method && r.test.mean <= (1+within)*o.exactError {
			return r, true
		}
	}
	return row{}, false
}

// estimate is a mean over draws and its standard error.
type estimate struct{ mean, stderr float64 }

func estimateOf(x []float64) estimate {
	mean, spread := stat.MeanStdDev(x, nil)
	return estimate{mean, stat.StdErr(spread, float64(len(x)))}
}
