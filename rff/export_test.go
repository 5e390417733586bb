package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/orf"
)

// Fitting is what SADERF, ADERF and SDERF fit to samples.
type Fitting struct {
	A          float64               // of SADERF and ADERF
	Query, Key dense.Matrix[float64] // what they map points by
	Damping    []float64             // of SDERF
	Basis      dense.Matrix[float64] // its axes, in columns
}

// FitOf returns what the constructor of that name fits.
func FitOf[T dense.Float](name string, w orf.Projection[T], x, y dense.Matrix[T], scale float64) (Fitting, error) {
	f, err := newFit(samples[T]{w, x, y, scale})
	if err != nil {
		return Fitting{}, err
	}
	if name == "SDERF" {
		damping, q, err := f.axes()
		return Fitting{Damping: damping, Basis: gonum.FromMat[float64](q)}, err
	}
	if name == "ADERF" {
		query, key, squares, err := f.mix()
		return Fitting{A: f.damping(squares), Query: gonum.FromMat[float64](query), Key: gonum.FromMat[float64](key)}, err
	}
	psi, squares := f.balance()
	fit := Fitting{A: f.damping(squares), Query: dense.New[float64](f.d, f.d), Key: dense.New[float64](f.d, f.d)}
	for l, v := range psi {
		fit.Query.Set(l, l, v)
		fit.Key.Set(l, l, 1/v)
	}
	return fit, nil
}
