package validate

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// Prediction is the exact mean and mean squared error of the estimate of a kernel by a random map.
type Prediction struct {
	// Mean is the exact mean of the estimate of the kernel over draws of the frequencies. Mean is
	// the value of the kernel if the map is unbiased, and NaN if no formula is known.
	Mean float64

	// MSE is the exact mean squared error of the estimate of the kernel, or the variance if the map
	// names no kernel; NaN if no formula is known.
	MSE float64

	// Law names the features, the frequencies and the source of the formula for MSE.
	Law string
}

// String returns MSE and Law, or "no law is known".
func (p Prediction) String() string {
	if p.Law == "" {
		return "no law is known"
	}
	return fmt.Sprintf("%.6g: %s", p.MSE, p.Law)
}

// Theory returns the exact mean squared error of the estimate φ(x)ᵀψ(y) of the kernel at one pair
// of points, over draws of the frequencies, for φ = m and ψ = rff.Keys(m). Theory computes a mean
// squared error over random frequencies, with the distribution and the number of the frequencies in
// the argument w, or of those in the feature map m if w is nil. The drawn values of the frequencies
// in w have no influence.
//
// Theory knows formulas for maps of package rff over frequencies of package orf:
//
//   - other random maps of the Gaussian and the softmax kernel: iid, Haar and simplex rows;
//   - Angular: iid and Haar orthogonal rows, also of fixed length;
//   - SDERF, ArcCosine, Matern, and maps of New: iid rows;
//   - Laplacian: rows of orf.Cauchy; DotProduct: all rows but those of Halton and Cauchy;
//   - Centred and Compose: the law of the inner map at centred points and at affine images.
//
// Without a known formula, Theory returns MSE = NaN and Law = "". For a biased map of rff.New, the
// Mean that Theory returns is not the value of the kernel, and MSE contains the square of the bias.
// Each formula of Theory is exact for finite dimensions and numbers of frequencies, to 10 digits or
// more, and by quadrature for maps of rff.New; docs/maps.md says more.
//
// For points of dimension d, Theory takes O(d) operations, and O(d²) operations for SADERF, ADERF
// and SDERF. Theory returns +Inf or 0 for a mean squared error beyond the range of float64. Theory
// panics if m is nil, and for points x, y or frequencies w whose dimension does not fit m.
func Theory[T dense.Float](m rff.Map[T], w orf.Projection[T], x, y []float64) Prediction {
	if m == nil {
		panic("validate: m is nil, want a map")
	}
	if in, _ := m.Dims(); len(x) != in || len(y) != in {
		panic(fmt.Sprintf("validate: x has length %d, y has length %d, want points of R^%d", len(x), len(y), in))
	}
	if l, ok := lawOf(m, w); ok {
		if mean, mse, ok := l.at(x, y); ok {
			return Prediction{Mean: mean, MSE: mse, Law: l.Name}
		}
	}
	return Prediction{Mean: math.NaN(), MSE: math.NaN()}
}

type estimateLaw struct {
	mse.Errors
	kernel kernels.Kernel // nil if the map names no kernel
}

// lawOf panics if w is not of the dimension of m.
func lawOf[T dense.Float](m rff.Map[T], w orf.Projection[T]) (estimateLaw, bool) {
	lawful, ok := m.(mse.Lawful)
	if !ok {
		return estimateLaw{}, false
	}
	l := lawful.Law()
	if w != nil {
		r := mse.FrequenciesOf(w)
		// The frequencies of a composition have the dimension of its second map.
		want, _ := m.Dims()
		if own := l.Dim(); own > 0 {
			want = own
		}
		if r.D != want {
			panic(fmt.Sprintf("validate: w is %d×%d, want frequencies of R^%d", r.M, r.D, want))
		}
		l = l.Over(r)
	}
	e, ok := l.Errors()
	return estimateLaw{Errors: e, kernel: m.Kernel()}, ok
}

func (l estimateLaw) at(x, y []float64) (mean, mse float64, ok bool) {
	if l.Moments == nil {
		return l.kernel.Eval(x, y), l.MSE(x, y), true
	}
	mean, mse, ok = l.Moments(x, y)
	if l.kernel != nil {
		bias := mean - l.kernel.Eval(x, y)
		mse += bias * bias
	}
	return mean, mse, ok
}
