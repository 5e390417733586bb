package components

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/agop"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Metric returns the symmetric d×d matrix L of a distance ‖L·(x − y)‖, from gradients ∇f_j of
// functions f_j of R^d at rows with the weights ω [Radhakrishnan et al. 2024]:
//
//	L = (M/‖M‖₂ + 10⁻⁴·I)^½,  M = Σω·Σ_j ∇f_j·∇f_jᵀ/Σω.
//
// The argument sums of Metric is for a feature map from rff.Gradients. An rff.Affine map x → L·x
// before a feature map shrinks directions along which the functions f_j vary little, down to 1/100.
// With few rows and many irrelevant columns, a regression on points L·x may predict new rows worse
// than a regression on x: compare both on rows held out.
//
// For points of R^d, Metric takes about 10·d³ operations. Metric returns an error for sums whose
// number of features is not a multiple of d, no rows, and gradients that are all zero.
func Metric[T dense.Float](ctx context.Context, sums *ridge.Sums[T]) (dense.Matrix[float64], error) {
	var none dense.Matrix[float64]
	if err := argument.Context("components", ctx); err != nil {
		return none, err
	}
	if sums == nil || sums.Map() == nil {
		return none, errors.New("components: sums is nil or zero, want those of ridge.NewSums or ridge.Sum")
	}
	d, width := sums.Map().Dims()
	if width%d != 0 {
		return none, fmt.Errorf("components: sums of a map R^%d → R^%d, want those of rff.Gradients", d, width)
	}
	if sums.Rows() == 0 {
		return none, errors.New("components: no rows, want at least 1 with a weight above 0")
	}
	weight, mean, scatter := sums.Features()
	if err := argument.FiniteAll("components: mean of gradients", mean); err != nil {
		return none, err
	}
	m := mat.NewSymDense(d, nil)
	for lo := 0; lo < width; lo += d {
		for i := range d {
			for j := range i + 1 {
				m.SetSym(i, j, m.At(i, j)+scatter.At(lo+i, lo+j)/weight+mean[lo+i]*mean[lo+j])
			}
		}
	}
	if err := argument.Finite("components: products of gradients", dense.Of(d, d, m.RawSymmetric().Data)); err != nil {
		return none, err
	}
	l, err := agop.Metric(ctx, m)
	if err != nil {
		return none, fmt.Errorf("components: %w", err)
	}
	return l, nil
}
