package main

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// maximum is the largest value of truth. truth takes it at three points.
var maximum = -math.Log1p(0.39788735772973816)

// truth is −log(1 + b) for Branin's function b [Branin 1972] on the unit square, which stands for
// [−5, 10]×[0, 15]. Without the logarithm, large values at the edges would hide the three maxima.
func truth(u, v float64) float64 {
	x, y := 15*u-5, 15*v
	a := y - 5.1/(4*math.Pi*math.Pi)*x*x + 5/math.Pi*x - 6
	return -math.Log1p(a*a + 10*(1-1/(8*math.Pi))*math.Cos(x) + 10)
}

// history has the evaluations and the fits of a search.
type history struct {
	x, y  dense.Matrix[float64] // points and noisy values, of which the first n are evaluated
	n     int
	fits  []fitted // before each evaluation, and after the last
	model *ridge.Model[float64]
}

// fitted has the parameters of a fit.
type fitted struct{ lengthScale, noise float64 }

// lengthScales are the tried length-scales, in units of the side of the square.
var lengthScales = []float64{0.1, 0.15, 0.2, 0.3, 0.4, 0.6}

// maximise runs the search.
func (s settings) maximise(src rand.Source) (*history, error) {
	rng := rand.New(src)
	w, err := orf.Draw[float64](orf.GramSchmidt{}, s.frequencies, 2, src)
	if err != nil {
		return nil, err
	}
	var maps []rff.Map[float64]
	for _, l := range lengthScales {
		phi, err := rff.Gaussian(w, l)
		if err != nil {
			return nil, err
		}
		maps = append(maps, phi)
	}
	h := &history{x: dense.New[float64](s.evaluations, 2), y: dense.New[float64](s.evaluations, 1)}
	evaluate := func(u, v float64) {
		copy(h.x.Row(h.n), []float64{u, v})
		h.y.Set(h.n, 0, truth(u, v)+s.noise*rng.NormFloat64())
		h.n++
	}
	for range s.start {
		evaluate(rng.Float64(), rng.Float64())
	}
	if err := h.fit(maps); err != nil {
		return nil, err
	}
	candidates := dense.New[float64](s.candidates, 2)
	for h.n < s.evaluations {
		draw, err := h.model.Pathwise(h.x.RowRange(0, h.n), h.y.RowRange(0, h.n), nil, 1, 0, src)
		if err != nil {
			return nil, err
		}
		for i := range candidates.Data {
			candidates.Data[i] = rng.Float64()
		}
		at := candidates.Row(floats.MaxIdx(draw.Eval(dense.Matrix[float64]{}, candidates).Data))
		evaluate(at[0], at[1])
		if err := h.fit(maps); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// fit fits the map of largest evidence to all evaluations.
func (h *history) fit(maps []rff.Map[float64]) error {
	rows := ridge.Block[float64]{X: h.x.RowRange(0, h.n), Y: h.y.RowRange(0, h.n)}
	s, err := ridge.Choose(context.Background(), maps, rows, ridge.ChooseOptions{})
	if err != nil {
		return err
	}
	h.model = s.Model
	h.fits = append(h.fits, fitted{lengthScales[s.Best], math.Sqrt(s.Model.Noise()[0])})
	return nil
}

// best returns the largest value of truth at the first n points.
func (h *history) best(n int) float64 {
	best := math.Inf(-1)
	for i := range n {
		best = math.Max(best, truth(h.x.At(i, 0), h.x.At(i, 1)))
	}
	return best
}

// randomSearch returns the mean best value of random searches after each number of evaluations.
func randomSearch(evaluations int, src rand.Source) []float64 {
	rng := rand.New(src)
	mean := make([]float64, evaluations)
	for range peers {
		best := math.Inf(-1)
		for i := range mean {
			best = math.Max(best, truth(rng.Float64(), rng.Float64()))
			mean[i] += best / peers
		}
	}
	return mean
}
