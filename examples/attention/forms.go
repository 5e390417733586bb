package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
	"github.com/seed-feabd252/randfeat/rff"
)

// formNames are the forms of attention that the program compares, each in several sizes.
var formNames = []string{"clusters", "SDERF", "FAVOR++", "FAVOR+", "hyperbolic", "trig"}

// clusterShare divided by the number of clusters is the threshold of clusters.Options. So queries
// score more keys if there are more clusters. Causal attention has an eighth of the number for each
// segment of 256 keys.
const clusterShare = 10

// form returns attention of a size for the tensors of a head. The size is the number of clusters,
// or of the frequencies w. SDERF and FAVOR++ fit their feature maps to the head.
func (c *comparison) form(name string, size int, w orf.Projection[float32], h head, src rand.Source) (performer.Attention[float32], error) {
	var spec rff.Spec
	var err error
	switch name {
	case "clusters":
		o := clusters.Options{Softmax: performer.Softmax{Scale: c.options.Scale, Causal: c.causal}, EightBits: true, Clusters: size, Threshold: clusterShare / float64(size)}
		if c.causal {
			o.Clusters = max(size/8, 1)
		}
		return clusters.New[float32](o, src)
	case "SDERF":
		spec, err = rff.FitSDERF(h.q, h.k, c.options.Scale)
	case "FAVOR++":
		var a float64
		a, err = rff.OptimalA(h.q, h.k, c.options.Scale)
		spec = rff.SoftmaxOptimal{Scale: c.options.Scale, A: a}
	case "FAVOR+":
		spec = rff.SoftmaxPositive{Scale: c.options.Scale}
	case "hyperbolic":
		spec = rff.SoftmaxHyperbolic{Scale: c.options.Scale}
	case "trig":
		spec = rff.SoftmaxTrig{Scale: c.options.Scale}
	}
	if err != nil {
		return nil, err
	}
	phi, err := rff.Draw(spec, w)
	if err != nil {
		return nil, err
	}
	return performer.NewLinear(phi, performer.LinearOptions{Causal: c.causal})
}

// row holds the measurements of a form. The size is 0 for forms without a size.
type row struct {
	name        string
	size        int
	err, stderr float64
	time        time.Duration // 0 if not measured
}

// measureForms returns the mean error and the median time of all forms and sizes, over random draws
// of clusters or frequencies.
func (c *comparison) measureForms() ([]row, error) {
	var rows []row
	for _, name := range c.forms {
		for _, size := range c.sizes {
			src := source(c.seed, fmt.Sprintf("%s %d", name, size))
			var errors []float64
			var times []time.Duration
			for range c.draws {
				w, err := orf.Draw[float32](orf.GramSchmidt{}, size, c.heads[0].q.Cols, src)
				if err != nil {
					return nil, err
				}
				out := make([]dense.Matrix[float32], len(c.heads))
				start := time.Now()
				for i, h := range c.heads {
					form, err := c.form(name, size, w, h, src)
					if err != nil {
						return nil, err
					}
					out[i] = form.Forward(dense.Matrix[float32]{}, h.q, h.k, h.v)
				}
				times = append(times, time.Since(start))
				errors = append(errors, matrices.Distance(out, c.exact))
			}
			mean, spread := stat.MeanStdDev(errors, nil)
			rows = append(rows, row{name: name, size: size, err: mean, stderr: stat.StdErr(spread, float64(len(errors))), time: median(times)})
		}
	}
	return rows, nil
}
