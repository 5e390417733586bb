package main

import (
	"image/color"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/internal/laws"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// law is the exact mean squared error with m frequencies.
type law func(x, y []float64, m int) float64

// estimator is a kernel, its features over any projection, and the laws of the
// projections that have one.
type estimator struct {
	name, title string
	features    func(w orf.Projection[float64]) (rff.Map[float64], error)
	laws        map[string]law
}

const (
	iid         = "iid"
	gramSchmidt = "Gram–Schmidt"
	hadamard    = "Hadamard"
	givens      = "Givens"
)

// projection is a way to draw frequencies. The first of projections is what the
// others are compared with.
type projection struct {
	name  string
	draw  orf.Constructor[float64]
	color color.Color
}

// The colours are told apart by the colour-blind (Okabe & Ito 2008).
var projections = []projection{
	{iid, with(orf.IID[float64]), color.RGBA{R: 0, G: 0, B: 0, A: 255}},
	{gramSchmidt, with(orf.GramSchmidt[float64]), color.RGBA{R: 0, G: 114, B: 178, A: 255}},
	{hadamard, with(orf.Hadamard[float64]), color.RGBA{R: 213, G: 94, B: 0, A: 255}},
	{givens, with(orf.Givens[float64]), color.RGBA{R: 0, G: 158, B: 115, A: 255}},
}

// with makes a constructor of one that takes options, with the defaults.
func with(f func(m, d int, src rand.Source, opts ...orf.Option) (orf.Projection[float64], error)) orf.Constructor[float64] {
	return func(m, d int, src rand.Source) (orf.Projection[float64], error) { return f(m, d, src) }
}

var estimators = []estimator{
	{
		"gaussian", "Gaussian kernel exp(−‖x−y‖²/2), features [cos, sin]",
		func(w orf.Projection[float64]) (rff.Map[float64], error) { return rff.Gaussian(w, 1) },
		map[string]law{iid: laws.GaussianIID, gramSchmidt: laws.GaussianORF},
	},
	{
		"softmax-positive", "softmax kernel exp(xᵀy), positive features",
		func(w orf.Projection[float64]) (rff.Map[float64], error) { return rff.SoftmaxPositive(w, 1) },
		map[string]law{iid: laws.SoftmaxPositiveIID, gramSchmidt: laws.SoftmaxPositiveORF},
	},
	{
		"softmax-hyperbolic", "softmax kernel exp(xᵀy), hyperbolic features",
		func(w orf.Projection[float64]) (rff.Map[float64], error) { return rff.SoftmaxHyperbolic(w, 1) },
		map[string]law{iid: laws.SoftmaxHyperbolicIID, gramSchmidt: laws.SoftmaxHyperbolicORF},
	},
	{
		"softmax-trig", "softmax kernel exp(xᵀy), features [cos, sin]",
		func(w orf.Projection[float64]) (rff.Map[float64], error) { return rff.SoftmaxTrig(w, 1) },
		map[string]law{iid: laws.SoftmaxTrigIID, gramSchmidt: laws.SoftmaxTrigORF},
	},
	{
		"dot", "dot product xᵀy, linear features",
		func(w orf.Projection[float64]) (rff.Map[float64], error) { return rff.DotProduct(w) },
		map[string]law{
			iid: laws.DotProductIID, gramSchmidt: laws.DotProductORF,
			hadamard: func(x, y []float64, m int) float64 { return laws.DotProductHadamard(x, y, m, 3, laws.Chi) },
			givens: func(x, y []float64, m int) float64 {
				d := float64(len(x))
				return laws.DotProductGivens(x, y, m, int(math.Ceil(d*math.Log2(d))), laws.Chi)
			},
		},
	},
	{
		"angular", "angular kernel 1 − 2θ/π, features sign",
		func(w orf.Projection[float64]) (rff.Map[float64], error) { return rff.Angular(w) },
		map[string]law{iid: laws.AngularIID, gramSchmidt: laws.AngularORF},
	},
}

// names returns what -kernel may be.
func names() []string {
	s := make([]string, len(estimators))
	for i, e := range estimators {
		s[i] = e.name
	}
	return s
}
