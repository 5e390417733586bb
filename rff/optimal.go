package rff

import (
	"cmp"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
)

// SoftmaxOptimal has the optimal positive features of the softmax kernel exp(s·xᵀy), where s is
// Scale (FAVOR++) [Likhosherstov et al. 2022]:
//
//	φ(x) = D·exp(−s‖x‖²/2)/√m · [exp(a‖w₁‖² + B√s·w₁ᵀx) … exp(a‖w_m‖² + B√s·w_mᵀx)],
//	B = √(1−4a), D = (1−4a)^(d/4),  R^d → R^m.
//
// In the formula of SoftmaxOptimal, a is the field A, which OptimalA chooses for a set of points; a
// < 0 damps the features of long frequencies w, and a = 0 gives SoftmaxPositive. The map of
// SoftmaxOptimal is a LogMap, and estimates of the kernel are unbiased for frequencies from N(0,
// I). With m independent N(0, I) frequencies, SoftmaxOptimal has at points x/√s and y/√s of R^d the
// mean squared error ((1−4a)^d·(1−8a)^(−d/2)·exp(2(1−4a)p/(1−8a) − ‖x‖² − ‖y‖²) − K²)/m, for p =
// ‖x+y‖² and K = exp(xᵀy).
type SoftmaxOptimal struct {
	Scale float64 // s, above 0
	A     float64 // a, below 1/8
}

func (SoftmaxOptimal) perFrequency() int { return 1 }
func (s SoftmaxOptimal) String() string {
	return fmt.Sprintf("SoftmaxOptimal(scale=%v, a=%v)", s.Scale, s.A)
}

func softmaxOptimal[T dense.Float](scale, a float64, e engine[T]) (*positives[T], error) {
	if _, err := root[T]("scale", scale); err != nil {
		return nil, err
	}
	if err := dampable(a); err != nil {
		return nil, err
	}
	slope, err := inRange[T]("a", a, math.Sqrt((1-4*a)*scale))
	if err == nil && e.recipe.fresh {
		e.recipe.Offsets, err = optimalOffsets(a, e)
	}
	if err := cmp.Or(err, each("offsets", e.recipe.Offsets, e.out)); err != nil {
		return nil, err
	}
	return exponential(e, exponent[T]{slope: slope, scale: scale, offsets: e.recipe.Offsets}, mse.Optimal(a), "Likhosherstov et al. 2022"), nil
}

// dampable returns an error if a makes the variance infinite.
func dampable(a float64) error {
	if !(a < 0.125) || math.IsInf(a, -1) {
		return fmt.Errorf("rff: a = %v, want a number below 1/8", a)
	}
	return nil
}

// optimalOffsets returns a‖w‖² plus the logarithm of the unbiasing factor, for each frequency.
func optimalOffsets[T dense.Float](a float64, e engine[T]) ([]T, error) {
	constant := float64(e.in)/4*math.Log1p(-4*a) - math.Log(float64(e.out))/2
	offsets := make([]T, e.out)
	frequencies, err := frequenciesOf(e.w)
	if err != nil {
		return nil, err
	}
	for k := range offsets {
		v := a*2*vecmath.HalfSquaredNorm(frequencies.Row(k)) + constant
		offsets[k] = T(v)
		if math.IsInf(float64(offsets[k]), 0) {
			return nil, fmt.Errorf("rff: a = %v gives a feature of logarithm %v, outside the range of %T", a, v, offsets[k])
		}
	}
	return offsets, nil
}

// OptimalA returns the number A of SoftmaxOptimal for queries x (n×d), keys y (n'×d) and the kernel
// exp(scale·xᵀy). With φ = scale·E‖x+y‖²/d over all pairs of a row x and a row y, OptimalA returns
// (1 − 2φ − √((2φ+1)² + 8φ))/16, which is at most 0.
//
// The number of OptimalA minimises the second moment of the kernel estimate for a pair x, y whose
// ‖x+y‖² is the mean over all pairs [Likhosherstov et al. 2022]. For n queries and n' keys of R^d,
// OptimalA takes O((n+n')·d) operations. OptimalA returns an error for an x or y without rows, a
// scale that is not positive, and squared norms that overflow.
func OptimalA[T dense.Float](x, y dense.Matrix[T], scale float64) (float64, error) {
	if err := checkSamples(x, y, scale); err != nil {
		return 0, err
	}
	meanX, squareX := moments(x)
	meanY, squareY := moments(y)
	p := squareX + squareY
	for j, v := range meanX {
		p += 2 * v * meanY[j]
	}
	phi := scale * max(p, 0) / float64(x.Cols)
	if math.IsNaN(p) || math.IsInf(phi, 0) {
		return 0, fmt.Errorf("rff: the mean of scale·‖x+y‖² is %v, want a finite number", scale*p)
	}
	return leastMoment(phi), nil
}

func checkSamples[T dense.Float](x, y dense.Matrix[T], scale float64) error {
	x.Check()
	y.Check()
	if x.Rows < 1 || y.Rows < 1 || x.Cols < 1 || x.Cols != y.Cols {
		return fmt.Errorf("rff: x is %d×%d, y is %d×%d, want points of one dimension", x.Rows, x.Cols, y.Rows, y.Cols)
	}
	return positive("scale", scale)
}

func leastMoment(phi float64) float64 {
	// Half the root, so that no square overflows.
	half := math.Hypot(phi+0.5, math.Sqrt(2*phi))
	if phi < 0.5 {
		// (1 − 2φ)² − ((2φ+1)² + 8φ) = −16φ: nothing cancels in this form.
		return -phi / (1 - 2*phi + 2*half)
	}
	return (0.5-phi)/8 - half/8
}

func moments[T dense.Float](x dense.Matrix[T]) (mean []float64, square float64) {
	mean = make([]float64, x.Cols)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			mean[j] += float64(v)
		}
		square += 2 * vecmath.HalfSquaredNorm(x.Row(i))
	}
	n := float64(x.Rows)
	for j := range mean {
		mean[j] /= n
	}
	return mean, square / n
}
