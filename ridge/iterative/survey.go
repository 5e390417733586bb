package iterative

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// reservoir is a random sample of rows with a weight: each set of that size with the same
// probability.
type reservoir[T dense.Float] struct {
	most          int
	rng           *rand.Rand
	x, y, weights []T
}

// add offers row i of b, the n-th of all with a weight.
func (s *reservoir[T]) add(b ridge.Block[T], i, n int) {
	w := T(1)
	if b.Weights != nil {
		w = b.Weights[i]
	}
	if n <= s.most {
		s.x, s.y, s.weights = append(s.x, b.X.Row(i)...), append(s.y, b.Y.Row(i)...), append(s.weights, w)
		return
	}
	if at := s.rng.IntN(n); at < s.most {
		copy(s.x[at*b.X.Cols:], b.X.Row(i))
		copy(s.y[at*b.Y.Cols:], b.Y.Row(i))
		s.weights[at] = w
	}
}

// survey counts the rows and finds their means, which are summed about the first row, so that their
// size costs no digits. Without an intercept means are zeros.
func (o *operator[T]) survey(ctx context.Context, rows ridge.Rows[T], intercept bool, sample *reservoir[T]) error {
	_, width := o.phi.Dims()
	o.Mean = make([]float64, width)
	var first []float64 // targets of the first row
	sum := dense.New[float64](width, 1)
	for b, err := range blocks(ctx, o.phi, rows, -1) {
		if err != nil {
			return err
		}
		o.weights = weigh(o.weights, b)
		for i, w := range o.weights {
			if w == 0 {
				continue
			}
			if o.Count == 0 {
				first = make([]float64, b.Y.Cols)
				o.Targets = make([]float64, b.Y.Cols)
				for j, v := range b.Y.Row(i) {
					first[j] = float64(v)
				}
				if intercept {
					for f, v := range o.transform(b.X.RowRange(i, i+1)).Row(0) {
						o.Mean[f] = float64(v)
					}
					o.wide.begin(sum, dense.Matrix[float64]{})
				}
			}
			o.Count++
			o.Weight += w
			o.LogWeight += math.Log(w)
			for j, v := range b.Y.Row(i) {
				o.Targets[j] += w * (float64(v) - first[j])
			}
			if sample != nil {
				sample.add(b, i, o.Count)
			}
		}
		if intercept && o.Count > 0 {
			o.wide.add(o.about(o.transform(b.X)), o.weights, func(u dense.Matrix[float64]) {
				for i, w := range o.weights {
					u.Set(i, 0, w)
				}
			})
		}
	}
	if o.Count == 0 {
		return errors.New("iterative: no rows, want at least 1 with a weight above 0")
	}
	if !intercept {
		clear(o.Targets)
		return nil
	}
	o.wide.flush()
	for f := range o.Mean {
		o.Mean[f] += sum.At(f, 0) / o.Weight
	}
	for j := range o.Targets {
		o.Targets[j] = first[j] + o.Targets[j]/o.Weight
	}
	return argument.FiniteAll("iterative: mean of feature", o.Mean)
}

// ratio returns λ of maximum evidence of the sample, under the options.
//
// The evidence depends on the features by their products K = ΦΦᵀ alone, about any mean if there is
// an intercept. With K = ZZᵀ the columns of Z are features of the same evidence, as many as there
// are rows.
func (s *reservoir[T]) ratio(ctx context.Context, o *operator[T], opts ridge.Options) (float64, error) {
	n, outputs := len(s.weights), len(o.Targets)
	d, width := o.phi.Dims()
	x := dense.Of(n, d, s.x)
	k := dense.New[float64](n, n)
	most := rowsOf(width)
	for lo := 0; lo < n; lo += most {
		hi := min(lo+most, n)
		left := o.exact(x.RowRange(lo, hi))
		for at := 0; at <= lo; at += most {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			end, other := hi, left
			if at < lo {
				end = at + most
				other = o.exact(x.RowRange(at, end))
			}
			matmul.MulT(1, left, other, 0, k.RowRange(lo, hi).ColRange(at, end))
		}
	}
	symmetric := mat.NewSymDense(n, nil)
	for i := range n {
		for j, v := range k.Row(i)[:i+1] {
			if v-v != 0 {
				return 0, fmt.Errorf("iterative: a product of features of two rows is %v, want a finite number", v)
			}
			symmetric.SetSym(i, j, v)
		}
	}
	var factor mat.PivotedCholesky
	factor.Factorize(symmetric, -1)
	rank := max(1, factor.Rank())
	upper := factor.RawU()
	z := ridge.Block[float64]{X: dense.New[float64](n, rank), Y: dense.New[float64](n, outputs), Weights: make([]float64, n)}
	for c, i := range factor.ColumnPivots(nil) {
		for r := range min(c+1, rank) {
			z.X.Set(i, r, upper.At(r, c))
		}
	}
	for i, v := range s.y {
		z.Y.Data[i] = float64(v)
	}
	for i, w := range s.weights {
		z.Weights[i] = float64(w)
	}
	phi, err := rff.Identity[float64](rank)
	if err != nil {
		return 0, err
	}
	sums, err := ridge.Sum(ctx, phi, z)
	if err != nil {
		return 0, fmt.Errorf("iterative: the sample of %d rows: %w", n, err)
	}
	m, err := sums.Fit(ctx, opts)
	if err != nil {
		return 0, fmt.Errorf("iterative: the sample of %d rows: %w", n, err)
	}
	return m.Noise()[0] / m.Prior()[0], nil
}

// exact returns a copy of the features of x about their mean.
func (o *operator[T]) exact(x dense.Matrix[T]) dense.Matrix[float64] {
	o.weights = weigh(o.weights, ridge.Block[T]{X: x})
	return o.about(o.transform(x)).Clone()
}
