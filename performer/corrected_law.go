package performer

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
)

// Variances returns the law of the sample: the variances of the numerators and denominators of
// Forward over the seeds, given the base and the probabilities, which are those of Forward. Column
// c < dv of row i has Var(Σ_j W_ij·v_jc)/D_i² for the weights W of [Corrected] and D_i = Σ_j A_ij,
// the last column (of dv+1) Var(Σ_j W_ij)/D_i². Where that is not far below 1, denominators may be
// near zero.
//
// With x_j = (A_ij − Â_ij)·v_jc/D_i, or 0 where key j is near, and the part π_js of key j in interval
// s of length 1, the variance is exactly
//
//	Σ_s [Σ_j π_js·(x_j/π_j)² − (Σ_j π_js·x_j/π_j)²],
//
// for the keys with 0 < π_j < 1. It is at most that of n keys drawn with replacement with the
// probabilities π_j/n. Without samples all variances are zero.
//
// Variances takes O(Lq·Lk·(m+d+dv)) time and O((m+Lq+Lk)·Lk) memory: it is for inspection. It panics
// with the shapes if they do not fit.
func (c *Corrected[T]) Variances(q, k, v dense.Matrix[T]) dense.Matrix[float64] {
	c.check(q, k, v)
	variances := dense.New[float64](q.Rows, v.Cols+1)
	if q.Rows == 0 || c.opts.Samples == 0 || c.isExact(max(q.Rows, k.Rows), k.Rows) {
		return variances
	}
	w := c.open(request[T]{gradients: gradients[T]{q: q, k: k, v: v}, heads: 1}, k, v)
	errors := w.errors()
	x := make([]float64, k.Rows)
	for _, block := range w.blocks {
		near, end := w.cuts[block.from], w.cuts[block.to]
		for i := block.lo; i < block.hi; i++ {
			clear(errors.Row(i)[near:end])
			for col := range variances.Cols {
				copy(x, errors.Row(i))
				if col < v.Cols {
					for j := range x {
						x[j] *= float64(v.Row(j)[col])
					}
				}
				variances.Row(i)[col] = w.sample.variance(x)
			}
		}
	}
	c.close(w)
	return variances
}

// errors returns (A_ij − Â_ij)/D_i.
func (w *correctedCall[T]) errors() dense.Matrix[float64] {
	n := w.k.Rows
	width := w.a.width(n)
	base := dense.New[T](w.q.Rows, width+extraColumns)
	w.a.bidirectional(1, base, w.q, w.k, identity[T](n))
	q, k := dense.Copy(dense.Matrix[float64]{}, w.q), dense.Copy(dense.Matrix[float64]{}, w.k)
	exact := Exact[float64]{Scale: w.form.scale(k.Cols)}
	errors := exact.Weights(dense.Matrix[float64]{}, q, k)
	for i := range errors.Rows {
		row, from := errors.Row(i), base.Row(i)
		at := floats.MaxIdx(row)
		inverse := newScale(math.Log(row[at])-exact.Scale*floats.Dot(q.Row(i), k.Row(at)), 0) // 1/D_i
		unit := ldexp(float64(from[width])*inverse.factor, float64(from[width+1])+inverse.exponent)
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
