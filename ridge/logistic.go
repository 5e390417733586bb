package ridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
)

// LogisticOptions are the parameters of Logistic. The zero value is the usual choice.
type LogisticOptions struct {
	// Prior is the prior variance s² of the weights; 0 for 10. For features of norm 1, the variance
	// 10 makes differences of z up to about 10 probable.
	Prior float64

	// Tolerance is the largest derivative of the mean loss at which the search ends; 0 for 1e-5.
	Tolerance float64

	// MaxIterations is the largest number of iterations, each a pass over the rows; 0 for 500.
	MaxIterations int

	// Logistic calls Progress, unless Progress is nil, after each iteration with the number of
	// iterations so far and MaxIterations, on the goroutine of the caller.
	Progress func(done, total int)
}

// ErrNotConverged reports a search that ended with a derivative above the tolerance, because it
// reached MaxIterations or because of rounding. Logistic also returns the best classifier of the
// search.
var ErrNotConverged = errors.New("ridge: the search for weights ended before its tolerance")

// Logistic fits multinomial logistic regression. The weights minimise
//
//	−Σ_i ω_i·log P(c_i|x_i) + Σ_c ‖w_c‖²/(2s²),
//
// by gonum's L-BFGS [Liu & Nocedal 1989]. Intercepts have no penalty. The targets of rows (n×1) are
// the classes c_i, whole numbers from 0 to classes − 1. Logistic reads the rows once for the mean
// of the features, and once for each iteration. Logistic computes the features of some rows at a
// time, in each pass again. A pass costs n transforms and 2n·D·classes multiply-adds.
//
// The error reports classes below 2, options out of range, a target that is not a class, rows that
// Add refuses, no rows, the end of ctx, and ErrNotConverged with a classifier. A nil ctx panics.
func Logistic[T dense.Float](ctx context.Context, phi rff.Map[T], rows Rows[T], classes int, o LogisticOptions) (*Classifier[T], error) {
	if err := argument.Context("ridge", ctx); err != nil {
		return nil, err
	}
	if err := checkClasses(phi, classes); err != nil {
		return nil, err
	}
	if o.Prior == 0 {
		o.Prior = 10
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-5
	}
	if o.MaxIterations == 0 {
		o.MaxIterations = 500
	}
	switch {
	case !(o.Prior > 0) || math.IsInf(o.Prior, 0):
		return nil, fmt.Errorf("ridge: Prior = %v, want a positive number", o.Prior)
	case !(o.Tolerance > 0) || math.IsInf(o.Tolerance, 0):
		return nil, fmt.Errorf("ridge: Tolerance = %v, want a positive number", o.Tolerance)
	case o.MaxIterations < 1:
		return nil, fmt.Errorf("ridge: MaxIterations = %d, want at least 1", o.MaxIterations)
	}
	l := &likelihood[T]{ctx: ctx, phi: phi, rows: rows, classes: classes, opts: o}
	_, l.width = phi.Dims()
	l.gradient, l.x = make([]float64, (l.width+1)*classes), make([]float64, (l.width+1)*classes)
	l.weights, l.offset = dense.New[T](l.width, classes), make([]T, classes)
	if l.mean, l.err = l.meanFeatures(); l.err == nil {
		l.pass()
	}
	if l.err == nil {
		// The error may report that no step improves the loss. The gradient decides below.
		_, _ = optimize.Minimize(optimize.Problem{
			Func:   func(x []float64) float64 { l.at(x); return l.value },
			Grad:   func(dst, x []float64) { l.at(x); copy(dst, l.gradient) },
			Status: l.status,
		}, make([]float64, len(l.x)), &optimize.Settings{
			GradientThreshold: o.Tolerance, Converger: optimize.NeverTerminate{},
		}, &optimize.LBFGS{})
	}
	if l.err != nil {
		return nil, l.err
	}
	l.set(l.best)
	c := &Classifier[T]{phi: phi, mean: l.mean, weights: l.weights, offset: l.offset}
	if !(l.steepest <= o.Tolerance) {
		return c, ErrNotConverged
	}
	return c, nil
}

// likelihood is the mean penalised loss as a function of the weights and intercepts.
type likelihood[T dense.Float] struct {
	ctx            context.Context
	phi            rff.Map[T]
	rows           Rows[T]
	classes, width int
	opts           LogisticOptions

	mean     []T       // of the features, subtracted from all features
	x        []float64 // weights, feature by feature; then intercepts
	value    float64   // at x
	gradient []float64 // at x
	passes   int
	err      error

	best     []float64 // x of the best pass
	loss     float64   // at best
	steepest float64   // largest derivative at best

	weights dense.Matrix[T] // x in T
	offset  []T
	phis    scratch.Buffer[T]
	scores  scratch.Buffer[T]
	sum     dense.Matrix[T]
}

// status ends the search after an error or MaxIterations passes.
func (l *likelihood[T]) status() (optimize.Status, error) {
	switch {
	case l.err != nil:
		return optimize.Failure, l.err
	case l.passes >= l.opts.MaxIterations:
		return optimize.FunctionEvaluationLimit, nil
	}
	return optimize.NotTerminated, nil
}

// at computes value and gradient at x.
func (l *likelihood[T]) at(x []float64) {
	if l.err != nil || slices.Equal(x, l.x) {
		return
	}
	copy(l.x, x)
	l.pass()
}

// set rounds weights and intercepts to T.
func (l *likelihood[T]) set(x []float64) {
	for i, v := range x[:l.width*l.classes] {
		l.weights.Data[i] = T(v)
	}
	for j, v := range x[l.width*l.classes:] {
		l.offset[j] = T(v)
	}
}

// meanFeatures returns the weighted mean of the features. meanFeatures sums differences from the
// first row, so a large mean costs no accuracy. Intercepts compensate for the subtraction of the
// mean.
func (l *likelihood[T]) meanFeatures() ([]T, error) {
	var first []T
	sum, weight := make([]float64, l.width), 0.0
	err := l.parts(func(b Block[T]) error {
		l.phis.Shape(b.X.Rows, l.width)
		phi := l.phi.Transform(l.phis.Rows(b.X.Rows), b.X)
		for i := range phi.Rows {
			w := b.Weight(i)
			if w == 0 {
				continue
			}
			if first == nil {
				first = slices.Clone(phi.Row(i))
			}
			weight += w
			for f, v := range phi.Row(i) {
				sum[f] += w * (float64(v) - float64(first[f]))
			}
		}
		return nil
	})
	for f, v := range first {
		first[f] = T(float64(v) + sum[f]/weight)
	}
	return first, err
}

// parts calls f for some rows at a time.
func (l *likelihood[T]) parts(f func(b Block[T]) error) error {
	d, _ := l.phi.Dims()
	return each(l.ctx, l.rows, func(b Block[T]) error {
		if err := checkRows(b.X, b.Y, b.Weights, d, 1); err != nil {
			return err
		}
		// A part takes about as long for many features and classes as for few.
		part := max(64, min(1<<10, 1<<30/len(l.x)))
		for lo := 0; lo < b.X.Rows; lo += part {
			if err := l.ctx.Err(); err != nil {
				return err
			}
			if err := f(b.RowRange(lo, min(lo+part, b.X.Rows))); err != nil {
				return err
			}
		}
		return nil
	})
}

// pass computes value and gradient at l.x from all rows.
func (l *likelihood[T]) pass() {
	l.set(l.x)
	l.value = 0
	clear(l.gradient)
	weight := 0.0
	l.err = l.parts(func(b Block[T]) error {
		w, err := l.add(b)
		weight += w
		return err
	})
	if l.err == nil && !(weight > 0) {
		l.err = errNoRows
	}
	if l.err != nil {
		return
	}
	for i, v := range l.x[:l.width*l.classes] {
		l.value += v * v / (2 * l.opts.Prior)
		l.gradient[i] += v / l.opts.Prior
	}
	l.value /= weight
	floats.Scale(1/weight, l.gradient)
	// Near the minimum, losses are equal to rounding while derivatives still decrease.
	steepest, rounding := floats.Norm(l.gradient, math.Inf(1)), 0x1p-50*math.Abs(l.loss)
	if l.passes == 0 || l.value < l.loss-rounding || l.value <= l.loss+rounding && steepest < l.steepest {
		l.best, l.loss, l.steepest = append(l.best[:0], l.x...), l.value, steepest
	}
	l.passes++
	if l.opts.Progress != nil {
		l.opts.Progress(l.passes, l.opts.MaxIterations)
	}
}

// add adds the loss and the gradient of the rows of b, and returns the sum of their weights.
func (l *likelihood[T]) add(b Block[T]) (weight float64, err error) {
	l.phis.Shape(b.X.Rows, l.width)
	l.scores.Shape(b.X.Rows, l.classes)
	phi, z := l.phi.Transform(l.phis.Rows(b.X.Rows), b.X), l.scores.Rows(b.X.Rows)
	subtract(phi, l.mean)
	matmul.Mul(1, phi, l.weights, 0, z)
	for i := range z.Rows {
		label, err := class(b.Y.At(i, 0), l.classes)
		if err != nil {
			return 0, err
		}
		w, row := b.Weight(i), z.Row(i)
		for j := range row {
			row[j] += l.offset[j]
		}
		own := float64(row[label])
		l.value += w * (softmax(row) - own)
		weight += w
		// The probability minus 1 is minus the sum of the other probabilities, which is more
		// accurate near 1.
		row[label] = 0
		row[label] = -vecmath.Sum(row)
		for j := range row {
			row[j] *= T(w)
			l.gradient[l.width*l.classes+j] += float64(row[j])
		}
	}
	l.sum = resize(l.sum, l.width, l.classes)
	matmul.TMul(1, phi, z, 0, l.sum)
	for i, v := range l.sum.Data {
		l.gradient[i] += float64(v)
	}
	return weight, nil
}
