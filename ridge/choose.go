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
	"github.com/seed-feabd252/randfeat/landmarks"
	"github.com/seed-feabd252/randfeat/rff"
)

// Trial has the score of one feature map, or the error of the fit.
type Trial struct {
	Score float64 // log evidence, or the loss of Classify; NaN if the fit failed
	Err   error   // of the fit, or nil
}

// Choice has the Model of Choose or the Classifier of Classify for the best feature map.
type Choice[T dense.Float] struct {
	Trials []Trial   // in the order of the maps
	Best   int       // index of the map with the largest evidence, or with the smallest loss
	Model  *Model[T] // nil for Classify

	Classifier  *Classifier[T] // nil for Choose
	Ratio       float64        // λ of the classifier
	Temperature float64        // β of the classifier
}

// Choose fits a model with each feature map to the rows and returns the model of largest evidence,
// the first one of models with equal evidence. The feature maps may differ in length-scales,
// kernels, frequencies or numbers of features. For each feature map, Choose finds by maximum
// evidence the variance of the noise and the prior variance of the regression weights, as far as
// the options o leave the two open. Choose overrates a feature map with parameters learnt from the
// targets of the same rows: package ridge/automl compares such maps at held-out rows.
//
// Without Options.Iterative, Choose reads the rows once per map. Choose returns the errors of Sum,
// an error for an empty slice maps, and the error of the first map if no map can be fitted.
func Choose[T dense.Float](ctx context.Context, maps []rff.Map[T], rows Rows[T], o Options) (Choice[T], error) {
	if err := argument.Context("ridge", ctx); err != nil {
		return Choice[T]{}, err
	}
	if err := o.check(); err != nil {
		return Choice[T]{}, err
	}
	var c Choice[T]
	var model *Model[T]
	var err error
	c.Trials, err = try(ctx, maps, 1, func(phi rff.Map[T]) (float64, error) {
		if o.Iterative != nil {
			if model, err = Fit(ctx, phi, rows, o); err != nil {
				return 0, &fitError{err}
			}
			return model.evidence, nil
		}
		sums, err := Sum(ctx, phi, rows)
		if err != nil {
			return 0, err
		}
		if model, err = sums.Fit(ctx, o); err != nil {
			return 0, &fitError{err}
		}
		return model.evidence, nil
	}, func(i int) { c.Best, c.Model = i, model })
	if err != nil {
		return Choice[T]{}, err
	}
	return c, nil
}

// After a fitError, Choose goes on with the next map.
type fitError struct{ error }

// try calls best after a fit whose score times sign is the largest so far. A fitError is returned
// only if no map can be fitted.
func try[T dense.Float](ctx context.Context, maps []rff.Map[T], sign float64, fit func(phi rff.Map[T]) (float64, error), best func(i int)) ([]Trial, error) {
	if len(maps) == 0 {
		return nil, errors.New("ridge: no maps, want at least 1")
	}
	if slices.Contains(maps, nil) {
		return nil, errNoMap
	}
	var trials []Trial
	var first error
	top := math.Inf(-1)
	found := false
	for i, phi := range maps {
		score, err := fit(phi)
		var unfit *fitError
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &unfit):
			score, err = math.NaN(), unfit.error
			first = cmp.Or(first, err)
		case err != nil:
			return nil, err
		case !found || sign*score > top:
			top, found = sign*score, true
			best(i)
		}
		trials = append(trials, Trial{score, err})
	}
	if !found {
		return nil, first
	}
	return trials, nil
}

// MedianDistance returns the median of the Euclidean distances between pairs of rows of x, or of a
// random sample of 500 rows: a first length-scale for kernels, in units of x. In few dimensions
// functions often vary within a fraction of the median distance. For rows of R^d, MedianDistance
// takes 125,000·d operations. MedianDistance returns an error for fewer than two rows, and a median
// of +Inf or 0; the error for 0 names the median of the distances above 0.
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
