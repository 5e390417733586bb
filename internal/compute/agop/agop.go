// Package agop makes metrics of the average gradient outer product.
package agop

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
)

// Metric returns the symmetric L with L² = M/‖M‖ + 10⁻⁴·I, for a multiple M of the mean of ∇f∇fᵀ
// and its spectral norm [Radhakrishnan et al. 2024]. The error reports an M that is zero, one
// without eigenvalues, and the end of ctx.
func Metric(ctx context.Context, m *mat.SymDense) (dense.Matrix[float64], error) {
	var eig mat.EigenSym
	converged := false
	if err := interrupt.Await(ctx, func() { converged = eig.Factorize(m, true) }); err != nil {
		return dense.Matrix[float64]{}, err
	}
	if !converged {
		return dense.Matrix[float64]{}, errors.New("the eigenvalues of the metric did not converge")
	}
	var q, scaled, root mat.Dense
	eig.VectorsTo(&q)
	values := eig.Values(nil)
	norm := values[len(values)-1]
	if !(norm > 0) {
		return dense.Matrix[float64]{}, errors.New("the gradients are zero, which tells no metric")
	}
	scaled.Apply(func(_, j int, v float64) float64 { return v * math.Sqrt(max(values[j]/norm, 0)+1e-4) }, &q)
	root.Mul(&scaled, q.T())
	return gonum.FromMat[float64](&root), nil
}
