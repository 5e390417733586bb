package automl

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/kernelridge"
)

const (
	mostWork  = 1 << 37 // the largest n²·(columns + 2·outputs) of a fit with the kernel of all rows
	mostBytes = 1 << 29 // of a kernel matrix in memory
	signs     = 16      // for the errors at rows left out
	// the least number of sampled rows for each length-scale that is learnt from them
	rowsOfScale = 20
)

// fitsKernel reports whether the last fit takes the kernel of all rows.
func (o Options) fitsKernel(l learnt, n, d, outputs int) bool {
	return n > exactRows && o.Landmarks == 0 && !o.HeavyTails && l.kernel != nil && l.space.kernel == nil && d <= mostMetric &&
		float64(n)*float64(n)*float64(d+2*(outputs+signs)) <= mostWork
}

// kernelFit fits the kernel of all rows, whose length-scales and λ have the least errors at rows
// left out of fits on a sample. It returns false if the iterations do not converge.
func kernelFit[T dense.Float](s *search, found *choice, t task[T], f *fitted[T]) (bool, error) {
	k, ratio, chosen, name, err := s.kernelScales(t.learnt, t.drawn)
	if err != nil {
		return false, err
	}
	if t.first {
		found.Kernel += name
	}
	b, err := collect(s.ctx, t.rows)
	if err != nil {
		return false, err
	}
	fit, err := iterate(s, k, b, ratio, signs)
	var slow *ridge.NotConverged
	switch {
	case errors.As(err, &slow):
		return false, nil
	case err != nil:
		return false, err
	case s.Classes > 0:
		stop := interrupt.Await(s.ctx, func() { f.Classifier, _, err = fit.Model.Classifier(b.Y, b.Weights, fit.LeftOut, s.Labels) })
		return true, cmp.Or(stop, err)
	}
	f.Model, f.fit, f.rows, f.chosen, f.left = fit.Model, fit, b, chosen, fit.LeftOut
	if t.goal.logs {
		f.left = fit.LeftOut.Clone()
		for i := range b.Y.Rows {
			for j, v := range b.Y.Row(i) {
				f.left.Set(i, j, math.Exp(float64(v))-t.back[j].at(float64(v)-f.left.At(i, j)))
			}
		}
	}
	return true, nil
}

func iterate[T dense.Float](s *search, k kernels.Kernel, b ridge.Block[T], ratio float64, probes int) (*kernelridge.Result[T], error) {
	var fit *kernelridge.Result[T]
	var err error
	stop := interrupt.Await(s.ctx, func() {
		fit, err = kernelridge.Fit(s.ctx, k, b, kernelridge.Options{
			Ratio: ratio, Tolerance: 1e-3, MaxIterations: 200, Memory: mostBytes, Probes: probes, Src: s.src,
		})
	})
	if stop != nil { // the fit may go on for a while
		return nil, stop
	}
	return fit, err
}

// kernelScales returns the kernel in the space, of rows in their own units, with a length-scale for
// each dimension if it lowers the errors at rows left out of the sample by more than it fits their
// noise. chosen are the numbers of the rows of the sample.
func (s *search) kernelScales(l learnt, drawn sample) (k kernels.Pullback, ratio float64, chosen []int, name string, err error) {
	b := drawn.all.RowRange(0, min(drawn.all.X.Rows, kernelridge.SampleRows))
	z, err := l.space.points(b.X)
	if err != nil {
		return k, 0, nil, "", err
	}
	if b = indicators(b, s.Classes); s.Classes == 0 {
		b.Y, _ = standardTargets(b)
	}
	b.X = z
	k = kernels.Pullback{K: l.kernel, A: l.space.matrix(), Centre: l.space.centre}
	chosen, name = drawn.numbers[:b.X.Rows], ", of all rows"
	n, d := float64(z.Rows), float64(z.Cols)
	var at kernelridge.Choice
	var failed error
	if d > 1 && n >= rowsOfScale*d {
		var own kernels.Pullback
		stop := interrupt.Await(s.ctx, func() { own, at, failed = kernelridge.Scales(s.ctx, k.K, b, s.src) })
		if stop != nil {
			return k, 0, nil, "", stop
		}
		if failed == nil && at.Score*(1+2*d/n) < at.Start {
			a := dense.New[float64](k.A.Rows, k.A.Cols)
			matmul.Mul(1, own.A, k.A, 0, a)
			k.A = a
			return k, at.Ratio, chosen, name + " with a length-scale for each dimension", nil
		}
	}
	candidates := []kernels.Kernel{k.K, scaled(k.K, 0.5), scaled(k.K, math.Sqrt(0.5))}
	stop := interrupt.Await(s.ctx, func() { at, failed = kernelridge.Choose(s.ctx, candidates, b, s.src) })
	if stop != nil {
		return k, 0, nil, "", stop
	}
	k.K = candidates[at.Kernel]
	return k, at.Ratio, chosen, name, failed
}

func scaled(k kernels.Kernel, factor float64) kernels.Kernel {
	switch k := k.(type) {
	case kernels.Gaussian:
		k.LengthScale *= factor
		return k
	case kernels.Matern:
		k.LengthScale *= factor
		return k
	}
	return k
}

// matrix returns L·diag(f).
func (s space) matrix() dense.Matrix[float64] {
	a := s.metric.Clone()
	if a.Rows == 0 {
		a = dense.New[float64](len(s.factors), len(s.factors))
		for j := range s.factors {
			a.Set(j, j, 1)
		}
	}
	for i := range a.Rows {
		row := a.Row(i)
		for j, f := range s.factors {
			row[j] *= f
		}
	}
	return a
}

func collect[T dense.Float](ctx context.Context, rows ridge.Rows[T]) (all ridge.Block[T], err error) {
	if b, memory := rows.(ridge.Block[T]); memory {
		return b, nil
	}
	d, p := 0, 0
	for b, err := range rows.Blocks() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return all, err
		}
		d, p = b.X.Cols, b.Y.Cols
		for i := range b.X.Rows {
			all.X.Data, all.Y.Data = append(all.X.Data, b.X.Row(i)...), append(all.Y.Data, b.Y.Row(i)...)
			all.Weights = append(all.Weights, T(b.Weight(i)))
		}
	}
	n := len(all.Weights)
	all.X, all.Y = dense.Of(n, d, all.X.Data), dense.Of(n, p, all.Y.Data)
	return all, nil
}

// kernelBands returns the model of a fit with bands from errors at rows left out. If scales were
// learnt, the rows with the chosen numbers do not count, unless there are few others.
func kernelBands[T dense.Float](ctx context.Context, f fitted[T], found *choice, left dense.Matrix[float64]) (*ridge.Model[T], error) {
	chosen, b := slices.Sorted(slices.Values(f.chosen)), f.rows
	var part ridge.Block[T]
	var sizes []float64
	for i := range b.X.Rows {
		if !(b.Weight(i) > 0) {
			continue
		}
		if _, own := slices.BinarySearch(chosen, i); own && found.Rows >= len(chosen)+unseenRows {
			continue
		}
		part.X.Data, part.Y.Data = append(part.X.Data, b.X.Row(i)...), append(part.Y.Data, b.Y.Row(i)...)
		part.Weights, sizes = append(part.Weights, T(b.Weight(i))), append(sizes, left.Row(i)...)
	}
	n, p := len(part.Weights), b.Y.Cols
	part.X, part.Y = dense.Of(n, b.X.Cols, part.X.Data), dense.Of(n, p, part.Y.Data)
	of := reweighted[T]{ctx, part, f.Model, math.Inf(1)}
	errs, scales, err := of.leaveOut(f.Model, part)
	if err != nil {
		return nil, err
	}
	units := scales.Clone()
	scaleBack(f.member, f.Model.Mean(dense.Matrix[T]{}, part.X), units)
	for i, e := range sizes {
		errs.Data[i] = math.Abs(e) / units.Data[i]
	}
	return bandsOf(ctx, f.Model, found, part, errs, scales)
}
