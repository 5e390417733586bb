package rff

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/residual"
)

func (e *embedding[T]) Residual() residual.Residual[T] { return e }

func (e *embedding[T]) AddResiduals(dst []float64, x, phi dense.Matrix[T], weight float64) {
	checkResiduals(dst, x, phi, e.in, e.out)
	// Features have the rounding of T, and another one for √weight.
	rounding := 8 * vecmath.Roundoff[T]()
	s := e.spaces.Get()
	points := dense.Copy(scratchMatrix(&s.x, x.Rows, e.in), x)
	for i := range points.Rows {
		own, rest := e.kernel.Eval(points.Row(i), points.Row(i)), 0.0
		for _, v := range phi.Row(i) {
			rest += float64(v) * float64(v)
		}
		if rest = weight*own - rest; rest > weight*(e.tolerance+rounding*own) {
			dst[i] += rest
		}
	}
	e.spaces.Put(s)
}

func (c *composed[T]) Residual() residual.Residual[T] {
	if residual.Of[T](c.then) == nil {
		return nil
	}
	return c
}

func (c *composed[T]) AddResiduals(dst []float64, x, phi dense.Matrix[T], weight float64) {
	checkResiduals(dst, x, phi, c.in, c.out)
	s := c.spaces.Get()
	z := scratchMatrix(&s.z, x.Rows, c.first.out)
	c.first.apply(z, x, &s.moved)
	if r := residual.Of[T](c.then); r != nil {
		r.AddResiduals(dst, z, phi, weight)
	}
	c.spaces.Put(s)
}

func (f *sum[T]) Residual() residual.Residual[T] {
	lacks := false
	for i, m := range f.maps {
		if !same(m, Keys(m)) {
			return nil
		}
		lacks = lacks || f.roots[i] != 0 && residual.Of[T](m) != nil
	}
	if !lacks {
		return nil
	}
	return f
}

func (f *sum[T]) AddResiduals(dst []float64, x, phi dense.Matrix[T], weight float64) {
	checkResiduals(dst, x, phi, f.in, f.out)
	for i, m := range f.maps {
		root := float64(f.roots[i])
		if r := residual.Of[T](m); root != 0 && r != nil {
			r.AddResiduals(dst, x, f.part(phi, i), weight*root*root)
		}
	}
}

// Residual returns nil: for a map φ of queries and a map ψ of keys, φ(x)ᵀψ(x) has no bound.
func (f *through[T, S]) Residual() residual.Residual[T] { return nil }

func checkResiduals[T dense.Float](dst []float64, x, phi dense.Matrix[T], in, out int) {
	checkGradient("phi", x, phi, in, out)
	if len(dst) != x.Rows {
		panic(fmt.Sprintf("rff: dst has %d elements, want %d", len(dst), x.Rows))
	}
}
