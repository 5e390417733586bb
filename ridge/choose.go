package ridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/landmarks"
	"github.com/seed-feabd252/randfeat/rff"
)

// Criterion is the criterion by which Choose compares maps.
type Criterion int

const (
	// Evidence is the log evidence of the fit, and the largest value is the best. It needs one pass over the
	// rows.
	Evidence Criterion = iota
	// LeaveOneOut is the root mean square of the leave-one-out errors, and the smallest value is the best.
	// It needs two passes of the same cost.
	LeaveOneOut
	// Folds is the root mean square of the errors of K fits, each at the rows of a fold that the fit leaves
	// out, and the smallest value is the best. Row i is in fold i mod K. Folds needs one pass over the rows.
	Folds
)

// String returns the name of the constant.
func (c Criterion) String() string {
	if c < Evidence || c > Folds {
		return fmt.Sprintf("Criterion(%d)", int(c))
	}
	return [...]string{"Evidence", "LeaveOneOut", "Folds"}[c]
}

// ChooseOptions are the parameters of Choose. The zero value compares by the evidence.
type ChooseOptions struct {
	Options           // of every fit
	By      Criterion // by which Choose compares maps
	K       int       // number of folds; 0 for 5

	// Choose calls Progress, unless Progress is nil, after each map, with the number of finished maps and
	// the number of maps, on the goroutine of the caller.
	Progress func(done, total int)
}

// Trial is the result of Choose for one map.
type Trial struct {
	Score float64 // by the criterion; NaN if the fit failed
	Err   error   // of the fit, or nil
}

// Choice is the result of Choose.
type Choice[T dense.Float] struct {
	Trials []Trial   // in the order of the maps
	Best   int       // index of the best map
	Model  *Model[T] // fit of the best map to all rows
}

// Choose fits each map to the rows and returns the best map by the criterion. The maps may differ in
// length-scales, kernels, frequencies or numbers of features. Each fit chooses the variances that o does
// not give. The evidence is the evidence of the given features, so among several draws of one kernel it
// prefers a draw that fits the targets by chance.
//
// Choose fits one map at a time. Memory is that of one map, or of K + 2 sums for Folds.
//
// The error reports no maps, a nil map, options out of range, folds that memory cannot hold, errors of
// Sum, the end of ctx, and the error of the first map if no map can be fitted. Choose checks ctx also
// between blocks of a matrix. A nil ctx panics.
func Choose[T dense.Float](ctx context.Context, maps []rff.Map[T], rows Rows[T], o ChooseOptions) (Choice[T], error) {
	if err := argument.Context("ridge", ctx); err != nil {
		return Choice[T]{}, err
	}
	if o.K == 0 {
		o.K = 5
	}
	if err := o.check(len(maps)); err != nil {
		return Choice[T]{}, err
	}
	if o.By == Folds {
		for _, phi := range maps {
			if err := checkFolds(phi, o.K); err != nil {
				return Choice[T]{}, err
			}
		}
	}
	c := Choice[T]{Best: -1}
	var first error
	for i, phi := range maps {
		model, score, err := assess(ctx, phi, rows, o)
		var unfit *fitError
		switch {
		case ctx.Err() != nil:
			return Choice[T]{}, ctx.Err()
		case errors.As(err, &unfit):
			score, err = math.NaN(), unfit.error
			first = cmp.Or(first, err)
		case err != nil:
			return Choice[T]{}, err
		}
		c.Trials = append(c.Trials, Trial{score, err})
		if score == score && (c.Best < 0 || better(o.By, score, c.Trials[c.Best].Score)) {
			c.Best, c.Model = i, model
		}
		if o.Progress != nil {
			o.Progress(i+1, len(maps))
		}
	}
	if c.Best < 0 {
		return Choice[T]{}, first
	}
	return c, nil
}

// check returns an error if the options are invalid or the number n of maps is 0.
func (o ChooseOptions) check(n int) error {
	switch {
	case n == 0:
		return errors.New("ridge: no maps, want at least 1")
	case o.By < Evidence || o.By > Folds:
		return fmt.Errorf("ridge: By = %v, want Evidence, LeaveOneOut or Folds", o.By)
	case o.K < 2:
		return fmt.Errorf("ridge: K = %d folds, want at least 2", o.K)
	}
	return o.Options.Check()
}

// checkFolds returns an error if memory cannot hold the sums of k folds.
func checkFolds[T dense.Float](phi rff.Map[T], k int) error {
	if phi == nil {
		return errNoMap
	}
	_, width := phi.Dims()
	if err := limit.Memory[moments](k); err != nil {
		return fmt.Errorf("ridge: K = %d folds: %w", k, err)
	}
	if err := limit.Memory[float64](k, width, width/2+tile); err != nil {
		return fmt.Errorf("ridge: K = %d folds of %d features: %w", k, width, err)
	}
	return nil
}

// better reports whether the score a is better than b.
func better(by Criterion, a, b float64) bool {
	if by == Evidence {
		return a > b
	}
	return a < b
}

// fitError is an error of a fit to valid rows. Choose goes on with the next map.
type fitError struct{ error }

// assess returns the fit of the map to all rows and its score.
func assess[T dense.Float](ctx context.Context, phi rff.Map[T], rows Rows[T], o ChooseOptions) (*Model[T], float64, error) {
	if o.By == Folds {
		return crossValidate(ctx, phi, rows, o)
	}
	sums, err := Sum(ctx, phi, rows)
	if err != nil {
		return nil, 0, err
	}
	m, err := sums.Fit(ctx, o.Options)
	if err != nil {
		return nil, 0, &fitError{err}
	}
	if o.By == Evidence {
		return m, m.evidence, nil
	}
	score, err := m.leftOutError(ctx, rows)
	return m, score, err
}

// leftOutError returns the root mean square of the leave-one-out errors.
func (m *Model[T]) leftOutError(ctx context.Context, rows Rows[T]) (float64, error) {
	square, weight := 0.0, 0.0
	var errs dense.Matrix[T]
	err := each(ctx, rows, func(b Block[T]) (err error) {
		// The time between two checks of ctx is about the same for few features and many.
		width := float64(m.regression.Weights.Rows)
		part := max(predictRows, min(8*predictRows, int(0x1p30/width/width)))
		for lo := 0; lo < b.X.Rows; lo += part {
			if err := ctx.Err(); err != nil {
				return err
			}
			some := b.RowRange(lo, min(lo+part, b.X.Rows))
			errs, err = m.LeaveOneOut(resize(errs, some.Y.Rows, some.Y.Cols), some.X, some.Y, some.Weights)
			if err != nil {
				return err
			}
			for i := range errs.Rows {
				w := some.Weight(i)
				if w == 0 {
					continue
				}
				for _, e := range errs.Row(i) {
					square += w * float64(e) * float64(e)
					weight += w
				}
			}
		}
		return nil
	})
	return math.Sqrt(square / weight), err
}

// crossValidate returns the model of all rows and the error of K fits at the rows of their folds.
func crossValidate[T dense.Float](ctx context.Context, phi rff.Map[T], rows Rows[T], o ChooseOptions) (*Model[T], float64, error) {
	folds := make([]*Sums[T], o.K)
	at := 0
	err := each(ctx, rows, func(b Block[T]) error {
		for k := range folds {
			if folds[k] == nil {
				var err error
				if folds[k], err = NewSums(phi, b.Y.Cols); err != nil {
					return err
				}
			}
			part := b.every(o.K, ((k-at)%o.K+o.K)%o.K)
			if err := folds[k].add(ctx, part); err != nil {
				return err
			}
		}
		at += b.X.Rows
		return nil
	})
	if err == nil && folds[0] == nil {
		err = errNoRows
	}
	if err != nil {
		return nil, 0, err
	}
	var of []*moments
	for _, f := range folds {
		of = append(of, &f.moments)
	}
	p, score, err := held(ctx, of, o.Options)
	if err != nil {
		return nil, 0, err
	}
	return &Model[T]{phi, folds[0].source, *p}, score, nil
}

// held returns the posterior of all rows, and the error of the fits without one fold at the rows of the
// fold.
func held(ctx context.Context, folds []*moments, o Options) (*posterior, float64, error) {
	all := folds[0].clone()
	for _, f := range folds[1:] {
		if err := all.merge(f); err != nil {
			return nil, 0, err
		}
	}
	square, weight := 0.0, 0.0
	for _, f := range folds {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		if f.n == 0 {
			continue
		}
		rest := all.clone()
		if err := rest.subtract(f); err != nil {
			return nil, 0, err
		}
		p, err := newPosterior(ctx, &rest, o)
		if err != nil {
			return nil, 0, &fitError{err}
		}
		square += f.squaredErrors(&p.regression)
		weight += f.weight * float64(len(f.targets))
	}
	p, err := newPosterior(ctx, &all, o)
	if err != nil {
		return nil, 0, &fitError{err}
	}
	return p, math.Sqrt(square / weight), nil
}

// every returns copies of the rows from, from + k, from + 2k, ….
func (b Block[T]) every(k, from int) Block[T] {
	n := max(0, (b.X.Rows-from+k-1)/k)
	part := Block[T]{X: dense.New[T](n, b.X.Cols), Y: dense.New[T](n, b.Y.Cols)}
	for i := range n {
		copy(part.X.Row(i), b.X.Row(from+i*k))
		copy(part.Y.Row(i), b.Y.Row(from+i*k))
		if b.Weights != nil {
			part.Weights = append(part.Weights, b.Weights[from+i*k])
		}
	}
	if b.Weights != nil && n == 0 {
		part.Weights = []T{}
	}
	return part
}

// MedianDistance returns the median of the Euclidean distances between pairs of rows of x (n×d), or of a
// sample of 500 rows. It is a usual length-scale to start with, in units of x. In many dimensions
// distances hardly vary, and the median is a good length-scale. In few dimensions functions often vary
// within a fraction of it.
//
// The error reports fewer than two rows, coordinates that are NaN or infinite, a nil src, and a median
// that is +Inf or 0. The median is 0 if most pairs of rows are equal, as in a binary column; the error then
// contains the median of the other distances, which is a length-scale to start with. Cost: 125,000·d
// operations.
func MedianDistance[T dense.Float](x dense.Matrix[T], src rand.Source) (float64, error) {
	const most = 500
	x.Check()
	if x.Rows < 2 || x.Cols < 1 {
		return 0, fmt.Errorf("ridge: x is %d×%d, want at least 2×1", x.Rows, x.Cols)
	}
	if src == nil {
		return 0, errors.New("ridge: src is nil, want a source of randomness")
	}
	if err := argument.Finite("ridge: x", x); err != nil {
		return 0, err
	}
	sample, err := landmarks.Uniform(x, min(x.Rows, most), src)
	if err != nil {
		return 0, wrap(err)
	}
	var distances []float64 // of different points
	pairs := sample.Rows * (sample.Rows - 1) / 2
	for i := range sample.Rows {
		for l := range i {
			d := 0.0
			for j, v := range sample.Row(i) {
				d = math.Hypot(d, float64(v)-float64(sample.At(l, j)))
			}
			if d > 0 {
				distances = append(distances, d)
			}
		}
	}
	equal := pairs - len(distances)
	if equal == pairs {
		return 0, errors.New("ridge: all rows of x are equal, which tells no length-scale: give a length-scale of your own")
	}
	slices.Sort(distances)
	if equal > pairs/2 {
		return 0, fmt.Errorf("ridge: the rows are equal in %d of %d pairs of rows of x, so that the median distance is 0: give a length-scale of your own, such as %.3g, the median of the other distances",
			equal, pairs, distances[len(distances)/2])
	}
	median := distances[pairs/2-equal]
	if math.IsInf(median, 1) {
		return 0, errors.New("ridge: the median distance of the rows of x is +Inf, want a finite number: scale the rows")
	}
	return median, nil
}
