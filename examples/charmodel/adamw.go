package main

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// adamW is stochastic gradient descent. Its steps are relative to the root mean square of past
// gradients [Loshchilov & Hutter 2019]. With g scaled to a length of at most clip over all
// parameters,
//
//	m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²
//	w ← w − rate·(m̂/(√v̂ + ε) + decay·w),  m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ)
type adamW[T dense.Float] struct {
	parameters    []*parameter[T]
	first, second [][]T // m and v
	steps         int   // t
}

const (
	beta1, beta2 = 0.9, 0.99
	adamEpsilon  = 1e-8
	decay        = 0.1
	clip         = 1.0
)

func newAdamW[T dense.Float](parameters []*parameter[T]) *adamW[T] {
	a := &adamW[T]{parameters: parameters}
	for _, p := range parameters {
		a.first = append(a.first, make([]T, len(p.value.Data)))
		a.second = append(a.second, make([]T, len(p.value.Data)))
	}
	return a
}

// step takes one step along the gradients of the parameters.
func (a *adamW[T]) step(rate float64) {
	a.steps++
	var square float64
	for _, p := range a.parameters {
		square += squaredNorm(p.gradient.Data)
	}
	scale := T(clip / max(clip, math.Sqrt(square)))
	for i, p := range a.parameters {
		ranges(len(p.value.Data), elementGrain, func(lo, hi int) {
			a.update(p, a.first[i], a.second[i], lo, hi, scale, rate)
		})
	}
}

// update is the step of the elements lo ≤ j < hi of one parameter.
func (a *adamW[T]) update(p *parameter[T], first, second []T, lo, hi int, scale T, rate float64) {
	t := float64(a.steps)
	along := T(rate / (1 - math.Pow(beta1, t)))
	size := T(1 / (1 - math.Pow(beta2, t)))
	keep := T(1)
	if p.decays {
		keep = T(1 - rate*decay)
	}
	w, g, m, v := p.value.Data[lo:hi], p.gradient.Data[lo:hi], first[lo:hi], second[lo:hi]
	for j := range w {
		x := scale * g[j]
		m[j] += (1 - beta1) * (x - m[j])
		v[j] += (1 - beta2) * (x*x - v[j])
		w[j] = keep*w[j] - along*m[j]/(T(math.Sqrt(float64(size*v[j])))+adamEpsilon)
	}
}
