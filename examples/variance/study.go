package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
)

func specsOf(x, y dense.Matrix[float64]) ([]rff.Spec, error) {
	a, err := rff.OptimalA(x, y, 1)
	if err != nil {
		return nil, err
	}
	saderf, err := rff.FitSADERF(x, y, 1)
	if err != nil {
		return nil, err
	}
	sderf, err := rff.FitSDERF(x, y, 1)
	if err != nil {
		return nil, err
	}
	aderf, err := rff.FitADERF(x, y, 1)
	if err != nil {
		return nil, err
	}
	return []rff.Spec{
		rff.Gaussian{LengthScale: 1}, rff.SoftmaxTrig{Scale: 1}, rff.SoftmaxPositive{Scale: 1},
		rff.SoftmaxHyperbolic{Scale: 1}, rff.SoftmaxOptimal{Scale: 1, A: a}, saderf, sderf, aderf,
		rff.DotProduct{}, rff.Angular{}, rff.ArcCosine{},
	}, nil
}

var specNames = []string{
	"Gaussian", "SoftmaxTrig", "SoftmaxPositive",
	"SoftmaxHyperbolic", "SoftmaxOptimal", "SADERF", "SDERF", "ADERF", "DotProduct", "Angular", "ArcCosine",
}

// ensembles are the frequencies. The first of a study are what the others are compared with.
var ensembles = []orf.Ensemble{orf.IID{}, orf.GramSchmidt{}, orf.Simplex{}, orf.Hadamard{}, orf.Givens{}, orf.Halton{}}

func nameOf[E any](e E) string { return reflect.TypeOf(e).Name() }

func namesOf[E any](list []E) (names []string) {
	for _, e := range list {
		names = append(names, nameOf(e))
	}
	return names
}

func pick(flag, list string, known []string) ([]string, error) {
	if list == "" {
		return known, nil
	}
	picked := strings.Split(list, ",")
	for _, name := range picked {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("-%s %s: want some of %s", flag, name, strings.Join(known, ","))
		}
	}
	return picked, nil
}

type measurement struct {
	spec string
	m    int
	validate.Compared
	law float64 // NaN if none is known
}

// z returns the distance of the error from its law in standard errors, or NaN.
func (r measurement) z() float64 {
	if r.MSEStdErr == 0 {
		return math.NaN()
	}
	return (r.MSE - r.law) / r.MSEStdErr
}

// points returns pairs of points: directions uniform on the sphere, all of the same norm.
func (o options) points(rng *rand.Rand) dense.Matrix[float64] {
	p := dense.New[float64](o.pairs, o.d)
	for i := range p.Rows {
		row := p.Row(i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		floats.Scale(o.norm/floats.Norm(row, 2), row)
	}
	return p
}

func (o options) measure(src rand.Source) (rows []measurement, err error) {
	rng := rand.New(src)
	x, y := o.points(rng), o.points(rng)
	specs, err := specsOf(x, y)
	if err != nil {
		return nil, err
	}
	for i, spec := range specs {
		if !slices.Contains(o.maps, specNames[i]) {
			continue
		}
		for _, m := range o.sizes() {
			var methods []validate.Method[float64]
			for _, e := range o.ensembles {
				methods = append(methods, validate.Method[float64]{Name: nameOf(e), Draw: func(src rand.Source) (rff.Map[float64], error) {
					w, err := orf.Draw[float64](e, m, o.d, src)
					if err != nil {
						return nil, err
					}
					return rff.Draw(spec, w)
				}})
			}
			compared, err := validate.Compare(context.Background(), methods, x, y, o.draws, src)
			if err != nil {
				return nil, fmt.Errorf("%s, m = %d: %w", specNames[i], m, err)
			}
			for j, c := range compared.Methods {
				phi, err := methods[j].Draw(src)
				if err != nil {
					return nil, err
				}
				var law float64 // the mean over the pairs
				for l := range x.Rows {
					law += validate.Theory(phi, nil, x.Row(l), y.Row(l)).MSE / float64(x.Rows)
				}
				rows = append(rows, measurement{specNames[i], m, c, law})
			}
		}
	}
	return rows, nil
}
