package ridge

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
)

// Classifier computes the probabilities of classes,
//
//	P(c|x) = exp(z_c) / Σ_l exp(z_l),  z_c = b_c + (φ(x) − φ̄)ᵀw_c,
//
// where φ̄ is the mean of the features of the fit, so a large mean costs float32 no accuracy. A
// Classifier never changes, and goroutines may share it.
type Classifier[T dense.Float] struct {
	phi     rff.Map[T]
	mean    []T             // φ̄; nil for 0
	weights dense.Matrix[T] // a column for each class
	offset  []T             // z at the mean
}

// Classes returns the number of classes.
func (c *Classifier[T]) Classes() int { return len(c.offset) }

// Map returns the map of the features.
func (c *Classifier[T]) Map() rff.Map[T] { return c.phi }

// Probabilities writes P(c|x) for the rows of x (n×d) into dst (n×Classes) and returns dst. It allocates a
// zero dst. dst must not overlap x. Probabilities panics if a shape does not fit. Cost: n transforms and
// n·D·Classes multiply-adds in T.
func (c *Classifier[T]) Probabilities(dst, x dense.Matrix[T]) dense.Matrix[T] {
	if c.phi == nil {
		panic(errNoClassifier.Error())
	}
	x.Check()
	if d, _ := c.phi.Dims(); x.Cols != d {
		panic(fmt.Sprintf("ridge: x is %d×%d, want %d×%d", x.Rows, x.Cols, x.Rows, d))
	}
	dst = dense.Ensure(dst, x.Rows, c.Classes())
	parallel.Do((x.Rows+predictRows-1)/predictRows, &classification[T]{c, dst, x})
	return dst
}

// classification is the task of Probabilities, predictRows rows per Piece.
type classification[T dense.Float] struct {
	*Classifier[T]
	dst, x dense.Matrix[T]
}

var classifySpaces pool.Pair[scratch.Buffer[float32], scratch.Buffer[float64]]

func (c *classification[T]) Piece(piece int) {
	lo := piece * predictRows
	hi := min(lo+predictRows, c.x.Rows)
	s := pool.Get[scratch.Buffer[T]](&classifySpaces)
	s.Shape(hi-lo, c.weights.Rows)
	dst := c.dst.RowRange(lo, hi)
	phi := c.phi.Transform(s.Rows(hi-lo), c.x.RowRange(lo, hi))
	subtract(phi, c.mean)
	matmul.Mul(1, phi, c.weights, 0, dst)
	pool.Put(&classifySpaces, s)
	for i := range dst.Rows {
		row := dst.Row(i)
		for j := range row {
			row[j] += c.offset[j]
		}
		softmax(row)
	}
}

// subtract subtracts mean from the rows of phi. A nil mean is 0.
func subtract[T dense.Float](phi dense.Matrix[T], mean []T) {
	for i := 0; i < phi.Rows && mean != nil; i++ {
		vecmath.AddScaled(phi.Row(i), mean, -1)
	}
}

// softmax replaces z by exp(z)/Σexp(z) and returns log Σexp(z).
func softmax[T dense.Float](z []T) float64 {
	peak := math.Inf(-1)
	for _, v := range z {
		peak = math.Max(peak, float64(v))
	}
	sum := 0.0
	for j, v := range z {
		e := math.Exp(float64(v) - peak)
		z[j] = T(e)
		sum += e
	}
	for j := range z {
		z[j] = T(float64(z[j]) / sum)
	}
	return peak + math.Log(sum)
}

// OneVersusRest fits a classifier by regression. The target of output c is 1 for rows of class c, and 0
// for other rows. All outputs share one Fit with the options o. z_c is t times the mean of output c. The
// temperature t minimises the log loss of the leave-one-out predictions, which the regression gives in
// closed form. The targets of rows (n×1) are the classes, whole numbers from 0 to classes − 1.
//
// OneVersusRest reads the rows twice and keeps n·classes predictions.
//
// It suits classes without an order. For classes with an order, such as ages or ratings, a class in the
// middle is not a linear function of features that increase with the order, so OneVersusRest is less
// often right than Logistic. Logistic or a regression on the number of the class is better then.
//
// The error reports classes below 2, a target that is not a class, errors of Sum and Fit, and the end of
// ctx. OneVersusRest checks ctx between blocks of a matrix. A nil ctx panics.
func OneVersusRest[T dense.Float](ctx context.Context, phi rff.Map[T], rows Rows[T], classes int, o Options) (*Classifier[T], error) {
	if err := argument.Context("ridge", ctx); err != nil {
		return nil, err
	}
	if err := checkClasses(phi, classes); err != nil {
		return nil, err
	}
	hot := oneHot[T]{rows, classes}
	sums, err := Sum(ctx, phi, hot)
	if err != nil {
		return nil, err
	}
	m, err := sums.Fit(ctx, o)
	if err != nil {
		return nil, err
	}
	var held heldOut
	err = m.eachLeftOut(ctx, hot, func(y, e []T, w float64) { addHeldOut(&held, y, e, w) })
	if err != nil {
		return nil, err
	}
	t, err := held.temperature(ctx, classes)
	if err != nil {
		return nil, err
	}
	offset := slices.Clone(m.regression.TargetMean)
	c := &Classifier[T]{phi: phi, weights: dense.New[T](m.regression.Weights.Rows, classes), offset: make([]T, classes)}
	if m.centred {
		c.mean = make([]T, m.regression.Weights.Rows)
	}
	for i := range c.weights.Rows {
		rounding := 0.0
		if m.centred {
			c.mean[i] = T(m.regression.FeatureMean[i])
			rounding = float64(c.mean[i]) - m.regression.FeatureMean[i]
		}
		for j, w := range m.regression.Weights.Row(i) {
			c.weights.Row(i)[j] = T(t * w)
			offset[j] += rounding * w
		}
	}
	for j := range c.offset {
		c.offset[j] = T(t * offset[j])
	}
	return c, nil
}

// heldOut has leave-one-out predictions.
type heldOut struct {
	scores  []float64 // for all classes, row by row
	labels  []int
	weights []float64
}

// addHeldOut appends the row with targets y and leave-one-out errors e. It skips a row without a
// leave-one-out prediction.
func addHeldOut[T dense.Float](h *heldOut, y, e []T, w float64) {
	at := len(h.scores)
	label := 0
	for j, v := range y {
		s := float64(v) - float64(e[j])
		if s != s {
			h.scores = h.scores[:at]
			return
		}
		h.scores = append(h.scores, s)
		if v == 1 {
			label = j
		}
	}
	h.labels, h.weights = append(h.labels, label), append(h.weights, w)
}

// temperature returns the t ≥ 0 with the least log loss of softmax(t·scores). The loss is convex in t. It
// halves a Newton step until the step keeps t positive and does not increase the loss. The error is the
// error of ctx.
func (h *heldOut) temperature(ctx context.Context, classes int) (float64, error) {
	t := 1.0
	loss, slope, bend := h.loss(ctx, t, classes)
	for range 50 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		step := -slope / bend
		if !(bend > 0) || math.Abs(step) < 1e-6*t {
			break
		}
		next := math.NaN()
		for range 30 {
			if t+step > 0 && ctx.Err() == nil {
				if next, _, _ = h.loss(ctx, t+step, classes); next <= loss {
					break
				}
			}
			step /= 2
		}
		if !(next <= loss) {
			break
		}
		t += step
		loss, slope, bend = h.loss(ctx, t, classes)
	}
	return t, ctx.Err()
}

// loss returns the log loss of softmax(t·scores) and its first two derivatives. If ctx ends, loss leaves
// out some rows.
func (h *heldOut) loss(ctx context.Context, t float64, classes int) (loss, slope, bend float64) {
	p := make([]float64, classes)
	for lo, hi := range interrupt.Ranges(ctx, len(h.labels), 1024) {
		for i := lo; i < hi; i++ {
			s, w, label := h.scores[i*classes:][:classes], h.weights[i], h.labels[i]
			for j, v := range s {
				p[j] = t * v
			}
			loss += w * (softmax(p) - t*s[label])
			mean, square := 0.0, 0.0
			for j, v := range s {
				mean += p[j] * v
				square += p[j] * v * v
			}
			slope += w * (mean - s[label])
			bend += w * (square - mean*mean)
		}
	}
	return loss, slope, bend
}

// checkClasses returns an error unless phi and classes are valid for a classifier.
func checkClasses[T dense.Float](phi rff.Map[T], classes int) error {
	if classes < 2 {
		return fmt.Errorf("ridge: classes = %d, want at least 2", classes)
	}
	if phi == nil {
		return errNoMap
	}
	_, width := phi.Dims()
	if err := limit.Memory[float64](width+1, classes); err != nil {
		return fmt.Errorf("ridge: %d features of %d classes: %w", width, classes, err)
	}
	return nil
}

// class converts a target to a class.
func class[T dense.Float](v T, classes int) (int, error) {
	if !(v >= 0 && v < T(classes)) || v != T(int(v)) {
		return 0, fmt.Errorf("ridge: the target %v is no class, want a whole number from 0 to %d", v, classes-1)
	}
	return int(v), nil
}

// oneHot converts the classes of rows to targets: 1 for the class of the row, and 0 for other classes.
type oneHot[T dense.Float] struct {
	rows    Rows[T]
	classes int
}

func (h oneHot[T]) Blocks() iter.Seq2[Block[T], error] {
	return func(yield func(Block[T], error) bool) {
		if h.rows == nil {
			yield(Block[T]{}, errNoData)
			return
		}
		for b, err := range h.rows.Blocks() {
			if err == nil {
				b.Y, err = h.targets(b.Y)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// targets returns the targets (n×classes) for the classes y (n×1).
func (h oneHot[T]) targets(y dense.Matrix[T]) (dense.Matrix[T], error) {
	if y.Cols != 1 {
		return y, fmt.Errorf("ridge: y is %d×%d, want one column of classes", y.Rows, y.Cols)
	}
	if err := limit.Memory[T](y.Rows, h.classes); err != nil {
		return y, fmt.Errorf("ridge: a block of %d rows and %d classes: %w", y.Rows, h.classes, err)
	}
	hot := dense.New[T](y.Rows, h.classes)
	for i := range y.Rows {
		c, err := class(y.At(i, 0), h.classes)
		if err != nil {
			return y, err
		}
		hot.Set(i, c, 1)
	}
	return hot, nil
}
