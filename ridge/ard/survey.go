package ard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/ridge"
)

// survey is what the first pass finds of the rows with a weight.
type survey[T dense.Float] struct {
	n                 int
	outputs           int
	means, deviations []float64 // of the columns
	varying           []int     // columns that are not constant
	sample            ridge.Block[T]
}

// lookRows is the number of rows between two looks at the context.
const lookRows = 1024

// look reads rows once and keeps a sample of at most so many of them: all, or each with the same
// probability.
func look[T dense.Float](ctx context.Context, rows ridge.Rows[T], d, most int, src rand.Source) (*survey[T], error) {
	v := &survey[T]{means: make([]float64, d), deviations: make([]float64, d)}
	rng := rand.New(src)
	var x, y, weights []T
	at := 0
	for b, err := range rows.Blocks() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if at == 0 {
			v.outputs = b.Y.Cols
		}
		if err := v.check(b); err != nil {
			if at > 0 {
				err = fmt.Errorf("%w (in the block that begins with row %d)", err, at)
			}
			return nil, err
		}
		at += b.X.Rows
		for i := range b.X.Rows {
			if i%lookRows == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			w := weightOf(b, i)
			if w == 0 {
				continue
			}
			v.add(b.X.Row(i))
			if v.n <= most {
				x, y, weights = append(x, b.X.Row(i)...), append(y, b.Y.Row(i)...), append(weights, T(w))
				continue
			}
			if place := rng.IntN(v.n); place < most {
				copy(x[place*d:], b.X.Row(i))
				copy(y[place*v.outputs:], b.Y.Row(i))
				weights[place] = T(w)
			}
		}
	}
	if v.n == 0 {
		return nil, errors.New("ard: no rows, want at least 1 with a weight above 0")
	}
	for j, s := range v.deviations {
		if v.deviations[j] = math.Sqrt(s / float64(v.n)); s > 0 {
			v.varying = append(v.varying, j)
		}
	}
	if v.varying == nil {
		return nil, fmt.Errorf("ard: all %d columns of the %d rows are constant", d, v.n)
	}
	n := len(weights)
	v.sample = ridge.Block[T]{X: dense.Of(n, d, x), Y: dense.Of(n, v.outputs, y), Weights: weights}
	return v, nil
}

// check returns an error unless the rows are finite and have the shape of those before.
func (v *survey[T]) check(b ridge.Block[T]) error {
	switch d := len(v.means); {
	case b.X.Cols != d:
		return fmt.Errorf("ard: x is %d×%d, want %d columns", b.X.Rows, b.X.Cols, d)
	case b.Y.Rows != b.X.Rows || b.Y.Cols != v.outputs || v.outputs < 1:
		return fmt.Errorf("ard: y is %d×%d, want %d×%d", b.Y.Rows, b.Y.Cols, b.X.Rows, max(1, v.outputs))
	case b.Weights != nil && len(b.Weights) != b.X.Rows:
		return fmt.Errorf("ard: %d weights for %d rows", len(b.Weights), b.X.Rows)
	}
	if err := argument.Finite("ard: x", b.X); err != nil {
		return err
	}
	return argument.Finite("ard: y", b.Y)
}

// add counts a point [Welford 1962]. deviations are sums of squares.
func (v *survey[T]) add(x []T) {
	v.n++
	for j, e := range x {
		before := float64(e) - v.means[j]
		v.means[j] += before / float64(v.n)
		v.deviations[j] += before * (float64(e) - v.means[j])
	}
}

// rates returns 1/ℓ of all columns for the logarithms of the relevance of those that vary.
func (v *survey[T]) rates(x []float64) []float64 {
	r := make([]float64, len(v.means))
	for i, j := range v.varying {
		r[j] = math.Exp(x[i]) / v.deviations[j]
	}
	return r
}
