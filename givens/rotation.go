package givens

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/planerot"
)

// Rotation is the rotation G by the angle θ in the plane of the coordinates i and j, from axis i
// towards axis j: G·e_i = cos θ·e_i + sin θ·e_j. The zero Rotation is not valid.
type Rotation[T dense.Float] struct {
	i, j     int
	cos, sin T
}

// NewRotation returns the rotation by theta radians from axis i towards axis j, with a cosine and a
// sine that are computed in float64 and rounded once to T. NewRotation returns an error for a
// negative i or j, i = j, and a theta that is NaN or ±Inf.
func NewRotation[T dense.Float](i, j int, theta float64) (Rotation[T], error) {
	switch {
	case i < 0:
		return Rotation[T]{}, fmt.Errorf("givens: i = %d, want at least 0", i)
	case j < 0:
		return Rotation[T]{}, fmt.Errorf("givens: j = %d, want at least 0", j)
	case i == j:
		return Rotation[T]{}, fmt.Errorf("givens: i = j = %d, want two different axes", i)
	case math.IsNaN(theta) || math.IsInf(theta, 0):
		return Rotation[T]{}, fmt.Errorf("givens: theta = %v, want a finite angle", theta)
	}
	sin, cos := math.Sincos(theta)
	return Rotation[T]{i: i, j: j, cos: T(cos), sin: T(sin)}, nil
}

// Axes returns the axes i and j of the plane of the rotation, which mixes coordinates i and j.
func (g Rotation[T]) Axes() (i, j int) { return g.i, g.j }

// Inverse returns the inverse of a rotation G by θ, which is the rotation by −θ and the transpose
// of G: g.Inverse().ApplyVec(nil, x) is G⁻¹·x.
func (g Rotation[T]) Inverse() Rotation[T] {
	g.sin = -g.sin
	return g
}

// ApplyVec writes G·x, for the plane rotation G, into dst and returns dst; a nil dst is allocated.
// If dst is x, ApplyVec writes only the two elements that the rotation mixes. If one of the two
// coordinates that the rotation mixes is NaN or ±Inf, both become NaN or ±Inf. ApplyVec panics if
// the lengths of x and a non-nil dst differ, and if x lacks a coordinate that the rotation mixes.
func (g Rotation[T]) ApplyVec(dst, x []T) []T {
	g.check(len(x))
	if dst == nil {
		dst = make([]T, len(x))
	}
	if len(dst) != len(x) {
		panic(fmt.Sprintf("givens: dst has length %d, x %d", len(dst), len(x)))
	}
	if &dst[0] != &x[0] {
		copy(dst, x)
	}
	dst[g.i], dst[g.j] = g.turn(dst[g.i], dst[g.j])
	return dst
}

// Apply writes G·x, for the plane rotation G and every row x of an n×d matrix, into dst (n×d) and
// returns dst; a zero-value dst is allocated. If dst is exactly the matrix x, Apply writes only the
// two columns that the rotation mixes. Apply panics for shapes that do not fit, and if x lacks a
// column that the rotation mixes.
func (g Rotation[T]) Apply(dst, x dense.Matrix[T]) dense.Matrix[T] {
	x.Check()
	g.check(x.Cols)
	dst = copyRows(dst, x)
	for r := range dst.Rows {
		row := dst.Row(r)
		row[g.i], row[g.j] = g.turn(row[g.i], row[g.j])
	}
	return dst
}

func (g Rotation[T]) turn(u, v T) (T, T) { return planerot.Pair(g.cos, g.sin, u, v) }

func (g Rotation[T]) check(d int) {
	if max(g.i, g.j) >= d {
		panic(fmt.Sprintf("givens: rotation of axes %d and %d in dimension %d", g.i, g.j, d))
	}
}

func copyRows[T dense.Float](dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = dense.Ensure(dst, x.Rows, x.Cols)
	if x.Rows > 0 && &dst.Data[0] == &x.Data[0] && dst.Stride == x.Stride {
		return dst
	}
	return dense.Copy(dst, x)
}
