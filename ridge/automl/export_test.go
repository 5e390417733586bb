package automl

import (
	"context"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Landmarks returns the largest number of landmarks of a kernel of n rows.
var Landmarks = Options.landmarks

// FitsKernel reports whether the last fit of n rows of d columns takes the kernel of all rows.
func FitsKernel(o Options, n, d int) bool {
	return o.fitsKernel(&choice{learnt: learnt{kernel: kernels.Gaussian{LengthScale: 1}}, Report: Report{Outputs: 1}}, n, d)
}

// KernelFit is the last fit of any number of rows with the kernel of all rows, of columns in units
// of deviations.
func KernelFit[T dense.Float](ctx context.Context, rows ridge.Rows[T], o Options, k kernels.Kernel, seed uint64) (*Result[T], bool, error) {
	src := rand.NewPCG(seed, 2)
	drawn, err := draw(ctx, rows, o, rand.New(src))
	if err != nil {
		return nil, false, err
	}
	at, err := standardised(drawn.all.X, deviations)
	if err != nil {
		return nil, false, err
	}
	r, found := new(Result[T]), choice{learnt: learnt{space: at, kernel: k}, Report: Report{Classes: o.Classes, Outputs: drawn.all.Y.Cols, Kernel: "Gaussian"}}
	done, err := kernelFit(&search{Options: o, ctx: ctx, src: src}, found, rows, drawn, r)
	return r, done, err
}
