package rff

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// AdditiveChiSquare returns the features of the additive χ² kernel Σ 2x_i·y_i/(x_i+y_i), sampled
// from its spectrum without randomness [Vedaldi & Zisserman 2012],
//
//	√(L·x_i),  √(2L·x_i·sech(πjL))·cos(jL·log x_i),  √(2L·x_i·sech(πjL))·sin(jL·log x_i),
//
// R^d → R^((2n−1)d), for the steps j = 1 … n−1, where n is sampleSteps and L is sampleInterval. The
// d features of a kind are together, in the order above, step after step, as in scikit-learn's
// AdditiveChi2Sampler. L = 0 stands for the defaults of AdditiveChi2Sampler, 0.8, 0.5 and 0.4 for n
// = 1, 2 and 3. The features of a coordinate 0 are 0.
//
// The map is defined for coordinates that are at least 0. The features of a negative coordinate are
// NaN. The map has a bias and no variance. With λ = log(x_i/y_i), a term of the kernel
// √(x_i·y_i)·sech(λ/2) becomes √(x_i·y_i)·Σ_{|j|<n} L·sech(πjL)·cos(jLλ), with an error of at most
// √(x_i·y_i)·(2L·Σ_{j≥n} sech(πjL) + Σ_{k≠0} sech((λ + 2πk/L)/2)). The first sum comes from cutting
// the series off at n. The second sum comes from L, which repeats the kernel with the period 2π/L
// in λ. The defaults give 0.80, 0.90 and 0.95 of the kernel at x = y; n = 10 and L = 0.3 give
// 0.99995.
//
// Transform costs O(n·d) elementary functions a row. Derivatives are infinite at x_i = 0, and
// Backward takes 0 for them.
//
// AdditiveChiSquare returns an error for a d or sampleSteps below 1, or too large for memory, a
// sampleInterval of 0 for more than 3 steps, and one that is not a positive number in the range of
// T.
func AdditiveChiSquare[T dense.Float](d, sampleSteps int, sampleInterval float64) (Map[T], error) {
	if err := cmp.Or(size[T]("d", d), size[T]("sampleSteps", sampleSteps)); err != nil {
		return nil, err
	}
	if err := limit.Memory[T](2, sampleSteps, d); err != nil {
		return nil, fmt.Errorf("rff: d = %d, sampleSteps = %d: %w", d, sampleSteps, err)
	}
	if sampleInterval == 0 {
		if sampleSteps > 3 {
			return nil, fmt.Errorf("rff: sampleInterval = 0 has a default for up to 3 sampleSteps, not for %d", sampleSteps)
		}
		sampleInterval = [...]float64{0.8, 0.5, 0.4}[sampleSteps-1]
	}
	if _, err := root[T]("sampleInterval", sampleInterval); err != nil {
		return nil, err
	}
	gains := make([]T, sampleSteps) // of √x
	for j := range gains {
		gains[j] = T(math.Sqrt(2 * sampleInterval / math.Cosh(math.Pi*float64(j)*sampleInterval)))
	}
	gains[0] = T(math.Sqrt(sampleInterval))
	return build[Map[T]](additiveChiSquareRecipe[T]{d, sampleInterval, gains})
}

// additiveChiSquareRecipe holds the parts of AdditiveChiSquare that a file stores. Gains are the
// factors of √x, one for each step.
type additiveChiSquareRecipe[T dense.Float] struct {
	D              int
	SampleInterval float64
	Gains          []T
}

func newAdditiveChiSquare[T dense.Float](r additiveChiSquareRecipe[T]) (Map[T], error) {
	d, sampleSteps, sampleInterval := r.D, len(r.Gains), r.SampleInterval
	_, err := root[T]("sampleInterval", sampleInterval)
	if err := cmp.Or(size[T]("d", d), atLeastOne("sampleSteps", sampleSteps), err, each("gains", r.Gains, sampleSteps)); err != nil {
		return nil, err
	}
	if err := limit.Memory[T](2, sampleSteps, d); err != nil {
		return nil, fmt.Errorf("rff: d = %d, sampleSteps = %d: %w", d, sampleSteps, err)
	}
	c := chiSquare[T]{interval: T(sampleInterval), gains: r.Gains}
	e := explicit[T](d, (2*sampleSteps-1)*d)
	return &features[T]{
		engine: e,
		frame: e.named(fmt.Sprintf("AdditiveChiSquare(sampleSteps=%d, sampleInterval=%v)", sampleSteps, sampleInterval), kernels.AdditiveChiSquare{},
			mse.Law{}).of(r),
		row:  func(phi, x []T, _, _ int) { c.features(phi, x) },
		back: rowwise(e, c.pull),
	}, nil
}

// chiSquare is the sampled spectrum.
type chiSquare[T dense.Float] struct {
	interval T
	gains    []T // of √x, for each step
}

// waves overwrites phi by [cos, sin] of j·L·log x for all steps j; each cos and sin has d elements.
func (c chiSquare[T]) waves(phi, x []T) {
	d := len(x)
	if len(c.gains) == 1 {
		return
	}
	angles := phi[d : 2*d]
	for i, v := range x {
		angles[i] = 0
		if v != 0 {
			angles[i] = c.interval * T(math.Log(float64(v)))
		}
	}
	// The first step comes last: it overwrites the angles.
	for j := len(c.gains) - 1; j > 0; j-- {
		cosines, sines := phi[(2*j-2)*d:(2*j-1)*d], phi[(2*j-1)*d:2*j*d]
		copy(sines, angles)
		vecmath.Scale(sines, T(j))
		vecmath.Sincos(sines, cosines, sines)
	}
}

func (c chiSquare[T]) features(phi, x []T) {
	d := len(x)
	c.waves(phi[d:], x)
	roots := phi[:d]
	for i, v := range x {
		roots[i] = T(math.Sqrt(float64(v)))
	}
	for j, gain := range c.gains[1:] {
		for part := range 2 {
			to := phi[(2*j+1+part)*d:][:d]
			vecmath.Multiply(to, roots)
			vecmath.Scale(to, gain)
		}
	}
	vecmath.Scale(roots, c.gains[0])
}

// pull writes the gradient: with a = jL·log x the derivative of √x·cos a is (½cos a − jL·sin a)/√x,
// and that of √x·sin a is (½sin a + jL·cos a)/√x.
func (c chiSquare[T]) pull(dx, x, g []T) {
	d := len(x)
	for i, v := range x {
		sum := c.gains[0] * g[i] / 2
		log := math.Log(float64(v))
		if v == 0 {
			log = 0
		}
		for j, gain := range c.gains[1:] {
			step := float64(c.interval) * float64(j+1)
			sin, cos := math.Sincos(step * log)
			sum += gain * (T(cos/2-step*sin)*g[(2*j+1)*d+i] + T(sin/2+step*cos)*g[(2*j+2)*d+i])
		}
		root := T(math.Sqrt(float64(v)))
		if v == 0 {
			sum, root = 0*sum, 1
		}
		dx[i] = sum/root + (v - v)
	}
}

// SkewedChiSquare returns the random features of the skewed χ² kernel Π
// 2√(x_i+c)√(y_i+c)/(x_i+y_i+2c) [Li, Ionescu & Sminchisescu 2010],
//
//	φ(x) = √(2/m) · [cos(w₁ᵀlog(x+c) + b₁) … cos(w_mᵀlog(x+c) + b_m)],
//
// R^d → R^m. The m·d coordinates of the frequencies are drawn from src, row by row: independent
// with the density sech(πω), the spectral law of the kernel; then the phases b, uniform on [0, 2π).
// The law is not isotropic, so that package orf does not draw from it. The map is unbiased. Its
// mean squared error is (1 + k₂/2 − k²)/m, where k₂ = Π sech(log((x_i+c)/(y_i+c))) is the kernel at
// twice the difference of the logarithms.
//
// The map is defined for coordinates above −c. A coordinate at or below −c makes all features of
// its row NaN. Transform costs O(n·m·d) and n·d logarithms.
//
// SkewedChiSquare returns an error for an m or d below 1, or too large for memory, a c that is not
// a positive number in the range of T, and a nil src.
func SkewedChiSquare[T dense.Float](m, d int, c float64, src rand.Source) (Map[T], error) {
	return build[Map[T]](skewedChiSquareDraw[T]{m, d, c, src})
}

// skewedChiSquareDraw has the arguments of SkewedChiSquare.
type skewedChiSquareDraw[T dense.Float] struct {
	m, d int
	c    float64
	src  rand.Source
}

func drawSkewedChiSquare[T dense.Float](a skewedChiSquareDraw[T]) (Map[T], error) {
	w, err := drawn[T](a.m, a.d, "c", a.c, a.src, sech)
	if err != nil {
		return nil, err
	}
	return newSkewedChiSquare(skewedChiSquareRecipe[T]{w, a.c, drawPhases[T](a.m, a.src)})
}

// skewedChiSquareRecipe holds the parts of SkewedChiSquare that a file stores.
type skewedChiSquareRecipe[T dense.Float] struct {
	W      orf.Projection[T]
	C      float64
	Phases []T
}

func newSkewedChiSquare[T dense.Float](r skewedChiSquareRecipe[T]) (Map[T], error) {
	c := r.C
	e, _, err := newScaledEngine(r.W, 1, inverse[T], "c", c)
	if err := cmp.Or(err, each("phases", r.Phases, e.out)); err != nil {
		return nil, err
	}
	e = e.lifting(func(to, x []T) {
		for i, v := range x {
			if to[i] = T(math.Log(float64(v) + c)); math.IsInf(float64(to[i]), 0) {
				to[i] = T(math.NaN())
			}
		}
	})
	f := shifted(e, 1, r.Phases, r, fmt.Sprintf("SkewedChiSquare(c=%v)", c), kernels.SkewedChiSquare{C: c},
		mse.OfSketch("SkewedChiSquare", "Sutherland & Schneider 2015", 1, e.out, mse.SkewedChiSquareIID(c)))
	f.back.finish = func(dx, x, _ []T, a, _ T) {
		for i, v := range x {
			dx[i] *= a / T(float64(v)+c)
		}
	}
	return f, nil
}

// sech draws a number with the density sech(πω), whose distribution function is 2/π·atan(e^(πω)).
func sech(rng *rand.Rand) float64 {
	u := rng.Float64()
	for u == 0 { // would be infinite
		u = rng.Float64()
	}
	return math.Log(math.Tan(math.Pi/2*u)) / math.Pi
}
