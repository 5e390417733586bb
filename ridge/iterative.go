package ridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/conjugate"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/rff"
)

// Iterative are the parameters of a fit by conjugate gradients in passes over the rows, for so many
// features that a direct fit takes too much memory or time. For D features, r = Rank, and k outputs
// and samples together, a fit takes 8·D·(2r + 5k) bytes, and a pass over n rows n feature
// transforms and 2n·D·max(k, 16) multiply-adds.
type Iterative struct {
	// Rank is the rank r of the preconditioner, at most the number of rows and the number D of
	// features; 0 stands for min(256, D/16), at least 16, and −1 for no preconditioner. A larger
	// Rank saves passes over the rows if λ is small and rows are many.
	Rank int

	// Samples is the number S of samples of the posterior, at least 2, for standard deviations, the
	// evidence and drawn functions; 0 stands for 15. With S samples, the relative standard error of
	// a standard deviation is √(1/(2S)).
	Samples int

	// Tolerance bounds the root mean square difference of the fitted means at the rows from the
	// exact solution, in standard deviations of the targets; 0 stands for 10⁻⁴.
	Tolerance float64

	// MaxIterations is the largest number of passes of conjugate gradients; 0 stands for 1000.
	MaxIterations int

	// Fit calls Progress, unless Progress is nil, after each pass over the rows, on the goroutine
	// of the caller, with the number of passes and the largest error bound of all outputs, in the
	// unit of Tolerance.
	Progress func(iterations int, bound float64)

	// Src draws the random numbers of the preconditioner and of the samples.
	Src rand.Source
}

// NotConverged is the error of a fit by iterations that has not reached the tolerance, because
// MaxIterations passes do not suffice, rounding prevents progress, or a context ended. A fit that
// returns a NotConverged also returns the model with the weights reached.
type NotConverged struct {
	Iterations       int
	Ratio            float64 // λ
	Bound, Tolerance float64 // largest error bound of the outputs, and its aim
	Stalled          bool    // rounding prevents progress, and more iterations do not help
	Cause            error   // the error of the context of kernelridge.Fit, or nil
}

// Error returns a text that describes how far the iterations of the fit came.
func (e *NotConverged) Error() string {
	why := "want more iterations, a larger Rank or a larger Noise/Prior"
	switch {
	case e.Cause != nil:
		why = fmt.Sprint(e.Cause)
	case e.Stalled:
		why = "rounding of float64 hides the rest: want a larger Noise/Prior"
	}
	return fmt.Sprintf("ridge: after %d iterations with Noise/Prior = %.3g errors of means are up to %.3g, and Tolerance = %.3g: %s",
		e.Iterations, e.Ratio, e.Bound, e.Tolerance, why)
}

// Unwrap returns the error of the context that ended the iterations, or nil.
func (e *NotConverged) Unwrap() error { return e.Cause }

func (o *Iterative) check() error {
	switch {
	case o == nil:
		return nil
	case o.Src == nil:
		return errors.New("ridge: Iterative.Src is nil, want a source of randomness")
	case o.Rank < -1:
		return fmt.Errorf("ridge: Iterative.Rank = %d, want at least −1", o.Rank)
	case o.Samples < 0 || o.Samples == 1:
		return fmt.Errorf("ridge: Iterative.Samples = %d, want 0 or at least 2", o.Samples)
	case !(o.Tolerance >= 0 && o.Tolerance <= 1):
		return fmt.Errorf("ridge: Iterative.Tolerance = %v, want a number from 0 to 1", o.Tolerance)
	case o.MaxIterations < 0:
		return fmt.Errorf("ridge: Iterative.MaxIterations = %d, want at least 0", o.MaxIterations)
	}
	return nil
}

func (o Iterative) sized(width, outputs int) (Iterative, error) {
	if o.Rank == 0 {
		o.Rank = max(16, min(256, width/16))
	}
	o.Rank = min(max(o.Rank, 0), width)
	if o.Samples == 0 {
		o.Samples = 15
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-4
	}
	if o.MaxIterations == 0 {
		o.MaxIterations = 1000
	}
	if err := limit.Memory[float64](width, o.Rank); err != nil {
		return o, fmt.Errorf("ridge: Iterative.Rank = %d for %d features: %w", o.Rank, width, err)
	}
	if err := limit.Memory[float64](width, outputs+o.Samples); err != nil {
		return o, fmt.Errorf("ridge: %d outputs and Iterative.Samples = %d for %d features: %w", outputs, o.Samples, width, err)
	}
	return o, nil
}

func fitIterative[T dense.Float](ctx context.Context, phi rff.Map[T], rows Rows[T], o Options) (*Model[T], error) {
	sums, err := sum(ctx, rows, func(outputs int) (*Sums[T], error) { return newSums(phi, outputs) })
	if err != nil {
		return nil, err
	}
	if err := sums.checkFit(); err != nil {
		return nil, err
	}
	ratio, given := o.ratio()
	if !given {
		if ratio, err = chooseRatio(ctx, phi, rows, o, chosenFeatures); err != nil {
			return nil, err
		}
	}
	with, err := o.Iterative.sized(len(sums.mean), len(sums.targets))
	if err != nil {
		return nil, err
	}
	f := &iteration{Iterative: with, opts: o, ratio: ratio, moments: sums.moments, rng: rand.New(with.Src)}
	p, stop := f.fit(ctx, newPasses(phi, rows, &f.moments, !o.NoIntercept))
	if p == nil {
		return nil, stop
	}
	return &Model[T]{phi, sums.source, *p, nil}, stop
}

const chosenFeatures = 4096

// Most of more features estimate the same kernel.
func chooseRatio[T dense.Float](ctx context.Context, phi rff.Map[T], rows Rows[T], o Options, most int) (float64, error) {
	if _, width := phi.Dims(); width > most {
		phi = some[T]{phi, most}
	}
	sums, err := Sum(ctx, phi, rows)
	if err != nil {
		return 0, err
	}
	p, err := newProblem(ctx, &sums.moments, o)
	if err != nil {
		return 0, err
	}
	return p.chooseRatio()
}

// some has out of the D features of a map at equal distances, times √(D/out).
type some[T dense.Float] struct {
	rff.Map[T]
	out int
}

func (s some[T]) Dims() (in, out int) {
	in, _ = s.Map.Dims()
	return in, s.out
}

func (s some[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	_, width := s.Map.Dims()
	step := float64(width) / float64(s.out)
	dst = dense.Ensure(dst, x.Rows, s.out)
	for lo := 0; lo < x.Rows; lo += rowsOf(width) {
		hi := min(lo+rowsOf(width), x.Rows)
		phi := s.Map.Transform(dense.Matrix[T]{}, x.RowRange(lo, hi))
		for i := lo; i < hi; i++ {
			from, to := phi.Row(i-lo), dst.Row(i)
			for f := range to {
				to[f] = from[int(float64(f)*step)] * T(math.Sqrt(step))
			}
		}
	}
	return dst
}

type iteration struct {
	Iterative
	opts    Options
	ratio   float64 // λ
	moments moments // without the products of features
	rng     *rand.Rand
}

// If the error is a *NotConverged, the posterior is that of the current weights.
func (f *iteration) fit(ctx context.Context, rows passes) (*posterior, error) {
	m := &f.moments
	squares, cross := m.about(!f.opts.NoIntercept)
	n, _ := m.evidenceTerms(f.opts)
	width, outputs := len(m.mean), len(squares)
	for j, v := range squares {
		if v-v != 0 {
			return nil, fmt.Errorf("ridge: the sum of squares of output %d is %v, want a finite number: scale the targets", j, v)
		}
	}
	if f.opts.Noise == 0 && f.opts.Prior == 0 {
		if err := f.opts.checkNoise(n, squares); err != nil {
			return nil, err
		}
	}
	right, trace, err := f.rightSides(ctx, rows, cross)
	if err != nil {
		return nil, err
	}
	if least := 0x1p-40 * trace / math.Sqrt(float64(width)); !(f.ratio > least) || math.IsInf(f.ratio, 0) || math.IsInf(trace, 0) {
		return nil, fmt.Errorf("ridge: Noise/Prior = %.3g, want more than %.3g, below which the rounding of float64 is felt", f.ratio, least)
	}
	system := &conjugate.System{
		S: rows, Right: right, Samples: f.Samples, Ratio: f.ratio, Trace: trace, Unit: rows.unit(), Rank: min(f.Rank, m.n), Most: f.MaxIterations,
	}
	for _, v := range squares {
		system.Sizes = append(system.Sizes, f.Tolerance*math.Sqrt(v))
	}
	at, err := system.Solve(ctx, f.rng, func(at *conjugate.Solution) {
		if f.Progress != nil {
			f.Progress(at.Passes, f.bound(at, squares))
		}
	})
	if stop := ctx.Err(); stop != nil {
		return nil, stop
	}
	if err != nil {
		return nil, err
	}
	p, err := f.posterior(at, right, squares)
	if err != nil {
		return nil, err
	}
	if at.Solved < outputs+f.Samples {
		return p, &NotConverged{at.Passes, f.ratio, f.bound(at, squares), f.Tolerance, at.Stalled, nil}
	}
	return p, nil
}

// rightSides returns [ΦᵀΩy ΦᵀΩ^½ε₁ + √λ·ε₂] with normal ε, and the trace of ΦᵀΩΦ.
func (f *iteration) rightSides(ctx context.Context, rows passes, cross dense.Matrix[float64]) (right dense.Matrix[float64], trace float64, err error) {
	width, outputs := cross.Rows, cross.Cols
	drawn := dense.New[float64](width, f.Samples)
	err = rows.pass(ctx, drawn, dense.Matrix[float64]{}, true, func(u, phi dense.Matrix[float64], weights []float64) {
		for i, w := range weights {
			for _, v := range phi.Row(i) {
				trace += w * v * v
			}
			row := u.Row(i)
			for j := range row {
				row[j] = math.Sqrt(w) * f.rng.NormFloat64()
			}
		}
	})
	right = dense.New[float64](width, outputs+f.Samples)
	for i := range width {
		row := right.Row(i)
		copy(row, cross.Row(i))
		for j, v := range drawn.Row(i) {
			row[outputs+j] = v + math.Sqrt(f.ratio)*f.rng.NormFloat64()
		}
	}
	for i := range width {
		for j, v := range right.Row(i) {
			if err == nil && v-v != 0 {
				err = fmt.Errorf("ridge: the product of feature %d and column %d is %v, want a finite number: scale the features", i, j, v)
			}
		}
	}
	return right, trace, err
}

// bounds bounds the root mean square errors of the means at the rows: ‖r‖/(2√(λΣω)).
func (f *iteration) bounds(at *conjugate.Solution) []float64 {
	bounds := make([]float64, len(f.moments.targets))
	for i := range at.Residual.Rows {
		for j := range bounds {
			bounds[j] += at.Residual.At(i, j) * at.Residual.At(i, j)
		}
	}
	for j, v := range bounds {
		bounds[j] = math.Sqrt(v) / (2 * math.Sqrt(f.ratio*f.moments.weight))
	}
	return bounds
}

func (f *iteration) bound(at *conjugate.Solution, squares []float64) float64 {
	largest := 0.0
	for j, v := range f.bounds(at) {
		if spread := math.Sqrt(squares[j] / f.moments.weight); v > 0 {
			largest = max(largest, v/spread)
		}
	}
	return largest
}

func (f *iteration) posterior(at *conjugate.Solution, right dense.Matrix[float64], squares []float64) (*posterior, error) {
	m, outputs, width := &f.moments, len(squares), right.Rows
	n, constant := m.evidenceTerms(f.opts)
	p := &posterior{
		regression: features.Regression{
			Weights: at.X.ColRange(0, outputs).Clone(),
			Facts:   m.facts(f.opts, f.ratio, make([]float64, outputs)),
		},
		prior: make([]float64, outputs), centred: !f.opts.NoIntercept, weight: m.weight,
		root:     root{width: width, samples: f.Samples, data: dense.Transpose(dense.Matrix[float64]{}, at.X.ColRange(outputs, outputs+f.Samples)).Data},
		accuracy: Accuracy{Samples: f.Samples, Bound: f.bounds(at), LogEvidence: at.LogDetError * float64(outputs) / 2},
	}
	for i := range p.root.data {
		p.root.data[i] /= math.Sqrt(float64(f.Samples))
	}
	for j, all := range squares {
		// ‖Ω^½(y − Φx)‖² + λ‖x‖² = yᵀΩy − xᵀ(b + r), with an error of second order in that of x.
		rest := all
		for i := range width {
			rest -= at.X.At(i, j) * (right.At(i, j) + at.Residual.At(i, j))
		}
		hidden := !(rest > 1024*unit*n*all)
		if hidden && f.opts.Noise == 0 && f.opts.Prior == 0 {
			return nil, errHidden(f.ratio)
		}
		p.regression.Noise[j], p.prior[j] = f.opts.variances(f.ratio, max(rest, 0)/n)
		noise := p.regression.Noise[j]
		p.evidence -= 0.5 * (max(rest, 0)/noise + at.LogDet - float64(width)*math.Log(f.ratio) + n*math.Log(2*math.Pi*noise) + constant)
	}
	return p, p.checkVariances()
}
