package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/blocks"
	"github.com/seed-feabd252/randfeat/rff"
)

var formNames = []string{"blocks", "SDERF", "FAVOR+"}

// keyShare divided by the size is the threshold of blocks.Options, at most mostThreshold: queries
// read more keys if the size is larger.
const keyShare, mostThreshold = 10, 0.7

// The size is keyShare over the threshold of blocks, or the number of the frequencies w.
func (c *comparison) form(name string, size int, w orf.Projection[float32], h head) (performer.Attention[float32], error) {
	spec := rff.Spec(rff.SoftmaxPositive{Scale: c.options.Scale})
	switch name {
	case "blocks":
		return blocks.New[float32](blocks.Options{Softmax: c.options.Softmax, EightBits: true, Threshold: min(keyShare/float64(size), mostThreshold)})
	case "SDERF":
		var err error
		if spec, err = rff.FitSDERF(h.q, h.k, c.options.Scale); err != nil {
			return nil, err
		}
	}
	phi, err := rff.Draw(spec, w)
	if err != nil {
		return nil, err
	}
	return performer.NewLinear(phi, performer.LinearOptions{Causal: c.causal})
}

// The size is 0 for forms without a size.
type row struct {
	name        string
	size        int
	err, stderr float64
	time        time.Duration // 0 if not measured
}

func (c *comparison) measure() error {
	for _, name := range formNames {
		for _, size := range c.sizes {
			src := source(c.seed, fmt.Sprintf("%s %d", name, size))
			var errors []float64
			var times []time.Duration
			for range c.draws {
				w, err := orf.Draw[float32](orf.GramSchmidt{}, size, c.heads[0].q.Cols, src)
				if err != nil {
					return err
				}
				out, took, err := c.forward(func(h head) (performer.Attention[float32], error) { return c.form(name, size, w, h) })
				if err != nil {
					return err
				}
				times = append(times, took)
				errors = append(errors, matrices.Distance(out, c.exact))
			}
			mean, spread := stat.MeanStdDev(errors, nil)
			c.rows = append(c.rows, row{name: name, size: size, err: mean, stderr: stat.StdErr(spread, float64(len(errors))), time: median(times)})
		}
	}
	return nil
}

func source(seed uint64, purpose string) rand.Source {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", seed, purpose)
	return exprand.NewSource(h.Sum64())
}
