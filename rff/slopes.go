package rff

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

func waveSlope[T dense.Float](e engine[T], c, r T, gains []T) *pullback[T] {
	m := e.frequencies()
	return throughZ(e, 2*m, func(z, _, g []T) (a, b T) {
		t := z[:m]
		vecmath.Scale(t, r)
		if gains != nil {
			vecmath.Multiply(t, gains)
		}
		vecmath.Sincos(z[m:], t, t)
		unwave(z, g)
		if gains != nil {
			vecmath.Multiply(t, gains)
		}
		return c * r, 0
	}, scaled[T])
}

// unwave overwrites [cos t, sin t] by [cos t·g₂ − sin t·g₁, …] for g = [g₁, g₂].
func unwave[T dense.Float](z, g []T) {
	m := len(z) / 2
	cosines, sines := z[:m], z[m:]
	vecmath.Multiply(cosines, g[m:])
	vecmath.Multiply(sines, g[:m])
	vecmath.AddScaled(cosines, sines, -1)
}

// The factor c depends on x too, and log c has the gradient scale·x.
func trigSlope[T dense.Float](e engine[T], scale float64, r T, norm float64) *pullback[T] {
	m := e.frequencies()
	return throughZ(e, 2*m, func(z, x, g []T) (a, b T) {
		vecmath.Scale(z[:m], r)
		vecmath.Sincos(z[m:], z[:m], z[:m])
		along := vecmath.Dot(z, g)
		unwave(z, g)
		c := T(norm * math.Exp(scale*vecmath.HalfSquaredNorm(x)))
		return c * r, c * T(scale) * along
	}, radial[T])
}

// the derivative of ±t − ½·scale·‖x‖² for one sign or both, where t = r·Wx
func logSlope[T dense.Float](e engine[T], scale float64, r T) *pullback[T] {
	s, m := T(scale), e.frequencies()
	if e.out == m {
		return straight(e, func(_, _, g []T) (a, b T) { return r, -s * vecmath.Sum(g) }, radial[T])
	}
	p := throughZ(e, m, func(z, _, g []T) (a, b T) {
		copy(z, g[:m])
		vecmath.AddScaled(z, g[m:], -1)
		return r, -s * vecmath.Sum(g)
	}, radial[T])
	p.projects = false
	return p
}

// expSlope is logSlope of φ·g: the derivative of the features φ.
func expSlope[T dense.Float](e engine[T], scale float64, r T, features rowFunc[T]) *pullback[T] {
	s, m := T(scale), e.frequencies()
	return throughZ(e, e.out, func(z, x, g []T) (a, b T) {
		features(z, x, 0, m)
		vecmath.Multiply(z, g)
		b = -s * vecmath.Sum(z)
		if len(z) > m {
			vecmath.AddScaled(z[:m], z[m:], -1)
		}
		return r, b
	}, radial[T])
}
