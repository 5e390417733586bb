package rff

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/orf"
)

// sketch is a map whose features are products of projections,
//
//	φ_j(x) = g_j·Π_{t ≤ n_j} w_jtᵀx̃,
//
// where x̃ is x or x with a constant appended: PolynomialSketch, Maclaurin and
// TensorSketch. With complex w there are m/2 products, and the m features are their real parts,
// then their imaginary parts. The inner product of these is Re(φ(x)·φ(y)ᴴ). TensorSketch has one or
// two products with real w first.
type sketch[T dense.Float] struct {
	blockwise[T, sketchSpace[T]]
	pull  blockFunc[T, sketchSpace[T]]
	parts int // 1, or 2 for complex numbers
	real  int // features that are real nevertheless, which come first

	// x̃ = [scale·x, constant] if there is a constant, else x.
	scale, constant T

	// factors[t] has the projections for the features of degree above t, which come first: real
	// parts, then imaginary parts.
	factors []orf.Transposer[T]
	gains   []T // of each feature; nil if a factor contains them
}

// newSketch returns a sketch without factors yet.
func newSketch[T dense.Float](f frame, parts int) *sketch[T] {
	s := &sketch[T]{parts: parts}
	s.frame, s.rows, s.transform, s.pull = f, blockRows, s.features, s.gradient
	return s
}

func (f *sketch[T]) Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T] {
	return f.backward("dphi", dst, x, dphi, f.pull)
}

func (f *sketch[T]) CanBackward() error { return nil }

// sketchSpace is the workspace for a block of rows.
type sketchSpace[T dense.Float] struct {
	points, pulled, part []T
	factors, z           []T
}

// lift returns x̃.
func (f *sketch[T]) lift(s *sketchSpace[T], x dense.Matrix[T]) dense.Matrix[T] {
	if f.constant == 0 {
		return x
	}
	points := scratchMatrix(&s.points, x.Rows, f.in+1)
	for i := range x.Rows {
		to := points.Row(i)
		copy(to, x.Row(i))
		vecmath.Scale(to[:f.in], f.scale)
		to[f.in] = f.constant
	}
	return points
}

// features writes the features of a block of rows.
func (f *sketch[T]) features(s *sketchSpace[T], dst, x, _ dense.Matrix[T]) {
	points := f.lift(s, x)
	for t, w := range f.factors {
		n, _ := w.Shape()
		if t == 0 && n == f.out {
			w.Project(dst, points)
			continue
		}
		factor := scratchMatrix(&s.factors, x.Rows, n)
		w.Project(factor, points)
		for i := range x.Rows {
			if t == 0 {
				f.begin(dst.Row(i), factor.Row(i), x.Row(i))
			} else {
				f.multiply(dst.Row(i), factor.Row(i), 1)
			}
		}
	}
	for i := range x.Rows {
		if len(f.factors) == 0 {
			f.begin(dst.Row(i), nil, x.Row(i))
		}
		if f.gains != nil {
			vecmath.Multiply(dst.Row(i), f.gains)
		}
	}
}

// begin writes the first factor, and 1 for the features that have none.
func (f *sketch[T]) begin(phi, factor, x []T) {
	one := 1 + nothing(x)
	n, m := len(factor)/f.parts, len(phi)/f.parts
	for part := range f.parts {
		to := phi[part*m : (part+1)*m]
		copy(to, factor[part*n:(part+1)*n])
		for j := n; j < m; j++ {
			to[j] = one
		}
		one -= 1
	}
}

// multiply multiplies the first features of phi by a factor, or by its conjugate if sign is −1.
func (f *sketch[T]) multiply(phi, factor []T, sign T) {
	if f.parts == 1 {
		vecmath.Multiply(phi[:len(factor)], factor)
		return
	}
	r := f.real
	vecmath.Multiply(phi[:r], factor[:r])
	phi, factor = phi[r:], factor[r:]
	n, m := len(factor)/2, len(phi)/2
	vecmath.MultiplyComplex(phi[:n], phi[m:m+n], factor[:n], factor[n:], sign)
}

// nothing returns 0, or NaN if a number of x is NaN or infinite.
func nothing[T dense.Float](x []T) T {
	var zeros [64]T
	var zero T
	for len(x) > len(zeros) {
		zero += vecmath.Dot(x[:len(zeros)], zeros[:])
		x = x[len(zeros):]
	}
	return zero + vecmath.Dot(x, zeros[:])
}

// gradient writes the gradients with respect to a block of rows, for the gradients g with respect
// to their features.
//
// Let a complex gradient be the gradient with respect to the real part, plus i times the gradient
// with respect to the imaginary part. If a complex feature P = Π f_t has the gradient G, f_t has
// the gradient G·conj(Π_{s≠t} f_s).
func (f *sketch[T]) gradient(s *sketchSpace[T], dst, x, g dense.Matrix[T]) {
	points, n := f.lift(s, x), x.Rows
	pulled, part := scratchMatrix(&s.pulled, n, points.Cols), scratchMatrix(&s.part, n, points.Cols)
	clear(pulled.Data)

	// left is G times all factors before t, and z is left times all factors after t.
	p := len(f.factors)
	all := scratchMatrix(&s.factors, n*p, f.out)
	factor := func(t int) dense.Matrix[T] {
		m, _ := f.factors[t].Shape()
		return all.RowRange(t*n, (t+1)*n).ColRange(0, m)
	}
	for t, w := range f.factors {
		w.Project(factor(t), points)
	}
	rows := scratchMatrix(&s.z, 2*n, f.out)
	left, work := rows.RowRange(0, n), rows.RowRange(n, 2*n)
	for i := range n {
		copy(left.Row(i), g.Row(i))
		if f.gains != nil {
			vecmath.Multiply(left.Row(i), f.gains)
		}
	}
	for t, w := range f.factors {
		m, _ := w.Shape()
		z := work.ColRange(0, m)
		for i := range n {
			f.first(z.Row(i), left.Row(i))
			for later := t + 1; later < p; later++ {
				f.multiply(z.Row(i), factor(later).Row(i), -1)
			}
			f.multiply(left.Row(i), factor(t).Row(i), -1)
		}
		w.ProjectTransposed(part, z)
		for i := range n {
			vecmath.AddScaled(pulled.Row(i), part.Row(i), 1)
		}
	}
	for i := range n {
		to := dst.Row(i)
		copy(to, pulled.Row(i))
		scale := T(1)
		if f.constant != 0 {
			scale = f.scale
		}
		// A gradient that is constant or linear in x could hide a NaN or ±Inf of x or g.
		vecmath.Affine(to, to, scale, nothing(x.Row(i))+nothing(g.Row(i)))
	}
}

// first copies the features of phi that z has, the first ones.
func (f *sketch[T]) first(z, phi []T) {
	if len(z) == len(phi) {
		copy(z, phi)
		return
	}
	n, m := len(z)/f.parts, len(phi)/f.parts
	for part := range f.parts {
		copy(z[part*n:(part+1)*n], phi[part*m:][:n])
	}
}

// WeightLaw is the law of the coordinates of random vectors w. Sketches of dot-product kernels
// multiply projections wᵀx. All laws have E[w·wᴴ] = I.
//
// The laws differ in the variance of the estimate, which PolynomialSketch states. The variance with
// Rademacher weights is below the variance with Gaussian weights. At the same number m of real
// features the variance of a complex law is at most the variance of the real law, by convexity: for
// Gaussian weights always, for Rademacher weights if Σ x_i²y_i² ≤ (xᵀy)², for example if no product
// x_i·y_i is negative [Wacker, Kanagawa & Filippone 2024], [Wacker, Ohana & Filippone 2023].
type WeightLaw int

const (
	// RademacherWeights are ±1 with probability ½ each.
	RademacherWeights WeightLaw = iota
	// GaussianWeights are N(0, 1).
	GaussianWeights
	// ComplexRademacherWeights are 1, −1, i or −i with probability ¼ each.
	ComplexRademacherWeights
	// ComplexGaussianWeights are (u + iv)/√2 with independent u, v ~ N(0, 1).
	ComplexGaussianWeights
)

// String returns the name as it is written in Go.
func (l WeightLaw) String() string {
	if l < RademacherWeights || l > ComplexGaussianWeights {
		return fmt.Sprintf("WeightLaw(%d)", int(l))
	}
	return [...]string{
		"RademacherWeights", "GaussianWeights", "ComplexRademacherWeights", "ComplexGaussianWeights",
	}[l]
}

// validate reports an unknown law, and an odd m for a complex law.
func (l WeightLaw) validate(m int) error {
	if l < RademacherWeights || l > ComplexGaussianWeights {
		return fmt.Errorf("rff: law = %v, want one of the four", l)
	}
	if l.complex() && m%2 != 0 {
		return fmt.Errorf("rff: m = %d, want an even number for %v", m, l)
	}
	return nil
}

// signs reports whether a weight is a random root of unity.
func (l WeightLaw) signs() bool { return l == RademacherWeights || l == ComplexRademacherWeights }

// complex reports whether a weight has an imaginary part.
func (l WeightLaw) complex() bool { return l >= ComplexRademacherWeights }

// parts returns the number of real numbers that make a weight.
func (l WeightLaw) parts() int {
	if l.complex() {
		return 2
	}
	return 1
}

// drawWeights returns n vectors of R^d or C^d, one a row, all real parts above all imaginary ones.
func drawWeights[T dense.Float](l WeightLaw, n, d int, src rand.Source) dense.Matrix[T] {
	w := dense.New[T](l.parts()*n, d)
	re := w.Data[:n*d]
	im := w.Data[n*d:]
	switch l {
	case RademacherWeights:
		var word uint64
		for i := range re {
			if i%64 == 0 {
				word = src.Uint64()
			}
			re[i] = T(1 - 2*int(word>>(i%64)&1))
		}
	case ComplexRademacherWeights:
		var word uint64
		for i := range re {
			if i%32 == 0 {
				word = src.Uint64()
			}
			pair := word >> (2 * (i % 32))
			sign := T(1 - 2*int(pair&1))
			if pair&2 == 0 {
				re[i] = sign
			} else {
				im[i] = sign
			}
		}
	case GaussianWeights:
		rng := rand.New(src)
		for i := range re {
			re[i] = T(rng.NormFloat64())
		}
	case ComplexGaussianWeights:
		rng := rand.New(src)
		for i := range re {
			re[i] = T(rng.NormFloat64() / math.Sqrt2)
			im[i] = T(rng.NormFloat64() / math.Sqrt2)
		}
	}
	return w
}
