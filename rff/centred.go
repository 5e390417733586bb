package rff

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Centred returns a feature map of the softmax kernel exp(s·xᵀy) that applies phi to x − b for
// queries x and to y − c for keys y, and makes up for b and c by a factor. With φ = phi and ψ =
// Keys(phi), the features of Centred are φ(x − b)·exp(s·(x − b/2)ᵀc) for a query x, and ψ(y −
// c)·exp(s·bᵀ(y − c/2)) for a key y. A nil b or c stands for 0; Centred copies b and c.
//
// Estimates by Centred have the relative error of phi at x − b and y − c, so that b and c should be
// the means of queries and of keys. To fit phi for Centred, as by FitSDERF, subtract these means
// from the samples. The map of Centred is Paired, and is a LogMap, Differentiable,
// DifferentiableLog or unbiased if phi is.
//
// For n points of R^in and out features, Transform of the map of Centred costs O(n·(in + out))
// operations more than that of phi. If phi is no LogMap, the factors in features of Centred
// overflow above e^709.8 (e^88.7 in float32). Centred returns an error for a phi whose kernel is
// not kernels.Softmax.
func Centred[T dense.Float](phi Map[T], b, c []T) (Map[T], error) {
	return build[T](centredRecipe[T]{phi, b, c})
}

type centredRecipe[T dense.Float] struct {
	Phi  Map[T]
	B, C []T
}

func newCentred[T dense.Float](r centredRecipe[T]) (Map[T], error) {
	phi, b, c := r.Phi, r.B, r.C
	if phi == nil {
		return nil, fmt.Errorf("rff: phi is nil, want a map")
	}
	kernel, ok := phi.Kernel().(kernels.Softmax)
	if !ok {
		return nil, fmt.Errorf("rff: phi is a map of the kernel %v, want kernels.Softmax", phi.Kernel())
	}
	if err := kernels.Check(kernel); err != nil {
		return nil, fmt.Errorf("rff: phi: %w", err)
	}
	in, _ := phi.Dims()
	for _, v := range []struct {
		name string
		of   []T
	}{{"b", b}, {"c", c}} {
		if v.of != nil && len(v.of) != in {
			return nil, fmt.Errorf("rff: %s has length %d, want %d", v.name, len(v.of), in)
		}
		if err := argument.FiniteAll("rff: "+v.name, v.of); err != nil {
			return nil, err
		}
	}
	query, key := centre(phi, b, c, kernel), centre(Keys(phi), c, b, kernel)
	return join[T](query, key, centredRecipe[T]{phi, query.own, query.other}), nil
}

// SubtractMean returns the rows of x minus their mean, as a new matrix, and the mean. SubtractMean
// returns an error for an x without rows or with elements that are not finite.
func SubtractMean[T dense.Float](x dense.Matrix[T]) (centred dense.Matrix[T], mean []T, err error) {
	x.Check()
	if x.Rows < 1 {
		return centred, nil, fmt.Errorf("rff: x is %d×%d, want at least one row", x.Rows, x.Cols)
	}
	if err := argument.Finite("rff: x", x); err != nil {
		return centred, nil, err
	}
	sum := make([]float64, x.Cols)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			sum[j] += float64(v) / float64(x.Rows)
		}
	}
	mean = make([]T, x.Cols)
	for j, v := range sum {
		mean[j] = T(v)
	}
	centred = dense.Copy(dense.Matrix[T]{}, x)
	for i := range x.Rows {
		vecmath.AddScaled(centred.Row(i), mean, -1)
	}
	return centred, mean, nil
}

// own is the mean of the points of this side of a pair, and other that of the partners.
func centre[T dense.Float](m Map[T], own, other []T, k kernels.Softmax) *centred[T] {
	in, out := m.Dims()
	f := &centred[T]{own: make([]T, in), other: make([]T, in), scale: k.Gamma, inner: m}
	f.frame = frame{name: fmt.Sprintf("Centred(%v)", m), in: in, out: out, kernel: k}
	f.rows = affineRows
	if f.scale == 0 {
		f.scale = 1
	}
	copy(f.own, own)
	copy(f.other, other)
	wideOwn, wideOther := make([]float64, in), make([]float64, in)
	for j := range in {
		wideOwn[j], wideOther[j] = float64(f.own[j]), float64(f.other[j])
	}
	f.half = vecmath.Dot(wideOwn, wideOther) / 2
	f.law = lawOf(m).Centred(wideOwn, wideOther, f.scale)
	f.transform = f.scaled
	if logs, ok := m.(LogMap[T]); ok {
		f.transform, f.logTransform = f.exponentials, func(s *centredSpace[T], dst, x, _ dense.Matrix[T]) {
			f.logarithms(logs, dst, f.shift(s, x))
		}
	}
	if back, ok := m.(Differentiable[T]); ok {
		f.pull, f.backward = f.pulled(back), back.CanBackward
	}
	if back, ok := m.(DifferentiableLog[T]); ok {
		f.pull = f.pulledLogarithms(back)
		f.logPull = func(s *centredSpace[T], dst, x, g dense.Matrix[T]) { f.pullLogarithms(back, dst, f.shift(s, x), g) }
	}
	return f
}

type centred[T dense.Float] struct {
	through[T, centredSpace[T]]
	inner      Map[T]
	own, other []T
	scale      float64
	half       float64 // ownᵀother/2
}

type centredSpace[T dense.Float] struct{ points, features, slopes []T }

func (f *centred[T]) String() string { return f.name }

func (f *centred[T]) shift(s *centredSpace[T], x dense.Matrix[T]) dense.Matrix[T] {
	z := scratchMatrix(&s.points, x.Rows, x.Cols)
	for i := range x.Rows {
		copy(z.Row(i), x.Row(i))
		vecmath.AddScaled(z.Row(i), f.own, -1)
	}
	return z
}

// logFactor returns s·(x − own/2)ᵀother for z = x − own.
func (f *centred[T]) logFactor(z []T) float64 {
	return f.scale * (float64(vecmath.Dot(z, f.other)) + f.half)
}

func (f *centred[T]) factor(z []T) T { return T(math.Exp(f.logFactor(z))) }

func (f *centred[T]) scaled(s *centredSpace[T], dst, x, _ dense.Matrix[T]) {
	z := f.shift(s, x)
	f.inner.Transform(dst, z)
	for i := range dst.Rows {
		vecmath.Scale(dst.Row(i), f.factor(z.Row(i)))
	}
}

// exponentials is Transform for a block, of a LogMap: φ or the factor alone may be out of range.
func (f *centred[T]) exponentials(s *centredSpace[T], dst, x, g dense.Matrix[T]) {
	f.logTransform(s, dst, x, g)
	for i := range dst.Rows {
		vecmath.Exp(dst.Row(i), dst.Row(i))
	}
}

func (f *centred[T]) logarithms(inner LogMap[T], dst, z dense.Matrix[T]) {
	inner.LogTransform(dst, z)
	for i := range dst.Rows {
		row := dst.Row(i)
		vecmath.Affine(row, row, 1, T(f.logFactor(z.Row(i))))
	}
}

// The derivative of the factor comes with the features.
func (f *centred[T]) pulled(inner Differentiable[T]) blockFunc[T, centredSpace[T]] {
	return func(s *centredSpace[T], dst, x, g dense.Matrix[T]) {
		z, scaled := f.shift(s, x), scratchMatrix(&s.features, g.Rows, g.Cols)
		s.slopes = scratch.Resize(s.slopes, g.Rows)
		inner.Transform(scaled, z)
		for i := range g.Rows {
			row, factor := scaled.Row(i), f.factor(z.Row(i))
			s.slopes[i] = T(f.scale) * factor * vecmath.Dot(row, g.Row(i))
			vecmath.Affine(row, g.Row(i), factor, 0)
		}
		inner.Backward(dst, z, scaled)
		for i := range dst.Rows {
			vecmath.AddScaled(dst.Row(i), f.other, s.slopes[i])
		}
	}
}

func (f *centred[T]) pulledLogarithms(inner DifferentiableLog[T]) blockFunc[T, centredSpace[T]] {
	return func(s *centredSpace[T], dst, x, g dense.Matrix[T]) {
		z, slopes := f.shift(s, x), scratchMatrix(&s.features, g.Rows, g.Cols)
		f.logarithms(inner, slopes, z)
		for i := range g.Rows {
			row := slopes.Row(i)
			vecmath.Exp(row, row)
			vecmath.Multiply(row, g.Row(i))
		}
		f.pullLogarithms(inner, dst, z, slopes)
	}
}

// g has the gradients with respect to logarithms at z = x − own.
func (f *centred[T]) pullLogarithms(inner DifferentiableLog[T], dst, z, g dense.Matrix[T]) {
	inner.LogBackward(dst, z, g)
	for i := range dst.Rows {
		vecmath.AddScaled(dst.Row(i), f.other, T(f.scale)*vecmath.Sum(g.Row(i)))
	}
}
