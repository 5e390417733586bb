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

// Prediction is the exact mean and mean squared error of an estimate.
type Prediction struct {
	// Mean is the exact mean of the estimate over draws of the frequencies. Mean is the kernel if
	// the map is unbiased, and NaN if no law is known.
	Mean float64

	// MSE is the exact mean squared error over draws of the frequencies, against the kernel of the
	// map, or against Mean if the map names no kernel. MSE is NaN if no law is known.
	MSE float64

	// Law names the features, the frequencies and the source of the law. Law is "" if no law is
	// known.
	Law string
}

// String returns the error and its law.
func (p Prediction) String() string {
	if p.Law == "" {
		return "no law is known"
	}
	return fmt.Sprintf("%.6g: %s", p.MSE, p.Law)
}

// Theory returns the exact mean squared error of the estimate φ(x)ᵀψ(y) of the kernel at one pair
// of points, over draws of the frequencies, for φ = m and ψ = rff.Keys(m). The frequencies have the
// law of w, or of the frequencies of m if w is nil. Theory reads only the law and the number of the
// frequencies in w, neither their values nor the number of frequencies in m.
//
// Theory knows laws for maps of package rff over frequencies of package orf:
//
//   - other random maps of the Gaussian and the softmax kernel: iid, Haar and simplex rows;
//   - Angular: iid and Haar orthogonal rows, also of fixed length;
//   - SDERF, ArcCosine, Matern, and maps of New: iid rows;
//   - Laplacian: rows of orf.Cauchy; DotProduct: all rows but those of Halton and Cauchy;
//   - Centred and Compose: the law of the inner map at centred points and at affine images.
//
// Theory knows no law for other combinations: MSE is NaN and Law is "". For a biased map of New,
// Mean is not the kernel, and MSE contains the square of the bias. Each law is exact for finite d
// and m, to 10 digits or more, and by quadrature for maps of New; docs/maps.md says more. The cost
// is O(d) operations and O(√d) terms of a series, O(d²) for SADERF and ADERF. An error beyond the
// range of float64 is +Inf or 0.
//
// Theory panics if m is nil, and if x and y are not points of the dimension of m and w.
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

// estimateLaw is the law of the estimates of a map.
type estimateLaw struct {
	mse.Estimate
	kernel kernels.Kernel // nil if the map names no kernel
}

// lawOf returns the law of the estimates of m with frequencies of the law of w, and whether it is
// known. lawOf panics if w is not of the dimension of m.
func lawOf[T dense.Float](m rff.Map[T], w orf.Projection[T]) (estimateLaw, bool) {
	lawful, ok := m.(mse.Lawful)
	if !ok {
		return estimateLaw{}, false
	}
	l := lawful.Law()
	if w != nil {
		r := mse.RowsOf(w)
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
	e, ok := l.Estimate()
	return estimateLaw{Estimate: e, kernel: m.Kernel()}, ok
}

// at returns the mean and the mean squared error of the estimate, and whether they are known.
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
