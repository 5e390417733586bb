package main

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
)

// layer is a differentiable function of rows with parameters. One layer works on one batch at a
// time.
type layer[T dense.Float] interface {
	// forward returns the outputs for x, in memory of the layer that the next call overwrites. x
	// has to stay as it is until backward has been called.
	forward(x dense.Matrix[T]) dense.Matrix[T]

	// backward takes the gradient with respect to the last outputs. It writes the gradients with
	// respect to the parameters, and returns the gradient with respect to x, in memory of the layer
	// too.
	backward(dout dense.Matrix[T]) dense.Matrix[T]

	parameters() []*parameter[T]
}

// parameter is a matrix to be learnt and the gradient with respect to it.
type parameter[T dense.Float] struct {
	value, gradient dense.Matrix[T]
	decays          bool // whether weight decay pulls it to zero
}

// newParameter returns a parameter with entries N(0, sigma²).
func newParameter[T dense.Float](rows, cols int, sigma float64, src rand.Source) *parameter[T] {
	p := &parameter[T]{value: dense.New[T](rows, cols), gradient: dense.New[T](rows, cols), decays: true}
	normal := distuv.Normal{Sigma: sigma, Src: src}
	for i := range p.value.Data {
		p.value.Data[i] = T(normal.Rand())
	}
	return p
}

// buffer is memory that is kept from batch to batch.
type buffer[T dense.Float] struct{ data []T }

// shape returns the buffer as an r×c matrix of any content.
func (b *buffer[T]) shape(r, c int) dense.Matrix[T] {
	if len(b.data) < r*c {
		b.data = make([]T, r*c)
	}
	return dense.Of(r, c, b.data[:r*c])
}

// linear is y = x·W.
type linear[T dense.Float] struct {
	weight *parameter[T] // in×out
	x      dense.Matrix[T]
	y, dx  buffer[T]
}

// newLinear returns a linear layer. The variance of its outputs is scale² times the variance of its
// inputs.
func newLinear[T dense.Float](in, out int, scale float64, src rand.Source) *linear[T] {
	return &linear[T]{weight: newParameter[T](in, out, scale/math.Sqrt(float64(in)), src)}
}

func (l *linear[T]) forward(x dense.Matrix[T]) dense.Matrix[T] {
	l.x = x
	y := l.y.shape(x.Rows, l.weight.value.Cols)
	multiply(y, x, blas.NoTrans, l.weight.value, blas.NoTrans)
	return y
}

func (l *linear[T]) backward(dy dense.Matrix[T]) dense.Matrix[T] {
	multiply(l.weight.gradient, l.x, blas.Trans, dy, blas.NoTrans)
	dx := l.dx.shape(l.x.Rows, l.x.Cols)
	multiply(dx, dy, blas.NoTrans, l.weight.value, blas.Trans)
	return dx
}

func (l *linear[T]) parameters() []*parameter[T] { return []*parameter[T]{l.weight} }

// norm divides rows by their root mean square and multiplies columns by learnt gains [Zhang &
// Sennrich 2019]:
//
//	y_ij = g_j·x_ij·s_i,  s_i = 1/√(Σ_j x_ij²/d + ε)
type norm[T dense.Float] struct {
	gain       *parameter[T] // 1×d
	x          dense.Matrix[T]
	scales     []T // s_i
	y, dx, sum buffer[T]
}

const normEpsilon = 1e-5

func newNorm[T dense.Float](d int) *norm[T] {
	gain := &parameter[T]{value: dense.New[T](1, d), gradient: dense.New[T](1, d)}
	for i := range gain.value.Data {
		gain.value.Data[i] = 1
	}
	return &norm[T]{gain: gain}
}

func (n *norm[T]) forward(x dense.Matrix[T]) dense.Matrix[T] {
	n.x = x
	n.scales = n.sum.shape(1, x.Rows).Data
	y := n.y.shape(x.Rows, x.Cols)
	ranges(x.Rows, rowGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x := x.Row(i)
			s := T(1 / math.Sqrt(squaredNorm(x)/float64(len(x))+normEpsilon))
			n.scales[i] = s
			to, gain := y.Row(i)[:len(x)], n.gain.value.Data[:len(x)]
			for j, v := range x {
				to[j] = v * s * gain[j]
			}
		}
	})
	return y
}

// backward is, with u_ij = g_j·dy_ij,
//
//	dx_ij = s_i·(u_ij − x_ij·s_i²·Σ_l u_il·x_il/d),  dg_j = Σ_i dy_ij·x_ij·s_i
func (n *norm[T]) backward(dy dense.Matrix[T]) dense.Matrix[T] {
	dx := n.dx.shape(dy.Rows, dy.Cols)
	ranges(dy.Rows, rowGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dy, s := dy.Row(i), n.scales[i]
			to, x, gain := dx.Row(i)[:len(dy)], n.x.Row(i)[:len(dy)], n.gain.value.Data[:len(dy)]
			var dot T
			for j, d := range dy {
				to[j] = d * gain[j]
				dot += to[j] * x[j]
			}
			along := s * s * s * dot / T(len(dy))
			for j, u := range to {
				to[j] = u*s - x[j]*along
			}
		}
	})
	clear(n.gain.gradient.Data)
	for i := range dy.Rows {
		dy, s := dy.Row(i), n.scales[i]
		x, sum := n.x.Row(i)[:len(dy)], n.gain.gradient.Data[:len(dy)]
		for j, d := range dy {
			sum[j] += d * x[j] * s
		}
	}
	return dx
}

func (n *norm[T]) parameters() []*parameter[T] { return []*parameter[T]{n.gain} }

// squaredReLU is y = max(x, 0)² [So et al. 2021], which has a continuous derivative.
type squaredReLU[T dense.Float] struct {
	x     dense.Matrix[T]
	y, dx buffer[T]
}

func (r *squaredReLU[T]) forward(x dense.Matrix[T]) dense.Matrix[T] {
	r.x = x
	y := r.y.shape(x.Rows, x.Cols)
	ranges(len(x.Data), elementGrain, func(lo, hi int) {
		x := x.Data[lo:hi]
		y := y.Data[lo:hi][:len(x)]
		for j, v := range x {
			v = max(v, 0)
			y[j] = v * v
		}
	})
	return y
}

func (r *squaredReLU[T]) backward(dy dense.Matrix[T]) dense.Matrix[T] {
	dx := r.dx.shape(dy.Rows, dy.Cols)
	ranges(len(dy.Data), elementGrain, func(lo, hi int) {
		dy := dy.Data[lo:hi]
		x, dx := r.x.Data[lo:hi][:len(dy)], dx.Data[lo:hi][:len(dy)]
		for j, d := range dy {
			dx[j] = 2 * d * max(x[j], 0)
		}
	})
	return dx
}

func (r *squaredReLU[T]) parameters() []*parameter[T] { return nil }
