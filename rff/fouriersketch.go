package rff

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/orf"
)

// fourierSketch is the linear map from x̃ to the real numbers in the Fourier transform y of its
// count sketch, [y₀, y_{m/2}, Re y₁, Re y₂, …, Im y₁, Im y₂, …], with y_{m/2} for even m alone. If
// norm is not 1, norm is √m: all numbers are divided by √m, and real and imaginary parts are
// multiplied by √2.
type fourierSketch[T dense.Float] struct {
	*countSketch[T]
	norm    float64
	benches pool.Of[fourierBench]
}

// fourierSketchRecipe holds the parts of a fourierSketch that a file stores.
type fourierSketchRecipe[T dense.Float] struct {
	countSketchRecipe[T]
	Norm float64
}

func (s *fourierSketch[T]) Recipe() (any, error) {
	return fourierSketchRecipe[T]{countSketchRecipe[T]{s.m, s.buckets, s.factors}, s.norm}, nil
}

func newFourierSketch[T dense.Float](r fourierSketchRecipe[T]) (*fourierSketch[T], error) {
	c, err := newCountSketch(r.countSketchRecipe)
	if err := cmp.Or(err, positive("norm", r.Norm)); err != nil {
		return nil, err
	}
	return &fourierSketch[T]{countSketch: c, norm: r.Norm}, nil
}

// fourierBench is the workspace for one row at a time. A plan of gonum has scratch memory of its
// own, so goroutines cannot share it.
type fourierBench struct {
	plan         *fourier.FFT
	sequence     []float64
	coefficients []complex128
}

// projection returns s, or the same projection as a matrix if that is faster.
func (s *fourierSketch[T]) projection() (orf.Transposer[T], error) {
	if len(s.buckets) > matrixBelow[T](s.m) {
		return s, nil
	}
	w, err := orf.FromMatrix(s.Frequencies())
	if err != nil {
		return nil, err
	}
	return orf.Transposed(w), nil
}

// matrixAtMost bounds the memory of matrices, where m has large prime factors.
const matrixAtMost = 4096

// matrixBelow returns the largest dimension of points at which a matrix product is used for m
// features in place of a Fourier transform. The time of a Fourier transform for each of the m
// numbers grows as the sum of the prime factors of m. The constants perCost are somewhat below
// those measured with vectors of 512 bits for m from 256 to 4096.
func matrixBelow[T dense.Float](m int) int {
	cost := 1
	for p := 2; p*p <= m; p++ {
		for ; m%p == 0; m /= p {
			cost += p
		}
	}
	if m > 1 {
		cost += m
	}
	perCost := 16
	if _, single := any(T(0)).(float32); single {
		perCost = 32
	}
	return min(perCost*cost, matrixAtMost)
}

// gains returns the factors of the real coefficients and of the pairs.
func (s *fourierSketch[T]) gains() (real, pair float64) {
	if s.norm == 1 {
		return 1, 1
	}
	return 1 / s.norm, math.Sqrt2 / s.norm
}

// reals returns the number of real coefficients, k = 0 and k = m/2, and the number of pairs.
func (s *fourierSketch[T]) reals() (real, pairs int) {
	real = min(s.m, 2-s.m%2)
	return real, (s.m - real) / 2
}

func (s *fourierSketch[T]) take() *fourierBench {
	b := s.benches.Get()
	if b.plan == nil {
		b.plan = fourier.NewFFT(s.m)
		b.sequence = make([]float64, s.m)
		b.coefficients = make([]complex128, s.m/2+1)
	}
	return b
}

func (s *fourierSketch[T]) Project(dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = dense.Ensure(dst, x.Rows, s.m)
	b := s.take()
	one, two := s.gains()
	reals, pairs := s.reals()
	for i := range x.Rows {
		clear(b.sequence)
		for l, v := range x.Row(i) {
			b.sequence[s.buckets[l]] += s.factors[l] * float64(v)
		}
		b.plan.Coefficients(b.coefficients, b.sequence)
		to := dst.Row(i)
		to[0] = T(one * real(b.coefficients[0]))
		if reals == 2 {
			to[1] = T(one * real(b.coefficients[s.m/2]))
		}
		re, im := to[reals:reals+pairs], to[reals+pairs:]
		for k, c := range b.coefficients[1 : 1+pairs] {
			re[k], im[k] = T(two*real(c)), T(two*imag(c))
		}
	}
	s.benches.Put(b)
	return dst
}

func (s *fourierSketch[T]) ProjectTransposed(dst, z dense.Matrix[T]) dense.Matrix[T] {
	dst = dense.Ensure(dst, z.Rows, len(s.buckets))
	b := s.take()
	one, two := s.gains()
	reals, pairs := s.reals()
	for i := range z.Rows {
		from := z.Row(i)
		b.coefficients[0] = complex(one*float64(from[0]), 0)
		if reals == 2 {
			b.coefficients[s.m/2] = complex(one*float64(from[1]), 0)
		}
		re, im := from[reals:reals+pairs], from[reals+pairs:]
		for k, v := range re {
			// The sequence has every pair twice, at k and m − k.
			b.coefficients[1+k] = complex(two/2*float64(v), two/2*float64(im[k]))
		}
		b.plan.Sequence(b.sequence, b.coefficients)
		to := dst.Row(i)
		for l, bucket := range s.buckets {
			to[l] = T(s.factors[l] * b.sequence[bucket])
		}
	}
	s.benches.Put(b)
	return dst
}

// Frequencies rounds each element once.
func (s *fourierSketch[T]) Frequencies() dense.Matrix[T] {
	w := dense.New[T](s.m, len(s.buckets))
	one, two := s.gains()
	reals, pairs := s.reals()
	cosines, sines := make([]float64, s.m), make([]float64, s.m)
	for j := range s.m {
		cosines[j], sines[j] = turn(j, s.m)
	}
	for l, bucket := range s.buckets {
		w.Set(0, l, T(one*s.factors[l]))
		if reals == 2 {
			w.Set(1, l, T(one*s.factors[l]*float64(1-2*(bucket%2))))
		}
		at := 0
		for k := range pairs {
			at += bucket // (k+1)·bucket modulo m
			if at >= s.m {
				at -= s.m
			}
			w.Set(reals+k, l, T(two*s.factors[l]*cosines[at]))
			w.Set(reals+pairs+k, l, T(-two*s.factors[l]*sines[at]))
		}
	}
	return w
}

// turn returns the cosine and the sine of j/m of a turn, 0 ≤ j < m. It computes them from the small
// angle to the nearest quarter of a turn, so that quarters are exact.
func turn(j, m int) (cosine, sine float64) {
	quarter := (8*j + m) / (2 * m)
	s, c := math.Sincos(math.Pi / 2 * float64(4*j-quarter*m) / float64(m))
	switch quarter % 4 {
	case 1:
		return -s, c
	case 2:
		return -c, -s
	case 3:
		return s, -c
	}
	return c, s
}
