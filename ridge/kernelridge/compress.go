package kernelridge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/landmarks"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Compress approximates the means of a model m of Fit by functions b + Σ_i a_i·k(x, z_i) of at most
// r of the rows, the landmarks z_i, by ridge regression of the means of m at all rows. The penalty
// is 2⁻²⁰·λ for the penalty λ of m, or 2⁻³⁹·Σk(x_i, x_i) if that is larger. A mean of the model of
// Compress takes a value of the kernel for each landmark. Its noise, deviations and bands are those
// of m, and do not hold the difference of its means from those of m: with too few landmarks new
// targets lie outside the bands. Choose an r whose means at the rows agree with those of m. Compress
// returns an error for an m without rows, an r outside 1 … n for n rows of m, and a kernel that is 0
// at all rows.
func Compress[T dense.Float](ctx context.Context, m *ridge.Model[T], r int, src rand.Source) (*ridge.Model[T], error) {
	if err := argument.Context("kernelridge", ctx); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, errors.New("kernelridge: m is nil, want a model of Fit")
	}
	if src == nil {
		return nil, errors.New("kernelridge: src is nil, want a source of randomness")
	}
	rows, _ := m.Rows()
	if rows.Rows == 0 {
		return nil, errors.New("kernelridge: m has no rows, want a model of Fit")
	}
	if r < 1 || r > rows.Rows {
		return nil, fmt.Errorf("kernelridge: r = %d, want 1 to %d", r, rows.Rows)
	}
	k, none := m.Map().Kernel(), dense.Matrix[float64]{}
	x := dense.Copy(none, rows)
	z, err := landmarks.Pivoted(ctx, k, x, r, src)
	if err != nil {
		return nil, err
	}
	phi, err := rff.Nystroem(k, z)
	if err != nil {
		return nil, err
	}
	trace := 0.0
	for i := range x.Rows {
		trace += k.Eval(x.Row(i), x.Row(i))
	}
	if trace == 0 {
		return nil, errors.New("kernelridge: the kernel is 0 at all rows of m")
	}
	means := ridge.Block[float64]{X: x, Y: dense.Copy(none, m.Mean(dense.Matrix[T]{}, rows))}
	ratio := max(0x1p-20*m.Noise()[0]/m.Prior()[0], 0x1p-39*trace)
	fit, err := ridge.Fit(ctx, phi, means, ridge.Options{Noise: ratio, Prior: 1})
	if err != nil {
		return nil, err
	}
	// The sum Σa_i·k(z, z_i) has the values of the features at the landmarks.
	gram := kernels.Gram(none, k, z, none)
	p, err := cholesky.NewPivoted(gram, cholesky.Rounding(gram))
	if err != nil {
		return nil, fmt.Errorf("kernelridge: the kernel matrix of landmarks: %w", err)
	}
	z = layout.Rows(z, p.Order[:p.Rank])
	_, b := fit.Weights()
	a := fit.Mean(none, z)
	for i := range a.Rows {
		vecmath.AddScaled(a.Row(i), b, -1)
	}
	p.Factor().Solve(a)
	return m.WithKernel(dense.Copy(dense.Matrix[T]{}, z), a, b, m.Noise())
}
