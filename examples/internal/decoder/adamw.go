package decoder

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// AdamW is stochastic gradient descent. Its steps are relative to the root mean square of past
// gradients [Loshchilov & Hutter 2019]. With g scaled to a length of at most Clip over all
// parameters,
//
//	m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²
//	w ← w − rate·(m̂/(√v̂ + ε) + Decay·w),  m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ)
type AdamW[T dense.Float] struct {
	parameters    []*Parameter[T]
	first, second [][]T // m and v
	steps         int   // t
}

const (
	beta1, beta2 = 0.9, 0.95
	adamEpsilon  = 1e-8
	decay        = 0.1
	clip         = 1.0
)

// NewAdamW returns the method for the given parameters.
func NewAdamW[T dense.Float](parameters []*Parameter[T]) *AdamW[T] {
	a := &AdamW[T]{parameters: parameters}
	for _, p := range parameters {
		a.first = append(a.first, make([]T, len(p.Value.Data)))
		a.second = append(a.second, make([]T, len(p.Value.Data)))
	}
	return a
}

// Step takes one step along the gradients of the parameters, and returns the length of the gradient
// before it was clipped.
func (a *AdamW[T]) Step(rate float64) float64 {
	a.steps++
	var square float64
	for _, p := range a.parameters {
		square += squaredNorm(p.Gradient.Data)
	}
	norm := math.Sqrt(square)
	scale := T(clip / max(clip, norm))
	for i, p := range a.parameters {
		ranges(len(p.Value.Data), elementGrain, func(lo, hi int) {
			a.update(p, a.first[i], a.second[i], lo, hi, scale, rate)
		})
	}
	return norm
}

// update is the step of the elements lo ≤ j < hi of one parameter.
func (a *AdamW[T]) update(p *Parameter[T], first, second []T, lo, hi int, scale T, rate float64) {
	t := float64(a.steps)
	along := T(rate / (1 - math.Pow(beta1, t)))
	size := T(1 / (1 - math.Pow(beta2, t)))
	keep := T(1)
	if p.Decays {
		keep = T(1 - rate*decay)
	}
	w, g, m, v := p.Value.Data[lo:hi], p.Gradient.Data[lo:hi], first[lo:hi], second[lo:hi]
	for j := range w {
		x := scale * g[j]
		m[j] += (1 - beta1) * (x - m[j])
		v[j] += (1 - beta2) * (x*x - v[j])
		w[j] = keep*w[j] - along*m[j]/(T(math.Sqrt(float64(size*v[j])))+adamEpsilon)
	}
}
