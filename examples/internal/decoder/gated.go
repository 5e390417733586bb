package decoder

import (
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
)

// gated is the inner layer of Llama, SwiGLU [Shazeer 2020]:
//
//	y = (silu(x·W_gᵀ) ⊙ x·W_uᵀ)·W_dᵀ,  silu(g) = g·σ(g),  σ(g) = 1/(1 + exp(−g))
type gated[T dense.Float] struct {
	in                  *linear[T] // W_g above W_u
	down                *linear[T] // W_d
	gateUp              dense.Matrix[T]
	sigma, mix, dGateUp buffer[T]
}

func newGated[T dense.Float](c Config, scale float64, src rand.Source) *gated[T] {
	return &gated[T]{
		in:   newLinear[T](c.Width, 2*c.Inner, 1, src),
		down: newLinear[T](c.Inner, c.Width, scale, src),
	}
}

func (g *gated[T]) forward(x dense.Matrix[T]) dense.Matrix[T] {
	g.gateUp = g.in.forward(x)
	n := g.gateUp.Cols / 2
	sigma, mix := g.sigma.shape(x.Rows, n), g.mix.shape(x.Rows, n)
	ranges(x.Rows, rowGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			gate, up := g.gateUp.Row(i)[:n], g.gateUp.Row(i)[n:][:n]
			s, to := sigma.Row(i)[:n], mix.Row(i)[:n]
			for j, v := range gate {
				s[j] = -v
			}
			exps(s, s)
			for j, e := range s {
				s[j] = 1 / (1 + e)
				to[j] = gate[j] * s[j] * up[j]
			}
		}
	})
	return g.down.forward(mix)
}

// backward takes silu'(g) = σ·(1 + g·(1 − σ)).
func (g *gated[T]) backward(dy dense.Matrix[T]) dense.Matrix[T] {
	dMix := g.down.backward(dy)
	n := dMix.Cols
	sigma, d := g.sigma.shape(dy.Rows, n), g.dGateUp.shape(dy.Rows, 2*n)
	ranges(dy.Rows, rowGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			gate, up, s := g.gateUp.Row(i)[:n], g.gateUp.Row(i)[n:][:n], sigma.Row(i)[:n]
			dGate, dUp := d.Row(i)[:n], d.Row(i)[n:][:n]
			for j, dm := range dMix.Row(i)[:n] {
				dUp[j] = dm * gate[j] * s[j]
				dGate[j] = dm * up[j] * s[j] * (1 + gate[j]*(1-s[j]))
			}
		}
	})
	return g.in.backward(d)
}
