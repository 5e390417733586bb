package kernelridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/compute/conjugate"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/landmarks"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
)

// Result has the model of Fit and estimates of leave-one-out errors.
type Result[T dense.Float] struct {
	// Model has the means f(x) = b + Σ_i a_i·k(x, x_i) for rows x_i, and the noise variance σ² of
	// maximum evidence for the penalty λ = Options.Ratio. Standard deviations of Model come from a
	// fit with the first 1000 landmarks of the preconditioner, and are at least the exact ones. If
	// Options.Probes is above 0, Model.Band computes widths of bands from the errors in LeftOut.
	Model *ridge.Model[T]

	// LeftOut (n×p) estimates the leave-one-out errors y_i − f⁻ⁱ(x_i) of the n rows with p targets
	// each, where f⁻ⁱ is the fit without row i; empty if Options.Probes is 0.
	LeftOut dense.Matrix[float64]

	// LeftOutError is, for each target, an estimate of the relative standard error of the root mean
	// square of LeftOut that comes from few Probes: the mean of D_i/M_i over rows i with estimates
	// M_i of the diagonal of (K + λΩ⁻¹)⁻¹ of standard errors D_i, weighted by squares of LeftOut; nil
	// if Options.Probes is 0.
	LeftOutError []float64
}

// Fit fits kernel ridge regression with the kernel k to rows of inputs and targets, by
// preconditioned conjugate gradients. Rows of weight 0 do not take part in the fit. Fit returns an
// error for an invalid kernel, no row of positive weight, targets, weights or coordinates whose
// squares overflow or underflow, a kernel that is not finite at a row, *ridge.NotConverged with a
// model if the iterations do not converge or ctx ends, and an error with a model, but without
// LeftOut, if the probes tell too little of the leave-one-out errors of a third of the rows.
func Fit[T dense.Float](ctx context.Context, k kernels.Kernel, rows ridge.Block[T], o Options) (*Result[T], error) {
	if err := argument.Context("kernelridge", ctx); err != nil {
		return nil, err
	}
	if err := kernels.Check(k); err != nil {
		return nil, fmt.Errorf("kernelridge: %w", err)
	}
	if err := rows.Check(rows.X.Cols, rows.Y.Cols); err != nil {
		return nil, err
	}
	var kept []int
	for i := range rows.X.Rows {
		if rows.Weight(i) > 0 {
			kept = append(kept, i)
		}
	}
	o, err := o.sized(len(kept))
	switch {
	case err != nil:
		return nil, err
	case len(kept) == 0:
		return nil, errors.New("kernelridge: no rows of positive weight")
	case rows.Y.Cols == 0:
		return nil, errors.New("kernelridge: Y has no columns, want a target")
	}
	if err := limit.Memory[float64](len(kept), o.Rank+8*(rows.Y.Cols+o.Probes+1)); err != nil {
		return nil, fmt.Errorf("kernelridge: %d rows with Rank = %d and Probes = %d: %w", len(kept), o.Rank, o.Probes, err)
	}
	f := &fit[T]{o: o, rng: rand.New(o.Src), k: k, rows: layout.Rows(rows.X, kept)}
	f.y = dense.Copy(dense.Matrix[float64]{}, layout.Rows(rows.Y, kept))
	if err := checkRange[T](f.y, rows.Weight, kept); err != nil {
		return nil, err
	}
	if rows.Weights != nil {
		f.root = make([]float64, len(kept))
		for i, at := range kept {
			f.root[i] = math.Sqrt(rows.Weight(at))
		}
	}
	if !o.NoIntercept {
		f.centre()
	}
	stop := f.run(ctx, kept)
	if f.m == nil {
		return nil, stop
	}
	r := &Result[T]{f.m, f.errors, f.relative}
	if f.errors.Data == nil {
		return r, stop
	}
	if len(kept) < rows.X.Rows {
		r.LeftOut = dense.New[float64](rows.X.Rows, rows.Y.Cols)
		means := f.m.Mean(dense.Matrix[T]{}, rows.X)
		for i := range r.LeftOut.Rows {
			for j := range r.LeftOut.Cols {
				r.LeftOut.Set(i, j, float64(rows.Y.At(i, j))-float64(means.At(i, j)))
			}
		}
		for i, at := range kept {
			copy(r.LeftOut.Row(at), f.errors.Row(i))
		}
	}
	sizes := r.LeftOut.Clone()
	for i, v := range sizes.Data {
		sizes.Data[i] = min(math.Abs(v), math.MaxFloat64)
	}
	if r.Model, err = f.m.WithBands(ridge.Bands[T]{Errors: sizes}); err != nil {
		return nil, err
	}
	return r, stop
}

type fit[T dense.Float] struct {
	o    Options
	rng  *rand.Rand
	k    kernels.Kernel
	rows dense.Matrix[T]
	y    dense.Matrix[float64] // without the mean
	mean []float64             // of targets, which the constants learn exactly; nil without constants
	root []float64             // √ω; nil for weights of 1

	m        *ridge.Model[T] // nil before steps
	errors   dense.Matrix[float64]
	relative []float64 // standard errors of errors
}

// centre subtracts the weighted mean of the targets, to which Options.Tolerance would be relative.
func (f *fit[T]) centre() {
	f.mean = make([]float64, f.y.Cols)
	for range 2 { // the second mean is what rounding has left
		whole, mean := 0.0, make([]float64, f.y.Cols)
		for i := range f.y.Rows {
			whole += f.weight(i)
			for j, v := range f.y.Row(i) {
				mean[j] += f.weight(i) / whole * (v - mean[j])
			}
		}
		for j, v := range mean {
			f.mean[j] += v
			for i := range f.y.Rows {
				f.y.Row(i)[j] -= v
			}
		}
	}
}

func (f *fit[T]) run(ctx context.Context, kept []int) error {
	k, x := gramian.Images(f.k, dense.Copy(dense.Matrix[float64]{}, f.rows))
	var product conjugate.Operator
	if f.o.Product != nil {
		product = &elsewhere{f.k, dense.Copy(dense.Matrix[float64]{}, f.rows), f.root, f.o.Product}
	} else {
		if err := checkCoordinates(x, kept); err != nil {
			return err
		}
		here := newOperator(k, x, f.root, gramian.Medians(x))
		if err := here.keep(ctx, f.o.Memory); err != nil {
			return err
		}
		product = here
	}
	trace := 0.0
	for i := range x.Rows {
		trace += f.weight(i) * k.Eval(x.Row(i), x.Row(i))
	}
	factor, m, err := f.factor(ctx, k, x)
	if err != nil {
		return err
	}
	if trace-trace != 0 {
		return fmt.Errorf("kernelridge: the sum of ω·k(x, x) is %v, want a finite number: scale the rows", trace)
	}
	system := &conjugate.System{
		S: product, Right: f.right(), Ratio: f.o.Ratio, Trace: trace, Unit: 0x1p-24, Factor: factor, Most: f.o.MaxIterations,
	}
	aim := newAim(f.o, system)
	start := time.Now()
	var at *conjugate.Solution
	_, err = system.Solve(ctx, f.rng, func(now *conjugate.Solution) {
		at = now
		aim.look(at)
		if f.o.Progress == nil {
			return
		}
		residual, goal := aim.farthest(at)
		p := Progress{Iterations: at.Passes, Residual: residual, Tolerance: goal, Elapsed: time.Since(start)}
		if residual > goal && residual < 1 {
			p.Left = time.Duration(float64(p.Elapsed) * (math.Log(goal)/math.Log(residual) - 1))
		}
		f.o.Progress(p)
	})
	if at == nil || err != nil && ctx.Err() == nil {
		if f.o.Product == nil && ctx.Err() == nil {
			err = fmt.Errorf("kernelridge: Options.Ratio = %v, and the sum of ω·k(x, x) is %.3g: %w", f.o.Ratio, trace, err)
		}
		return err
	}
	a, b, noise := f.finish(at.X, system.Right)
	var unknown error
	if f.o.Probes > 0 && ctx.Err() == nil {
		unknown = f.leaveOut(ctx, k, x, a, at, system.Right)
	}
	for j, v := range f.mean {
		b[j] += v
	}
	if f.m, err = m.WithKernel(f.rows, a, b, noise); err != nil {
		return fmt.Errorf("kernelridge: Options.Ratio = %v: %w", f.o.Ratio, err)
	}
	if at.Solved < system.Right.Cols && !aim.rounded(at) {
		residual, goal := aim.farthest(at)
		return &ridge.NotConverged{Iterations: at.Passes, Ratio: f.o.Ratio, Bound: residual, Tolerance: goal, Stalled: at.Stalled, Cause: ctx.Err()}
	}
	return unknown
}

func (f *fit[T]) weight(i int) float64 {
	if f.root == nil {
		return 1
	}
	return f.root[i] * f.root[i]
}

func (f *fit[T]) right() dense.Matrix[float64] {
	n, outputs := f.y.Rows, f.y.Cols
	right := dense.New[float64](n, outputs+1+f.o.Probes)
	for i := range n {
		row, root := right.Row(i), math.Sqrt(f.weight(i))
		for j, v := range f.y.Row(i) {
			row[j] = root * v
		}
		if !f.o.NoIntercept {
			row[outputs] = root
		}
		for j := outputs + 1; j < len(row); j++ {
			row[j] = float64(1 - 2*f.rng.IntN(2))
		}
	}
	return right
}

// factor returns R⁻ᵀK_LnΩ^½ for the Gram matrix K_LL = RᵀR of landmarks L, without those that
// others determine to rounding, and a model of standard deviations with the first landmarks.
func (f *fit[T]) factor(ctx context.Context, k kernels.Kernel, x dense.Matrix[float64]) (factor dense.Matrix[float64], m *ridge.Model[T], err error) {
	const (
		proposed = 8    // rows among which a landmark is chosen
		most     = 1000 // landmarks of the model
		atOnce   = 1024 // columns of the factor
	)
	rows := f.rows
	if n := proposed * f.o.Rank; n < rows.Rows {
		some := f.rng.Perm(rows.Rows)[:n]
		slices.Sort(some)
		rows = layout.Rows(rows, some)
	}
	chosen, err := landmarks.Pivoted(ctx, f.k, rows, f.o.Rank, f.rng)
	if err != nil {
		return factor, nil, err
	}
	_, points := gramian.Images(f.k, dense.Copy(dense.Matrix[float64]{}, chosen))
	var gram dense.Matrix[float64]
	// Products of rows round more than the factorisation allows.
	if err := interrupt.Await(ctx, func() { gram = kernels.Gram(gram, k, points, dense.Matrix[float64]{}) }); err != nil {
		return factor, nil, err
	}
	p, err := cholesky.NewPivoted(gram, cholesky.Rounding(gram))
	if err != nil {
		return factor, nil, fmt.Errorf("kernelridge: the Gram matrix of landmarks is not positive semi-definite: %w", err)
	}
	points = layout.Rows(points, p.Order[:p.Rank])
	half := p.Factor()
	factor = dense.New[float64](p.Rank, x.Rows)
	for lo := 0; lo < x.Rows; lo += atOnce {
		hi := min(lo+atOnce, x.Rows)
		part := gramian.Gram(factor.ColRange(lo, hi), k, points, x.RowRange(lo, hi))
		if f.root != nil {
			for i := range part.Rows {
				floats.Mul(part.Row(i), f.root[lo:hi])
			}
		}
		half.Half(ctx, part)
		if err := ctx.Err(); err != nil {
			return factor, nil, err
		}
	}
	weights := make([]T, f.rows.Rows)
	for i := range weights {
		weights[i] = T(f.weight(i))
	}
	phi, err := rff.Nystroem(f.k, chosen.RowRange(0, min(chosen.Rows, most)))
	if err != nil {
		return factor, nil, err
	}
	zeros := ridge.Block[T]{X: f.rows, Y: dense.New[T](f.rows.Rows, f.y.Cols), Weights: weights}
	m, err = ridge.Fit(ctx, phi, zeros, ridge.Options{Noise: f.o.Ratio, Prior: 1, NoIntercept: f.o.NoIntercept})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("kernelridge: Options.Ratio = %v: %w", f.o.Ratio, err)
	}
	return factor, m, err
}

// finish returns the weights a = Ω^½(A⁻¹Ω^½y − b·A⁻¹Ω^½1), the constants b, and the noise λ·aᵀ(y −
// b)/n of maximum evidence, with n − 1 for n if there are constants.
func (f *fit[T]) finish(x, right dense.Matrix[float64]) (a dense.Matrix[float64], constant, noise []float64) {
	n, outputs := f.y.Rows, f.y.Cols
	a, noise, constant = dense.New[float64](n, outputs), make([]float64, outputs), constantsOf(x, right, outputs)
	contrasts := float64(n)
	if !f.o.NoIntercept {
		contrasts = max(contrasts-1, 1)
	}
	for i := range n {
		root := math.Sqrt(f.weight(i))
		for j, b := range constant {
			a.Set(i, j, root*(x.At(i, j)-b*x.At(i, outputs)))
			noise[j] += f.o.Ratio * a.At(i, j) * (f.y.At(i, j) - b) / contrasts
		}
	}
	for j := range noise {
		noise[j] = max(noise[j], 0x1p-500*f.o.Ratio)
	}
	return a, constant, noise
}

// constantsOf returns the constants b for which 1ᵀa = 0: the ratios of the products of right's
// column at index outputs, Ω^½1 or 0, with columns of X.
func constantsOf(x, right dense.Matrix[float64], outputs int) []float64 {
	b, whole := make([]float64, outputs), 0.0
	for i := range x.Rows {
		root := right.At(i, outputs)
		whole += root * x.At(i, outputs)
		for j := range b {
			b[j] += root * x.At(i, j)
		}
	}
	for j := range b {
		if b[j] /= whole; !(whole > 0) {
			b[j] = 0
		}
	}
	return b
}

// The errors at rows left out are z_i/(M_ii√ω_i) with z = A⁻¹Ω^½(y − b) and, because b is fitted
// too, M = A⁻¹ − uuᵀ/(uᵀΩ^½1), u = A⁻¹Ω^½1; the error of a single row is +Inf. The standard error
// of an estimate of M_ii, which is of the size of (A⁻¹)_ii or larger, replaces a smaller estimate.
func (f *fit[T]) leaveOut(ctx context.Context, k kernels.Kernel, rows, a dense.Matrix[float64], at *conjugate.Solution, right dense.Matrix[float64]) error {
	n, outputs := f.y.Rows, f.y.Cols
	diagonal, err := at.P.Diagonal(ctx)
	if err != nil {
		return err
	}
	probes := right.ColRange(outputs+1, right.Cols)
	known := at.P.Solve(probes)
	whole, deviations := 0.0, make([]float64, n) // of the diagonal, by the probes
	for i := range n {
		whole += right.At(i, outputs) * at.X.At(i, outputs)
		for j, z := range probes.Row(i) {
			d := (at.X.At(i, outputs+1+j) - known.At(i, j)) / float64(probes.Cols)
			diagonal[i] += z * d
			deviations[i] = math.Hypot(deviations[i], d)
		}
	}
	left, unknown, norms := dense.New[float64](n, outputs), 0, conjugate.Norms(f.y)
	relative, squares := make([]float64, outputs), make([]float64, outputs)
	for i := range n {
		root, x := math.Sqrt(f.weight(i)), rows.Row(i)
		least := 1 / (f.o.Ratio + root*root*k.Eval(x, x)) // of (A⁻¹)_ii, which is at most 1/λ
		own := min(max(diagonal[i], least), 1/f.o.Ratio)
		if u := at.X.At(i, outputs); u != 0 {
			own = max(own-u*u/whole, 0x1p-20*least)
		}
		if own < deviations[i] { // the estimate is mostly the error of the probes
			own = deviations[i]
			unknown++
		}
		for j := range outputs {
			e := a.At(i, j) / (root * root * own)
			left.Set(i, j, e)
			if e /= norms[j]; norms[j] > 0 {
				squares[j] += e * e
				relative[j] += e * e * deviations[i] / own
			}
			if n == 1 && !f.o.NoIntercept {
				left.Set(i, j, math.Inf(1))
			}
		}
	}
	if 3*unknown > n {
		return fmt.Errorf("kernelridge: errors of Options.Probes = %d with Options.Rank = %d hide the leave-one-out errors of %d in %d rows: want more Probes, or a larger Rank", f.o.Probes, f.o.Rank, unknown, n)
	}
	for j, square := range squares {
		if square > 0 {
			relative[j] /= square
		}
	}
	f.errors, f.relative = left, relative
	return nil
}
