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

// ChooseOptions are the parameters of Choose. The zero value compares maps by the evidence.
type ChooseOptions struct {
	Options // of every fit

	// Folds is the number K of folds, at least 2. Choose then compares maps by the root mean square
	// of the errors of K fits, each at the rows of the fold that the fit leaves out. Row i is in
	// fold i mod K. If Folds is 0, Choose compares maps by the log evidence of the fit. Evidence
	// and folds need one pass over the rows each.
	Folds int

	// Choose calls Progress, unless Progress is nil, after each map, with the number of finished
	// maps and the number of maps, on the goroutine of the caller.
	Progress func(done, total int)
}

// Trial is the result of Choose for one map.
type Trial struct {
	Score float64 // log evidence, or error of folds; NaN if the fit failed
	Err   error   // of the fit, or nil
}

// Choice is the result of Choose.
type Choice[T dense.Float] struct {
	Trials []Trial   // in the order of the maps
	Best   int       // index of the map with the largest evidence, or the smallest error
	Model  *Model[T] // fit of the best map to all rows
}

// Choose fits each map to the rows and returns the best map, by the evidence or by folds. Of maps
// with equal scores, the first one is the best. The maps may differ in length-scales, kernels,
// frequencies or numbers of features. Each fit chooses the variances that o does not give. The
// evidence is the evidence of the given features, so among several draws of one kernel it prefers a
// draw that fits the targets by chance.
//
// Choose fits one map at a time. Memory is that of one map, or of K + 2 sums for K folds.
//
// The error reports no maps, a nil map, options out of range, folds that memory cannot hold, errors
// of Sum, the end of ctx, and the error of the first map if no map can be fitted. Choose checks ctx
// also between blocks of a matrix. A nil ctx panics.
func Choose[T dense.Float](ctx context.Context, maps []rff.Map[T], rows Rows[T], o ChooseOptions) (Choice[T], error) {
	if err := argument.Context("ridge", ctx); err != nil {
		return Choice[T]{}, err
	}
	switch {
	case len(maps) == 0:
		return Choice[T]{}, errors.New("ridge: no maps, want at least 1")
	case o.Folds < 0 || o.Folds == 1:
		return Choice[T]{}, fmt.Errorf("ridge: Folds = %d, want 0 or at least 2", o.Folds)
	}
	if err := o.Options.Check(); err != nil {
		return Choice[T]{}, err
	}
	for _, phi := range maps {
		if phi == nil {
			return Choice[T]{}, errNoMap
		}
		_, width := phi.Dims()
		if err := limit.Memory[float64](o.Folds, width, width/2+tile); err != nil {
			return Choice[T]{}, fmt.Errorf("ridge: Folds = %d of %d features: %w", o.Folds, width, err)
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
		if err == nil && (c.Best < 0 || o.better(score, c.Trials[c.Best].Score)) {
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

// better reports whether the score a is better than the score b.
func (o ChooseOptions) better(a, b float64) bool {
	if o.Folds > 0 {
		return a < b
	}
	return a > b
}

// fitError is an error of a fit to valid rows. Choose goes on with the next map.
type fitError struct{ error }

// assess returns the fit of the map to all rows and its score.
func assess[T dense.Float](ctx context.Context, phi rff.Map[T], rows Rows[T], o ChooseOptions) (*Model[T], float64, error) {
	if o.Folds > 0 {
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
	return m, m.evidence, nil
}

// crossValidate returns the model of all rows and the error of K fits at the rows of their folds.
func crossValidate[T dense.Float](ctx context.Context, phi rff.Map[T], rows Rows[T], o ChooseOptions) (*Model[T], float64, error) {
	var folds []*Sums[T]
	at := 0
	err := each(ctx, rows, func(b Block[T]) error {
		for k := range max(min(o.Folds, at+b.X.Rows), 1) { // later folds have no row yet
			if k == len(folds) {
				s, err := NewSums(phi, b.Y.Cols)
				if err != nil {
					return err
				}
				folds = append(folds, s)
			}
			if k == 0 { // folds number their rows otherwise
				if err := folds[0].check(b.X, b.Y, b.Weights); err != nil {
					return err
				}
			}
			part := b.every(o.Folds, ((k-at)%o.Folds+o.Folds)%o.Folds)
			if err := folds[k].add(ctx, part); err != nil {
				return err
			}
		}
		at += b.X.Rows
		return nil
	})
	if err == nil && folds == nil {
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

// held returns the posterior of all rows, and the error of the fits without one fold at the rows of
// the fold.
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

// MedianDistance returns the median of the Euclidean distances between pairs of rows of x (n×d), or
// of a sample of 500 rows. The median is a usual length-scale to start with, in units of x. In
// many dimensions distances hardly vary, and the median is a good length-scale. In few dimensions
// functions often vary within a fraction of it.
//
// The error reports fewer than two rows, coordinates that are NaN or infinite, a nil src, and a
// median that is +Inf or 0. The median is 0 if most pairs of rows are equal, as in a binary column;
// the error then contains the median of the other distances, which is a length-scale to start with.
// Cost: 125,000·d operations.
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
	var distances []float64
	for i := range sample.Rows {
		for l := range i {
			d := 0.0
			for j, v := range sample.Row(i) {
				d = math.Hypot(d, float64(v)-float64(sample.At(l, j)))
			}
			distances = append(distances, d)
		}
	}
	slices.Sort(distances)
	pairs := len(distances)
	equal, _ := slices.BinarySearch(distances, math.SmallestNonzeroFloat64)
	median := distances[pairs/2]
	switch {
	case equal == pairs:
		return 0, errors.New("ridge: all rows of x are equal, which tells no length-scale: give a length-scale of your own")
	case median == 0:
		return 0, fmt.Errorf("ridge: the rows are equal in %d of %d pairs of rows of x, so that the median distance is 0: give a length-scale of your own, such as %.3g, the median of the other distances",
			equal, pairs, distances[equal+(pairs-equal)/2])
	case math.IsInf(median, 1):
		return 0, errors.New("ridge: the median distance of the rows of x is +Inf, want a finite number: scale the rows")
	}
	return median, nil
}
