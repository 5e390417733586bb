package ridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge/internal/platt"
)

// ClassifyOptions are the parameters of Classify, of which only Classes has no default.
type ClassifyOptions struct {
	// Classes is the number of classes, at least 2.
	Classes int

	// Ratio is the penalty λ of the squared regression weights, in squared units of the features. A
	// Ratio of 0 stands for the penalty λ of least leave-one-out log-loss.
	Ratio float64

	// ClassWeights has a factor for each class, which multiplies the weights of the rows of the
	// class. If ClassWeights is nil, all factors are 1. A factor above 1 raises the probabilities
	// of the class.
	ClassWeights []float64

	// Labels has a text for each class, for the file of the classifier; nil means none.
	Labels []string
}

// Classify computes the loss at so many rows at most, unless there are more classes.
const sampledRows = 2048

// Classify fits a classifier for each feature map and returns the classifier of least leave-one-out
// log-loss. For Classify the target of row i is its class c_i, from 0 to Classes − 1. A classifier
// is ridge regression on 0-1 indicators of the classes c, whose means f_c and an inverse
// temperature β give probabilities P of classes, and P⁻ⁱ for a fit without row i:
//
//	P(c|x) ∝ exp(β·f_c(x)),  loss = −Σ_i ω_i·log P⁻ⁱ(c_i|x_i) / Σω.
//
// Classify chooses the penalty λ, the inverse temperature β and, if the loss falls clearly, a
// mixture of the means f_c that minimise the loss at the rows, or at 2048 of more rows: see
// Classification in docs/regression.md. The loss of Classify is too small for a map whose
// parameters were learnt from the targets of the rows.
//
// For a map of D features, Classify reads n rows once, for n feature transforms, n·D²/2
// multiply-adds, and 20·(D³/3 + 1024·D²) to choose λ. Classify returns an error for an empty slice
// maps, a target that is not a class, a class without rows of a weight above 0, and the error of
// the first map if no map can be fitted.
func Classify[T dense.Float](ctx context.Context, maps []rff.Map[T], rows Rows[T], o ClassifyOptions) (Choice[T], error) {
	var c Choice[T]
	if err := argument.Context("ridge", ctx); err != nil {
		return c, err
	}
	if err := o.check(); err != nil {
		return c, err
	}
	var found Choice[T]
	trials, err := try(ctx, maps, -1, func(phi rff.Map[T]) (loss float64, err error) {
		found, loss, err = classify(ctx, phi, rows, o)
		return loss, err
	}, func(i int) { found.Best = i; c = found })
	if err != nil {
		return Choice[T]{}, err
	}
	c.Trials = trials
	return c, nil
}

func (o ClassifyOptions) check() error {
	classes := o.Classes
	if classes < 2 {
		return fmt.Errorf("ridge: Classes = %d, want at least 2", classes)
	}
	if err := (Options{Ratio: o.Ratio}).check(); err != nil {
		return err
	}
	if o.ClassWeights != nil && len(o.ClassWeights) != classes {
		return fmt.Errorf("ridge: %d ClassWeights, want one for each of %d classes", len(o.ClassWeights), classes)
	}
	for c, w := range o.ClassWeights {
		if !(w > 0) || math.IsInf(w, 0) {
			return fmt.Errorf("ridge: ClassWeights[%d] = %v, want a positive number", c, w)
		}
	}
	if o.Labels != nil && len(o.Labels) != classes {
		return fmt.Errorf("ridge: %d Labels, want one for each of %d classes", len(o.Labels), classes)
	}
	for c, l := range o.Labels {
		if !utf8.ValidString(l) {
			return fmt.Errorf("ridge: Labels[%d] = %q, want UTF-8", c, l)
		}
	}
	return nil
}

func classify[T dense.Float](ctx context.Context, phi rff.Map[T], rows Rows[T], o ClassifyOptions) (found Choice[T], loss float64, err error) {
	d, width := phi.Dims()
	classes := o.Classes
	if err := limit.Memory[float64](width+1, classes); err != nil {
		return found, 0, fmt.Errorf("ridge: %d features of %d classes: %w", width, classes, err)
	}
	sums, err := NewSums(phi, classes)
	if err != nil {
		return found, 0, err
	}
	s := newSample[T](classes)
	err = each(ctx, rows, func(b Block[T]) error {
		if err := checkRows(b.X, b.Y, b.Weights, d, 1); err != nil {
			return err
		}
		b, labels, err := indicators(b, classes, o.ClassWeights)
		if err != nil {
			return err
		}
		for i, c := range labels {
			s.add(b.X.Row(i), c, b.Weight(i))
		}
		return sums.add(ctx, b)
	})
	if err != nil {
		return found, 0, err
	}
	if c := slices.Index(s.counts, 0); sums.n > 0 && c >= 0 {
		return found, 0, fmt.Errorf("ridge: no row of class %d of %d, want at least one with a weight above 0", c, classes)
	}
	p, err := newProblem(ctx, &sums.moments, Options{})
	if err != nil {
		return found, 0, err
	}
	if !(p.trace > 0) {
		return found, 0, &fitError{errors.New("ridge: the features do not vary, which tells nothing of the classes")}
	}
	var at evidenceFit
	var mixed dense.Matrix[float64]
	held := s.losses(sums.source, sums.mean)
	evaluate := func(log float64) float64 {
		if at, err = p.at(math.Exp(log)); err != nil {
			return math.Inf(-1)
		}
		found.Temperature, loss = held.temperature(&features.Regression{
			Weights: at.weights, Facts: features.Facts{FeatureMean: sums.mean, TargetMean: sums.targets, Base: 1 / sums.weight},
		}, at.factor)
		mixed, loss = mixture(held.scores, held.labels, held.shares, found.Temperature, loss)
		return -loss
	}
	log := math.Log(o.Ratio)
	if o.Ratio == 0 {
		log, _ = maximise(math.Log(margin*p.rounding), math.Log(10*p.trace), 0.1, evaluate)
	}
	if evaluate(log); err == nil && !(loss < math.Inf(1)) {
		err = fmt.Errorf("the loss at Ratio = %.3g is %v, want a finite number", math.Exp(log), loss)
	}
	if err != nil {
		return found, 0, &fitError{fmt.Errorf("ridge: no classifier: %w", err)}
	}
	g := features.Regression{Weights: at.weights, Facts: features.Facts{FeatureMean: sums.mean, TargetMean: sums.targets}}
	found.Classifier = newClassifier(phi, g, found.Temperature, mixed, o.Labels)
	found.Ratio = math.Exp(log)
	return found, loss, nil
}

// The scores are (β·f, 1)·M for the means f of g.
func newClassifier[T dense.Float](phi rff.Map[T], g features.Regression, beta float64, mixed dense.Matrix[float64], labels []string) *Classifier[T] {
	width, classes := g.Weights.Rows, g.Weights.Cols
	c := &Classifier[T]{phi: phi, mean: make([]T, width), weights: dense.New[T](width, classes), offset: make([]T, classes), labels: slices.Clone(labels)}
	offset := slices.Clone(g.TargetMean)
	for f, m := range g.FeatureMean {
		c.mean[f] = T(m)
		for j, w := range g.Weights.Row(f) {
			offset[j] += (float64(c.mean[f]) - m) * w // makes up for the rounding of the mean
		}
	}
	own := dense.Of(classes, classes, mixed.Data[:classes*classes])
	weights := dense.New[float64](width, classes)
	matmul.Mul(beta, g.Weights, own, 0, weights)
	dense.Copy(c.weights, weights)
	for j := range c.offset {
		c.offset[j] = T(score(offset, beta, mixed, j))
	}
	return c
}

// indicators returns the rows of b of weights above 0, with an output for each class, and weights
// times the factors of the classes.
func indicators[T dense.Float](b Block[T], classes int, factors []float64) (one Block[T], labels []int, err error) {
	var at []int
	for i := range b.X.Rows {
		c, err := class(b.Y.At(i, 0), classes)
		if err != nil {
			return one, nil, err
		}
		w := T(b.Weight(i))
		if factors != nil {
			w = T(float64(w) * factors[c])
		}
		if w > 0 {
			at, labels, one.Weights = append(at, i), append(labels, c), append(one.Weights, w)
		}
	}
	one.X, one.Y = layout.Rows(b.X, at), dense.New[T](len(at), classes)
	for i, c := range labels {
		one.Y.Set(i, c, 1)
	}
	return one, labels, nil
}

type losses struct {
	phi     dense.Matrix[float64] // features minus their mean
	labels  []int
	weights []float64             // in the fit
	shares  []float64             // ω in the losses; their sum is (Σω)²/Σω²
	scores  dense.Matrix[float64] // means of leave-one-out
}

func (l *losses) temperature(g *features.Regression, factor *cholesky.Factor) (beta, loss float64) {
	parallel.Rows(len(l.labels), predictRows, func(lo, hi int) {
		r := &features.Design{Phi: l.phi.RowRange(lo, hi), Y: dense.New[float64](hi-lo, l.scores.Cols), Weights: l.weights[lo:hi]}
		for i, c := range l.labels[lo:hi] {
			r.Y.Set(i, c, 1)
		}
		leaveOut(r, g, halves(factor, r.Phi))
		errs := r.First.Rows(hi - lo)
		for i := range hi - lo {
			for j, e := range errs.Row(i) {
				l.scores.Set(lo+i, j, r.Y.At(i, j)-e)
			}
		}
	})
	return temperatureOf(l.scores, l.labels, l.shares)
}

// halves returns ‖R⁻ᵀφ_i‖² for the rows φ_i of phi.
func halves(factor *cholesky.Factor, phi dense.Matrix[float64]) []float64 {
	space := bandSpaces.Get()
	defer bandSpaces.Put(space)
	space.Shape(phi.Cols, phi.Rows)
	v := dense.Transpose(space.Rows(phi.Cols), phi)
	factor.Half(context.Background(), v)
	variances := make([]float64, phi.Rows)
	for f := range v.Rows {
		for i, e := range v.Row(f) {
			variances[i] += e * e
		}
	}
	return variances
}

// temperatureOf returns the β of platt.Temperature with one more row of weight 1, and the weighted
// mean of −log P_i(c_i) over the n rows.
func temperatureOf(scores dense.Matrix[float64], labels []int, weights []float64) (beta, loss float64) {
	count, scaled := floats.Sum(weights), make([]float64, scores.Cols)
	beta = platt.Temperature(scores, labels, weights, 1/count)
	for i, c := range labels {
		row := scores.Row(i)
		loss += weights[i] * (floats.LogSumExp(floats.ScaleTo(scaled, beta, row)) - beta*row[c])
	}
	return beta, loss / count
}
