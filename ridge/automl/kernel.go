package automl

import (
	"context"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
	"github.com/seed-feabd252/randfeat/ridge/kernelridge"
)

const (
	// the largest n²·(columns + 2·(outputs + signs)) of fits with the kernel of all rows
	mostWork  = 1 << 35
	mostBytes = 1 << 30 // of a kernel matrix in memory
	signs     = 16      // for the errors at rows left out
	// the least λ of classes, over the mean weight of a row. With less, fits need more iterations,
	// and errors at rows left out, in which a residual counts 1/λ times, can spoil temperatures
	leastOfClasses = 0.01
	leastPower     = -6 // of 2, above leastOfClasses
	// the least number of sampled rows for each length-scale that is learnt from them
	rowsOfScale = 20
)

// fitsKernel reports whether the last fit of a part takes the kernel of all rows.
func (o Options) fitsKernel(l learnt, n, d, outputs int) bool {
	return n > exactRows && o.Landmarks == 0 && !o.HeavyTails && l.kernel != nil && l.space.kernel == nil && d <= mostMetric &&
		float64(n)*float64(n)*float64(d+2*(outputs+signs)) <= mostWork
}

// kernelFit fits the kernel of all rows. Without groups, the first pick has the length-scales and λ
// of least errors at rows left out of fits on a sample. It returns false if the iterations do not
// converge, or probes hide the errors at rows left out.
func kernelFit[T dense.Float](s *mixtureSearch, found *choice, t task[T], f *fitted[T]) (bool, error) {
	k, ratio, probes := kernels.Pullback{K: t.kernel, A: t.space.matrix(), Centre: t.space.centre}, t.ratio, 0
	name := ", of all rows"
	if s.Groups == nil {
		probes = signs
		if s.Classes > 0 { // the fit has a temperature of its own
			ratio /= s.growth(t.drawn.n)
		}
	}
	if t.first && s.Groups == nil {
		own, err := s.kernelScales(&k, &ratio, t.drawn)
		if err != nil {
			return false, err
		}
		name += own
	}
	b, err := collect(s.ctx, t.rows)
	if err != nil {
		return false, err
	}
	if s.Classes > 0 {
		ratio = max(ratio, leastOfClasses*meanWeight(b))
	}
	fit, err := iterate(s, k, b, ratio, probes)
	if err != nil && fit != nil {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f.Model = fit.Model
	if t.first {
		found.Kernel += name
	}
	if probes == 0 {
		return true, nil
	}
	if s.Classes > 0 {
		return true, f.classify(s, b.Y, b.Weights, fit.LeftOut)
	}
	f.rows, f.left = b, fit.LeftOut.Clone()
	for i := range b.Y.Rows {
		for j, v := range b.Y.Row(i) {
			if t.goal.logs {
				f.left.Set(i, j, math.Exp(float64(v))-t.back[j].at(float64(v)-f.left.At(i, j)))
			}
		}
	}
	return true, nil
}

func meanWeight[T dense.Float](b ridge.Block[T]) (mean float64) {
	for i := range b.X.Rows {
		mean += b.Weight(i) / float64(b.X.Rows)
	}
	return mean
}

func iterate[T dense.Float](s *mixtureSearch, k kernels.Kernel, b ridge.Block[T], ratio float64, probes int) (*kernelridge.Result[T], error) {
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

// kernelScales gives the kernel k, of rows in their own units, a length-scale for each dimension of
// the space, and another λ, if they lower the errors at rows left out of the sample by more than
// they fit their noise. It returns what it has done in words.
func (s *mixtureSearch) kernelScales(k *kernels.Pullback, ratio *float64, drawn trainingSample) (name string, err error) {
	rows := drawn.all.RowRange(0, min(drawn.all.X.Rows, kernelridge.SampleRows))
	b := indicators(rows, s.Classes)
	if s.ClassWeights != nil {
		b.Weights = slices.Clone(b.Weights)
		for i := range b.Weights {
			b.Weights[i] *= s.ClassWeights[int(rows.Y.At(i, 0))]
		}
	}
	if s.Classes == 0 {
		b.Y, _ = standardTargets(b)
	}
	_, b.X = gramian.Images(*k, b.X)
	n, d := float64(b.X.Rows), float64(b.X.Cols)
	if _, ok := gramian.ProfileOf(k.K); !ok || d == 1 || n < rowsOfScale*d {
		return "", nil
	}
	var found gramian.Learnt
	var failed error
	// Starts at short periods raise the errors of tables on average, so they are left out.
	stop := interrupt.Await(s.ctx, func() {
		found, failed = gramian.LearnScales(s.ctx, k.K, b.X, b.Y, b.Weights, false, false, func(x, y dense.Matrix[float64], weights []float64) (float64, error) {
			at, err := kernelridge.Choose(s.ctx, []kernels.Kernel{k.K}, ridge.Block[float64]{X: x, Y: y, Weights: weights}, s.src)
			return at.Ratio, err
		})
	})
	if stop != nil || failed != nil || !(math.Exp(found.Loss)*(1+2*d/n) < math.Exp(found.Start)) {
		return "", stop
	}
	a := k.A.Clone()
	for j, l := range found.Logs {
		vecmath.Scale(a.Row(j), math.Exp(-l))
	}
	k.A, *ratio = a, found.Ratio
	return " with a length-scale for each dimension", nil
}

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

// collect returns the rows of weights above 0.
func collect[T dense.Float](ctx context.Context, rows ridge.Rows[T]) (all ridge.Block[T], err error) {
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
			if w := T(b.Weight(i)); w > 0 {
				all.X.Data, all.Y.Data = append(all.X.Data, b.X.Row(i)...), append(all.Y.Data, b.Y.Row(i)...)
				all.Weights = append(all.Weights, w)
			}
		}
	}
	n := len(all.Weights)
	all.X, all.Y = dense.Of(n, d, all.X.Data), dense.Of(n, p, all.Y.Data)
	return all, nil
}
