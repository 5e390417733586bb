package decoder

import (
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
)

// layerNorm subtracts the mean of a row, divides by its standard deviation, and multiplies columns
// by learnt gains and adds learnt offsets [Ba et al. 2016]:
//
//	y_ij = g_j·z_ij + b_j,  z_ij = (x_ij − μ_i)·s_i,  s_i = 1/√(Σ_j (x_ij − μ_i)²/d + ε)
type layerNorm[T dense.Float] struct {
	gain, offset *Parameter[T] // 1×d
	epsilon      float64
	scales       []T // s_i
	z, y, dx     buffer[T]
	sum          buffer[T]
}

func newLayerNorm[T dense.Float](d int, epsilon float64) *layerNorm[T] {
	return &layerNorm[T]{gain: newGain[T](d, 1), offset: newGain[T](d, 0), epsilon: epsilon}
}

func (n *layerNorm[T]) forward(x dense.Matrix[T]) dense.Matrix[T] {
	n.scales = n.sum.shape(1, x.Rows).Data
	y, z := n.y.shape(x.Rows, x.Cols), n.z.shape(x.Rows, x.Cols)
	ranges(x.Rows, rowGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			var mean T
			for _, v := range x.Row(i) {
				mean += v
			}
			mean /= T(x.Cols)
			to := z.Row(i)
			for j, v := range x.Row(i) {
				to[j] = v - mean
			}
			s := T(1 / math.Sqrt(squaredNorm(to)/float64(x.Cols)+n.epsilon))
			n.scales[i] = s
			for j, v := range to {
				to[j] = v * s
				y.Set(i, j, to[j]*n.gain.Value.Data[j]+n.offset.Value.Data[j])
			}
		}
	})
	return y
}

// backward is, with u_ij = g_j·dy_ij,
//
//	dx_ij = s_i·(u_ij − Σ_l u_il/d − z_ij·Σ_l u_il·z_il/d),  dg_j = Σ_i dy_ij·z_ij,  db_j = Σ_i dy_ij
func (n *layerNorm[T]) backward(dy dense.Matrix[T]) dense.Matrix[T] {
	dx, z := n.dx.shape(dy.Rows, dy.Cols), n.z.shape(dy.Rows, dy.Cols)
	clear(n.gain.Gradient.Data)
	clear(n.offset.Gradient.Data)
	for i := range dy.Rows {
		to, z := dx.Row(i), z.Row(i)
		var mean, along T
		for j, d := range dy.Row(i) {
			to[j] = d * n.gain.Value.Data[j]
			mean += to[j] / T(dy.Cols)
			along += to[j] * z[j] / T(dy.Cols)
			n.gain.Gradient.Data[j] += d * z[j]
			n.offset.Gradient.Data[j] += d
		}
		for j, u := range to {
			to[j] = n.scales[i] * (u - mean - z[j]*along)
		}
	}
	return dx
}

func (n *layerNorm[T]) parameters() []*Parameter[T] { return []*Parameter[T]{n.gain, n.offset} }

// gelu is the inner layer of GPT-2, y = f(x·W_uᵀ + b_u)·W_dᵀ + b_d, with the approximation of the
// Gaussian error linear unit [Hendrycks & Gimpel 2016]
//
//	f(x) = ½·x·(1 + tanh c(x)),  c(x) = √(2/π)·(x + 0.044715·x³)
type gelu[T dense.Float] struct {
	up, down *linear[T]
	x        dense.Matrix[T] // after up
	y, dx    buffer[T]
}

func newGELU[T dense.Float](d, inner int, scale float64, src rand.Source) *gelu[T] {
	return &gelu[T]{up: newLinear[T](d, inner, true, 1, src), down: newLinear[T](inner, d, true, scale, src)}
}

const geluCube = 0.044715

var geluScale = math.Sqrt(2 / math.Pi)

func (g *gelu[T]) forward(x dense.Matrix[T]) dense.Matrix[T] {
	g.x = g.up.forward(x)
	y := g.y.shape(g.x.Rows, g.x.Cols)
	ranges(len(y.Data), elementGrain, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			v := float64(g.x.Data[j])
			y.Data[j] = T(v / 2 * (1 + math.Tanh(geluScale*(v+geluCube*v*v*v))))
		}
	})
	return g.down.forward(y)
}

// backward takes f'(x) = ½·(1 + t) + ½·x·(1 − t²)·c'(x) with t = tanh c(x).
func (g *gelu[T]) backward(dy dense.Matrix[T]) dense.Matrix[T] {
	dy = g.down.backward(dy)
	dx := g.dx.shape(dy.Rows, dy.Cols)
	ranges(len(dx.Data), elementGrain, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			v := float64(g.x.Data[j])
			t := math.Tanh(geluScale * (v + geluCube*v*v*v))
			slope := (1+t)/2 + v/2*(1-t*t)*geluScale*(1+3*geluCube*v*v)
			dx.Data[j] = T(slope) * dy.Data[j]
		}
	})
	return g.up.backward(dx)
}

func (g *gelu[T]) parameters() []*Parameter[T] {
	return append(g.up.parameters(), g.down.parameters()...)
}
