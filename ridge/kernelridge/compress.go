package kernelridge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/landmarks"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Compress approximates a model m of Fit by ridge regression of the means of m at the rows, with r
// of the rows as landmarks and the penalty 2⁻²⁰·λ for the penalty λ of m. A prediction of the model
// of Compress with r landmarks computes r values of the kernel. Compress returns an error for an m
// without rows, and an r outside 1 … n for n rows of m.
func Compress[T dense.Float](ctx context.Context, m *ridge.Model[T], r int, src rand.Source) (*ridge.Model[T], error) {
	if m == nil {
		return nil, errors.New("kernelridge: m is nil, want a model of Fit")
	}
	if src == nil {
		return nil, errors.New("kernelridge: src is nil, want a source of randomness")
	}
	x, _ := m.Rows()
	if r < 1 || r > x.Rows {
		return nil, fmt.Errorf("kernelridge: r = %d, want 1 to %d", r, x.Rows)
	}
	k := m.Map().Kernel()
	chosen, err := landmarks.Pivoted(ctx, k, x, r, src)
	if err != nil {
		return nil, err
	}
	phi, err := rff.Nystroem(k, chosen)
	if err != nil {
		return nil, err
	}
	means := ridge.Block[T]{X: x, Y: m.Mean(dense.Matrix[T]{}, x)}
	return ridge.Fit(ctx, phi, means, ridge.Options{Ratio: 0x1p-20 * m.Noise()[0] / m.Prior()[0]})
}
