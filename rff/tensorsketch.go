package rff

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/pool"
	"github.com/seed-feabd252/randfeat/kernels"
)

// TensorSketch returns the features of the polynomial kernel (γ·xᵀy + c)^p of k that
// count-sketch the tensor power x̃⊗…⊗x̃ of x̃ = [√γ·x, √c] without forming it
// [Pham & Pagh 2013],
//
//	φ(x) = C₁x̃ * … * C_p x̃ = F⁻¹(F(C₁x̃)·…·F(C_p x̃)),
//
// R^d → R^m: the circular convolution of p count sketches. C_t adds coordinate i,
// times a random sign, to bucket h_t(i), uniform among m. Buckets and signs are
// drawn from src, independently for every t and i.
//
// It is unbiased [Avron, Nguyen & Woodruff 2014]. With s = x̃ᵀỹ, b = ‖x̃‖²‖ỹ‖² − Q,
// c = s² − Q, Q = Σ x̃_i²ỹ_i², and g = 2 for even m, 1 for odd m, the mean squared error
// is
//
//	((s²+b)^p + (s²+c)^p − 2s^(2p))/m + g·((s²+b+c)^p − (s²+b)^p − (s²+c)^p + s^(2p))/m².
//
// Transform costs O(n·p·(d + m·log m)): below the O(n·p·d·m) of PolynomialSketch
// for many features of many dimensions. Powers of two are the fastest m, and
// primes the slowest, O(m²). All is computed in float64 whatever T is and rounded
// once.
//
// An error reports an m or d below 1, parameters of k out of range and a nil src.
func TensorSketch[T dense.Float](m, d int, k kernels.Polynomial, src rand.Source) (*Features[T], error) {
	if err := atLeastOne("m", m); err != nil {
		return nil, err
	}
	if err := atLeastOne("d", d); err != nil {
		return nil, err
	}
	if err := validKernel(k); err != nil {
		return nil, err
	}
	if err := given(src); err != nil {
		return nil, err
	}
	s := newTensorSketch(m, d, k, src)
	e := explicit[T](d, m)
	return &Features[T]{
		engine: e,
		name:   fmt.Sprintf("TensorSketch(%v)", k),
		kernel: k,
		row:    func(phi, x []T, _, _ int) { transformTensor(s, phi, x) },
		back:   rowwise(e, func(dx, x, g []T) { pullTensor(s, dx, x, g) }),

		estimator: Estimator{Form: FormTensorSketch, Polynomial: k},
	}, nil
}

// tensorSketch holds the hash functions and the workspaces that a row takes.
type tensorSketch struct {
	m, d, p     int
	offset      bool
	buckets     []int     // h_t(i), t after t; the constant √c comes last in each
	factors     []float64 // the sign times √γ or √c
	bench       pool.Of[tensorBench]
	coordinates int // of a sketch: d, or d + 1
}

// tensorBench is what one row at a time needs. A plan of gonum has scratch memory of its
// own and cannot be shared.
type tensorBench struct {
	plan     *fourier.FFT
	sequence []float64
	spectra  []complex128 // of the sketches, one after another
	product  []complex128
	gradient []complex128
}

func newTensorSketch(m, d int, k kernels.Polynomial, src rand.Source) *tensorSketch {
	s := &tensorSketch{m: m, d: d, p: k.Degree, offset: k.Offset > 0, coordinates: d}
	if s.offset {
		s.coordinates++
	}
	gamma := k.Gamma
	if gamma == 0 {
		gamma = 1
	}
	rng := rand.New(src)
	for range s.p {
		for i := range s.coordinates {
			factor := math.Sqrt(gamma)
			if i == d {
				factor = math.Sqrt(k.Offset)
			}
			s.buckets = append(s.buckets, rng.IntN(m))
			if rng.Uint64()>>63 == 1 {
				factor = -factor
			}
			s.factors = append(s.factors, factor)
		}
	}
	return s
}

// take returns a workspace.
func (s *tensorSketch) take() *tensorBench {
	b := s.bench.Get()
	if b.plan == nil {
		b.plan = fourier.NewFFT(s.m)
		b.sequence = make([]float64, s.m)
		b.spectra = make([]complex128, s.p*(s.m/2+1))
		b.product = make([]complex128, s.m/2+1)
		b.gradient = make([]complex128, s.m/2+1)
	}
	return b
}

// spectrum returns where the spectrum of sketch t is.
func (s *tensorSketch) spectrum(b *tensorBench, t int) []complex128 {
	n := s.m/2 + 1
	return b.spectra[t*n : (t+1)*n]
}

// count writes C_t·x̃ into the sequence.
func count[T dense.Float](s *tensorSketch, b *tensorBench, t int, x []T) {
	clear(b.sequence)
	buckets, factors := s.buckets[t*s.coordinates:], s.factors[t*s.coordinates:]
	for i, v := range x {
		b.sequence[buckets[i]] += factors[i] * float64(v)
	}
	if s.offset {
		b.sequence[buckets[s.d]] += factors[s.d]
	}
}

func transformTensor[T dense.Float](s *tensorSketch, phi, x []T) {
	b := s.take()
	norm := 1.0
	for t := range s.p {
		count(s, b, t, x)
		if s.p == 1 {
			break
		}
		to := s.spectrum(b, 0)
		if t > 0 {
			to = b.product
		}
		b.plan.Coefficients(to, b.sequence)
		if t > 0 {
			multiplyBy(s.spectrum(b, 0), b.product)
		}
	}
	if s.p > 1 {
		b.plan.Sequence(b.sequence, s.spectrum(b, 0))
		norm = 1 / float64(s.m)
	}
	for j, v := range b.sequence {
		phi[j] = T(norm * v)
	}
	s.bench.Put(b)
}

// pullTensor writes the gradient: that with respect to sketch t is the correlation
// of g with the convolution of the others.
func pullTensor[T dense.Float](s *tensorSketch, dx, x, g []T) {
	b := s.take()
	zero := nothing(x) + nothing(g)
	for j := range dx {
		dx[j] = zero
	}
	for t := range s.p {
		count(s, b, t, x)
		b.plan.Coefficients(s.spectrum(b, t), b.sequence)
	}
	for j, v := range g {
		b.sequence[j] = float64(v)
	}
	b.plan.Coefficients(b.gradient, b.sequence)
	for t := range s.p {
		copy(b.product, b.gradient)
		for other := range s.p {
			if other != t {
				multiplyByConjugate(b.product, s.spectrum(b, other))
			}
		}
		b.plan.Sequence(b.sequence, b.product)
		buckets, factors := s.buckets[t*s.coordinates:], s.factors[t*s.coordinates:]
		for i := range dx {
			dx[i] += T(factors[i] / float64(s.m) * b.sequence[buckets[i]])
		}
	}
	s.bench.Put(b)
}

// multiplyBy sets a[j] = a[j]·b[j].
func multiplyBy(a, b []complex128) {
	b = b[:len(a)]
	for j, v := range b {
		a[j] *= v
	}
}

// multiplyByConjugate sets a[j] = a[j]·conj(b[j]).
func multiplyByConjugate(a, b []complex128) {
	b = b[:len(a)]
	for j, v := range b {
		a[j] *= cmplx.Conj(v)
	}
}
