package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/progress"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/multipole"
	"github.com/seed-feabd252/randfeat/rff"
)

// nearby is W of the forms that give the keys near a query exact weights.
const nearby = 64

// formNames are the forms of attention that are compared, at several sizes each.
var formNames = []string{"clusters", "landmarks", "landmarks, corrected", "landmarks, window", "SDERF", "SDERF, window", "FAVOR++", "FAVOR+", "hyperbolic", "trig"}

// names returns the names of the forms that there are: a causal form takes no samples.
func (c *comparison[T]) names() []string {
	if !c.causal {
		return c.forms
	}
	return slices.DeleteFunc(slices.Clone(c.forms), func(name string) bool { return strings.HasSuffix(name, "corrected") })
}

// clusterShare over their number is the threshold of clusters, so that more clusters have more near
// keys.
const clusterShare = 1.5

// fitted makes a form for the tensors of a head.
type fitted[T dense.Float] func(h head[T]) (performer.Form[T], error)

// form draws what a form needs to draw, of a size: landmarks and samples, seeds of clusters, or Gram–Schmidt
// frequencies.
func (c *comparison[T]) form(name string, size int, src rand.Source) (fitted[T], error) {
	base, correction, _ := strings.Cut(name, ", ")
	w, err := frequencies[T]("gram-schmidt", size, c.heads[0].q.Cols, src)
	if err != nil {
		return nil, err
	}
	return func(h head[T]) (performer.Form[T], error) {
		var form performer.Form[T]
		var err error
		switch base {
		case "clusters":
			exact := performer.Exact[T]{Scale: c.scale, Causal: c.causal}
			if !c.causal {
				exact.Bits = 8 // of near keys
			}
			form, err = multipole.New(exact, multipole.Options{Clusters: size, Threshold: clusterShare / float64(size)}, src)
		case "landmarks":
			form, err = performer.NewLandmarks(performer.Exact[T]{Scale: c.scale, Causal: c.causal}, size, src)
		default:
			form, err = c.fit(base, w, h)
		}
		switch {
		case err != nil:
			return nil, err
		case correction == "corrected":
			return performer.NewCorrected(form, performer.CorrectedOptions{Samples: size}, src)
		case correction == "window":
			return performer.NewCorrected(form, performer.CorrectedOptions{Window: nearby}, nil)
		}
		return form, nil
	}, nil
}

// fit returns linear attention with a map that is fitted to a head, if the map can be.
func (c *comparison[T]) fit(name string, w orf.Projection[T], h head[T]) (performer.Form[T], error) {
	var phi rff.Map[T]
	var err error
	switch name {
	case "SDERF":
		phi, err = rff.SDERF(w, h.q, h.k, c.scale)
	case "FAVOR++":
		var a float64
		if a, err = rff.OptimalA(h.q, h.k, c.scale); err == nil {
			phi, err = rff.SoftmaxOptimal(w, c.scale, a)
		}
	case "FAVOR+":
		phi, err = features("positive", w, c.scale)
	default:
		phi, err = features(name, w, c.scale)
	}
	if err != nil {
		return nil, err
	}
	return c.linear(phi)
}

// formRow is a measured form of a size, 0 for forms that have none.
type formRow struct {
	name        string
	size        int
	err, stderr float64
	time        time.Duration // 0 if it was not measured
}

// measureForms returns the error and the time of all forms and sizes, over draws of landmarks or
// frequencies.
func (c *comparison[T]) measureForms(sizes []int, bar progress.Bar) ([]formRow, error) {
	var rows []formRow
	for _, name := range c.names() {
		for _, size := range sizes {
			src := source(c.seed, fmt.Sprintf("%s %d", name, size))
			var errors []float64
			var times []time.Duration
			for range c.draws {
				fit, err := c.form(name, size, src)
				if err != nil {
					return nil, err
				}
				out := make([]dense.Matrix[T], len(c.heads))
				start := time.Now()
				for i, h := range c.heads {
					form, err := fit(h)
					if err != nil {
						return nil, err
					}
					out[i] = form.Forward(dense.Matrix[T]{}, h.q, h.k, h.v)
				}
				times = append(times, time.Since(start))
				errors = append(errors, distance(out, c.exact))
				bar.Step()
			}
			mean, spread := stat.MeanStdDev(errors, nil)
			rows = append(rows, formRow{name: name, size: size, err: mean, stderr: stat.StdErr(spread, float64(len(errors))), time: median(times)})
		}
	}
	return rows, nil
}
