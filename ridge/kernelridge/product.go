package kernelridge

import (
	"context"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// elsewhere is S = Ω^½KΩ^½ whose products with K are those of Options.Product.
type elsewhere struct {
	k       kernels.Kernel
	x       dense.Matrix[float64]
	root    []float64 // √ω; nil for weights of 1
	product func(ctx context.Context, m *ridge.Model[float64]) (dense.Matrix[float64], error)
}

// Multiply hands over V as the weights of a model, whose own map has one landmark.
func (e *elsewhere) Multiply(ctx context.Context, dst, v dense.Matrix[float64], _ bool) error {
	v = v.Clone()
	if e.root != nil {
		scaleRows(v, e.root)
	}
	large := 0
	for i := range e.x.Rows {
		if e.k.Eval(e.x.Row(i), e.x.Row(i)) > e.k.Eval(e.x.Row(large), e.x.Row(large)) {
			large = i
		}
	}
	one := e.x.RowRange(large, large+1)
	phi, err := rff.Nystroem(e.k, one)
	if err != nil {
		return err
	}
	m, err := ridge.Fit(ctx, phi, ridge.Block[float64]{X: one, Y: dense.New[float64](1, v.Cols)}, ridge.Options{Noise: 1, Prior: 1, NoIntercept: true})
	if err != nil {
		return err
	}
	noise := make([]float64, v.Cols)
	for j := range noise {
		noise[j] = 1
	}
	if m, err = m.WithKernel(e.x, v, make([]float64, v.Cols), noise); err != nil {
		return err
	}
	got, err := e.product(ctx, m)
	if err == nil {
		err = got.Validate()
	}
	if err == nil && (got.Rows != dst.Rows || got.Cols != dst.Cols) {
		err = fmt.Errorf("result of %d×%d, want %d×%d", got.Rows, got.Cols, dst.Rows, dst.Cols)
	}
	if err == nil {
		err = argument.Finite("result", got)
	}
	if err != nil {
		return fmt.Errorf("kernelridge: Options.Product: %w", err)
	}
	dense.Copy(dst, got)
	if e.root != nil {
		scaleRows(dst, e.root)
	}
	return nil
}
