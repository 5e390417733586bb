package decoder

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
)

// Parameter is a matrix to be learnt and the gradient with respect to it.
type Parameter[T dense.Float] struct {
	Value, Gradient dense.Matrix[T]
	Decays          bool // whether weight decay pulls the matrix to zero
}

// newParameter returns a parameter with entries N(0, sigma²).
func newParameter[T dense.Float](rows, cols int, sigma float64, src rand.Source) *Parameter[T] {
	p := &Parameter[T]{Value: dense.New[T](rows, cols), Gradient: dense.New[T](rows, cols), Decays: true}
	normal := distuv.Normal{Sigma: sigma, Src: src}
	for i := range p.Value.Data {
		p.Value.Data[i] = T(normal.Rand())
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

// linear is y = x·Wᵀ.
type linear[T dense.Float] struct {
	weight *Parameter[T] // out×in
	x      dense.Matrix[T]
	y, dx  buffer[T]
}

// newLinear returns a linear layer. The variance of its outputs is scale² times the variance of its
// inputs.
func newLinear[T dense.Float](in, out int, scale float64, src rand.Source) *linear[T] {
	return &linear[T]{weight: newParameter[T](out, in, scale/math.Sqrt(float64(in)), src)}
}

func (l *linear[T]) forward(x dense.Matrix[T]) dense.Matrix[T] {
	l.x = x
	y := l.y.shape(x.Rows, l.weight.Value.Rows)
	multiply(y, x, blas.NoTrans, l.weight.Value, blas.Trans)
	return y
}

func (l *linear[T]) backward(dy dense.Matrix[T]) dense.Matrix[T] {
	multiply(l.weight.Gradient, dy, blas.Trans, l.x, blas.NoTrans)
	dx := l.dx.shape(l.x.Rows, l.x.Cols)
	multiply(dx, dy, blas.NoTrans, l.weight.Value, blas.NoTrans)
	return dx
}

// rmsNorm divides rows by their root mean square and multiplies columns by learnt gains [Zhang &
// Sennrich 2019]:
//
//	y_ij = g_j·x_ij·s_i,  s_i = 1/√(Σ_j x_ij²/d + ε)
type rmsNorm[T dense.Float] struct {
	gain       *Parameter[T] // 1×d
	epsilon    float64
	x          dense.Matrix[T]
	scales     []T // s_i
	y, dx, sum buffer[T]
}

func newRMSNorm[T dense.Float](c Config) *rmsNorm[T] {
	gain := &Parameter[T]{Value: dense.New[T](1, c.Width), Gradient: dense.New[T](1, c.Width)}
	for j := range gain.Value.Data {
		gain.Value.Data[j] = 1
	}
	return &rmsNorm[T]{gain: gain, epsilon: c.Epsilon}
}

func (n *rmsNorm[T]) forward(x dense.Matrix[T]) dense.Matrix[T] {
	n.x = x
	n.scales = n.sum.shape(1, x.Rows).Data
	y := n.y.shape(x.Rows, x.Cols)
	ranges(x.Rows, rowGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x := x.Row(i)
			s := T(1 / math.Sqrt(squaredNorm(x)/float64(len(x))+n.epsilon))
			n.scales[i] = s
			to, gain := y.Row(i)[:len(x)], n.gain.Value.Data[:len(x)]
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
func (n *rmsNorm[T]) backward(dy dense.Matrix[T]) dense.Matrix[T] {
	dx := n.dx.shape(dy.Rows, dy.Cols)
	ranges(dy.Rows, rowGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dy, s := dy.Row(i), n.scales[i]
			to, x, gain := dx.Row(i)[:len(dy)], n.x.Row(i)[:len(dy)], n.gain.Value.Data[:len(dy)]
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
	clear(n.gain.Gradient.Data)
	for i := range dy.Rows {
		dy, s := dy.Row(i), n.scales[i]
		x, sum := n.x.Row(i)[:len(dy)], n.gain.Gradient.Data[:len(dy)]
		for j, d := range dy {
			sum[j] += d * x[j] * s
		}
	}
	return dx
}
