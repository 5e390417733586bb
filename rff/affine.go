package rff

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Affine is the affine map z = A·(x − c) + b from R^d to R^r. Compose puts an Affine before a
// feature map: scaled columns (Standardise), principal components or a learnt metric. The
// elements of the kernels.Pullback that Kernel of the map of an Affine returns must not be written.
// For the unit roundoff u, element i of A·(x − c) has a rounding error of a few u·(d + 2)·Σ_j
// |A_ij·(x_j − c_j)|, however far the centre c is from 0. Transform of an Affine takes O(r·d)
// operations for a point, or O(d) if the field Factors gives a diagonal A.
type Affine struct {
	A       dense.Matrix[float64] // r×d; zero if there are Factors
	Factors []float64             // f of A = diag(f); nil if there is an A
	Centre  []float64             // c, of length d; nil for 0
	Offset  []float64             // b, of length r; nil for 0
}

func (Affine) perFrequency() int { return 0 }
func (Affine) String() string    { return "Affine()" }

type affine[T dense.Float] struct {
	blockwise[T, []T]
	centre, offset []T              // nil for 0
	factors        []T              // the diagonal of A, if nothing else of A is given
	packed, back   matmul.Packed[T] // Aᵀ and A, without factors
}

func newAffine[T dense.Float](s Affine) (*affine[T], error) {
	a := s.A
	if d := len(s.Factors); d > 0 {
		if len(a.Data) > 0 {
			return nil, fmt.Errorf("rff: Affine has an A of %d×%d and %d Factors, want one of them", a.Rows, a.Cols, d)
		}
		if err := limit.Memory[float64](d, d); err != nil {
			return nil, fmt.Errorf("rff: the matrix of %d factors: %w", d, err)
		}
		a = dense.New[float64](d, d)
		for j, f := range s.Factors {
			a.Set(j, j, f)
		}
	}
	k := kernels.Pullback{K: kernels.DotProduct{}, A: a, Centre: slices.Clone(s.Centre), Offset: slices.Clone(s.Offset)}
	if err := kernels.Check(k); err != nil {
		return nil, fmt.Errorf("rff: not an affine map: %w", err)
	}
	s = Affine{Centre: k.Centre, Offset: k.Offset, Factors: slices.Clone(s.Factors)}
	if len(s.Factors) == 0 {
		a = a.Clone()
		k.A, s.A = a, a
	}
	f := &affine[T]{blockwise: blockwise[T, []T]{
		frame: frame{name: s.String(), in: a.Cols, out: a.Rows, kernel: k, recipe: drawn[T]{Spec: s}},
		rows:  affineRows,
	}}
	f.transform = func(s *[]T, z, x, _ dense.Matrix[T]) { f.apply(z, x, s) }
	own, err := inRangeOf[T]("A", a)
	if err != nil {
		return nil, err
	}
	if len(s.Factors) > 0 {
		for i := range own.Rows {
			f.factors = append(f.factors, own.At(i, i))
		}
	} else {
		matmul.PackT(&f.packed, own)
		matmul.Pack(&f.back, own)
	}
	offset := s.Offset
	if s.Centre != nil {
		// The centre is rounded to T, and the offset makes up for the rounding.
		f.centre = make([]T, f.in)
		rest := make([]float64, f.in)
		for j, c := range s.Centre {
			f.centre[j] = T(c)
			rest[j] = float64(f.centre[j]) - c
		}
		if slices.ContainsFunc(rest, func(v float64) bool { return v != 0 }) {
			moved := make([]float64, f.out)
			copy(moved, offset)
			for i := range moved {
				moved[i] += vecmath.Dot(a.Row(i), rest)
			}
			offset = moved
		}
	}
	if offset != nil {
		f.offset = make([]T, f.out)
		for i, v := range offset {
			f.offset[i] = T(v)
		}
	}
	return f, nil
}

func inRangeOf[T dense.Float](name string, m dense.Matrix[float64]) (dense.Matrix[T], error) {
	own := dense.Copy(dense.Matrix[T]{}, m)
	for i := range own.Rows {
		for j, v := range own.Row(i) {
			if math.IsInf(float64(v), 0) {
				return own, fmt.Errorf("rff: %s[%d][%d] = %v is outside the range of %T", name, i, j, m.At(i, j), v)
			}
		}
	}
	return own, nil
}

func (f *affine[T]) matrix() dense.Matrix[float64] { return f.kernel.(kernels.Pullback).A }

func (f *affine[T]) Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T] {
	checkGradient("dphi", x, dphi, f.in, f.out)
	dst = dense.Ensure(dst, x.Rows, f.in)
	f.pullBack(dst, dphi)
	return dst
}

func (f *affine[T]) pullBack(dst, dz dense.Matrix[T]) {
	if f.factors == nil {
		matmul.MulPacked(1, dz, &f.back, 0, dst, nil)
		return
	}
	dense.Copy(dst, dz)
	for i := range dst.Rows {
		vecmath.Multiply(dst.Row(i), f.factors)
	}
}

func (f *affine[T]) CanBackward() error { return nil }

const affineRows = 256

func (f *affine[T]) apply(z, x dense.Matrix[T], scratch *[]T) {
	if f.centre != nil {
		moved := scratchMatrix(scratch, x.Rows, x.Cols)
		for i := range x.Rows {
			copy(moved.Row(i), x.Row(i))
			vecmath.AddScaled(moved.Row(i), f.centre, -1)
		}
		x = moved
	}
	if f.factors == nil {
		matmul.MulPacked(1, x, &f.packed, 0, z, nil)
	} else {
		dense.Copy(z, x)
		for i := range z.Rows {
			vecmath.Multiply(z.Row(i), f.factors)
		}
	}
	if f.offset != nil {
		for i := range z.Rows {
			vecmath.AddScaled(z.Row(i), f.offset, 1)
		}
	}
}

// subtractMean returns the mean. The rounding of the first pass grows with the distance of x from
// zero. The second pass leaves only the rounding of the results, for every order of summation.
func subtractMean(x []float64) float64 {
	mean := stat.Mean(x, nil)
	floats.AddConst(-mean, x)
	rest := stat.Mean(x, nil)
	floats.AddConst(-rest, x)
	return mean + rest
}

// toUnit divides x by 2^e, the least power of two above its elements, and returns e. Squares of the
// quotients do not overflow, and do not all underflow. No digit changes.
func toUnit(x dense.Matrix[float64]) (e int) {
	var peak float64
	for i := range x.Rows {
		for _, v := range x.Row(i) {
			peak = max(peak, math.Abs(v))
		}
	}
	_, e = math.Frexp(peak)
	for i := range x.Rows {
		row := x.Row(i)
		for j, v := range row {
			row[j] = math.Ldexp(v, -e)
		}
	}
	return e
}
