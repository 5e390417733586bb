package automl

import (
	"context"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Landmarks returns the largest number of landmarks of a kernel of n rows.
var Landmarks = Options.landmarks

// Ranks returns numbers of rows, of which the least are a sample.
var Ranks = Options.ranks

// FoldsOfGroups returns the fold of each row.
var FoldsOfGroups = foldsOfGroups

// FitsKernel reports whether the last fit of n rows of d columns takes the kernel of all rows.
func FitsKernel(o Options, n, d int) bool {
	return o.fitsKernel(&choice{learnt: learnt{kernel: kernels.Gaussian{LengthScale: 1}}, Report: Report{Outputs: 1}}, n, d)
}

// KernelFit is the last fit of any number of rows with the kernel of all rows, of columns in units
// of deviations. With groups λ is 0.3.
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
	if o.Groups != nil {
		s := &search{Options: o, ctx: ctx, src: src}
		found.ratio, found.Folds = 0.3, groupFolds
		return r, true, refitKernel(s, &found, view[T]{rows, o.Classes, o.ClassWeights, nil}, drawn, r)
	}
	found.Folds = randomFolds
	done, err := kernelFit(&search{Options: o, ctx: ctx, src: src}, found, rows, drawn, r)
	return r, done, err
}

// LeftOut returns the map of the kernel in columns of deviation 1, or of the columns for a nil k,
// the λ of least errors at left-out groups, and these errors.
func LeftOut(ctx context.Context, k kernels.Kernel, rows ridge.Block[float64], o Options) (phi rff.Map[float64], ratio float64, left dense.Matrix[float64], err error) {
	s := &search{Options: o, ctx: ctx, group: o.Groups, power: new(int)}
	at, err := standardised(rows.X, deviations)
	if err != nil {
		return nil, 0, left, err
	}
	if phi, err = s.landmarks(rows, at, k); err != nil {
		return nil, 0, left, err
	}
	ratio, _, left, err = s.byGroup(phi, rows)
	return phi, ratio, left, err
}
