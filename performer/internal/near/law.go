package near

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Variances writes the law of the sample into dst, an element for each query and column of the
// values, and one for the denominator: the variances of numerators and denominators over the seeds,
// relative to the exact denominators. The call is open, for one head.
func (w *Call[T]) Variances(dst dense.Matrix[float64]) {
	errors := w.errors()
	x := make([]float64, w.k.Rows)
	for _, block := range w.blocks {
		near, end := w.cuts[block.from], w.cuts[block.to]
		for i := block.lo; i < block.hi; i++ {
			clear(errors.Row(i)[near:end])
			for col := range dst.Cols {
				copy(x, errors.Row(i))
				if col < w.v.Cols {
					for j := range x {
						x[j] *= float64(w.v.Row(j)[col])
					}
				}
				dst.Row(i)[col] = w.sample.variance(x)
			}
		}
	}
}

// errors returns (A_ij − Â_ij)/D_i.
func (w *Call[T]) errors() dense.Matrix[float64] {
	n := w.k.Rows
	width := w.Engine.Width(n)
	base, identity := dense.New[T](w.q.Rows, width+sums.ExtraColumns), dense.New[T](n, n)
	for j := range n {
		identity.Row(j)[j] = 1
	}
	w.Engine.Forward(1, base, w.q, w.k, identity)
	q, k := dense.Copy(dense.Matrix[float64]{}, w.q), dense.Copy(dense.Matrix[float64]{}, w.k)
	scores, errors := tiles.Scores{Scale: w.Scores.Scale}, dense.New[float64](q.Rows, n)
	parallel.Rows(q.Rows, nearRows, func(lo, hi int) {
		rows := errors.RowRange(lo, hi)
		tiles.Raw(scores, rows, q.RowRange(lo, hi), k)
		for i := range rows.Rows {
			tiles.Weigh(scores, rows.Row(i))
		}
	})
	for i := range errors.Rows {
		row, from := errors.Row(i), base.Row(i)
		at := floats.MaxIdx(row)
		inverse := logscale.NewScale(math.Log(row[at])-scores.Scale*floats.Dot(q.Row(i), k.Row(at)), 0) // 1/D_i
		unit := logscale.Ldexp(float64(from[width])*inverse.Factor, float64(from[width+1])+inverse.Exponent)
		for j := range row {
			row[j] -= float64(from[j]) * unit
		}
	}
	return errors
}

// variance returns the variance of Σ_j c_j·x_j.
func (s *sampled[T]) variance(x []float64) float64 {
	var total, sum, square, mean float64
	end := 1.0
	for j, p := range s.probabilities {
		if p <= 0 || p >= 1 {
			continue
		}
		for left := p; left > 0; {
			part := min(left, end-sum)
			square += part * (x[j] / p) * (x[j] / p)
			mean += part * (x[j] / p)
			left -= part
			if sum += part; sum >= end {
				total += max(square-mean*mean, 0)
				square, mean = 0, 0
				end++
			}
		}
	}
	return total + max(square-mean*mean, 0)
}
