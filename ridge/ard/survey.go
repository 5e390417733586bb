package ard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/welford"
	"github.com/seed-feabd252/randfeat/ridge"
)

type survey struct {
	n                 int
	outputs           int
	means, deviations []float64 // of the columns
	varying           []int     // indices of columns that are not constant

	x, y    dense.Matrix[float64]
	weights []float64
}

const lookRows = 1024

// look draws a sample in which each row has the same probability.
func (p *pointsOf[T]) look(ctx context.Context, most int, src rand.Source) (*survey, points, points, error) {
	d, _ := p.psi.Dims()
	v, rests := &survey{means: make([]float64, d), deviations: make([]float64, d)}, make([]float64, d)
	rng := rand.New(src)
	var sample ridge.Block[T]
	var x, y []T
	at := 0
	for b, err := range p.rows.Blocks() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, nil, nil, err
		}
		if at == 0 {
			v.outputs = b.Y.Cols
		}
		if err := b.Check(d, v.outputs); err != nil {
			if at > 0 {
				err = fmt.Errorf("%w (in the block that begins with row %d)", err, at)
			}
			return nil, nil, nil, err
		}
		at += b.X.Rows
		for i := range b.X.Rows {
			if i%lookRows == 0 && ctx.Err() != nil {
				return nil, nil, nil, ctx.Err()
			}
			w := b.Weight(i)
			if w == 0 {
				continue
			}
			v.n++
			for j, e := range b.X.Row(i) {
				welford.Add(float64(v.n), float64(e), &v.means[j], &rests[j], &v.deviations[j])
			}
			if v.n <= most {
				x, y, sample.Weights = append(x, b.X.Row(i)...), append(y, b.Y.Row(i)...), append(sample.Weights, T(w))
				continue
			}
			if place := rng.IntN(v.n); place < most {
				copy(x[place*d:], b.X.Row(i))
				copy(y[place*v.outputs:], b.Y.Row(i))
				sample.Weights[place] = T(w)
			}
		}
	}
	n := len(sample.Weights)
	sample.X, sample.Y = dense.Of(n, d, x), dense.Of(n, v.outputs, y)
	v.x, v.y = dense.Copy(v.x, sample.X), dense.Copy(v.y, sample.Y)
	v.weights = dense.Copy(dense.Matrix[float64]{}, dense.Of(n, 1, sample.Weights)).Data
	if err := v.finish(); err != nil {
		return nil, nil, nil, err
	}
	centred := p.about(v.means)
	of := *centred
	of.rows = sample
	return v, &of, centred, nil
}

func (v *survey) finish() error {
	if v.n == 0 {
		return errors.New("ard: no rows, want at least 1 with a weight above 0")
	}
	for j, s := range v.deviations {
		if v.deviations[j] = math.Sqrt(s / float64(v.n)); s > 0 {
			v.varying = append(v.varying, j)
		}
	}
	if v.varying == nil {
		return fmt.Errorf("ard: all %d columns of the %d rows are constant", len(v.means), v.n)
	}
	return nil
}

// rates returns 1/ℓ of all columns. x has logarithms of relevances.
func (v *survey) rates(x []float64) []float64 {
	r := make([]float64, len(v.means))
	for i, j := range v.varying {
		r[j] = math.Exp(x[i]) / v.deviations[j]
	}
	return r
}
