package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// accumulator is the summary of keys and values of linear attention: S_f = Σ_j φ_jf·[v_j, 1], an
// m×width matrix. With log-features it holds Σ_j exp(ℓ_jf − N_f·ln 2)·[v_j, 1] and the reference
// exponents N_f.
type accumulator[T dense.Float] struct {
	ref     *reference[T]     // nil for features that are not logarithms
	sum     scratch.Buffer[T] // m×width
	m       int
	changes []change
}

// accumulator takes an empty accumulator for values of dimension dv from the pool.
func (a *Attention[T]) accumulator(dv int) *accumulator[T] {
	acc := a.accumulators.Get()
	acc.m = a.m
	if a.logs && acc.ref == nil {
		acc.ref = newReference[T](a.m)
	}
	acc.sum.Shape(a.m, a.width(dv))
	clear(acc.sum.Data)
	if acc.ref != nil {
		acc.ref.setAll(none)
	}
	return acc
}

// sums returns S.
func (acc *accumulator[T]) sums() dense.Matrix[T] { return acc.sum.Rows(acc.m) }

// clear empties the sums of features lo ≤ f < hi.
func (acc *accumulator[T]) clear(lo, hi int) {
	for f := lo; f < hi; f++ {
		clear(acc.sums().Row(f))
		if acc.ref != nil {
			acc.ref.set(f, none)
		}
	}
}

// add adds a block of keys to the sums, from their (log-)features, which it overwrites, and their
// values, times weights. Nil weights are 1. A key of weight 0 has no part in references. scratch is
// memory for m elements.
func (acc *accumulator[T]) add(keys, values dense.Matrix[T], weights, scratch []T) {
	for j, w := range weights {
		if w == 0 && acc.ref != nil {
			fill(keys.Row(j), T(math.Inf(-1)))
		}
	}
	if acc.ref != nil {
		peaksOf(scratch, keys)
		acc.changes = acc.ref.raise(scratch, acc.changes[:0])
		rescale(acc.sums(), acc.changes, 0, acc.m)
		acc.ref.scaleKeys(keys, scratch)
	} else if weights == nil && acc.sums().Cols > values.Cols {
		totalsOf(scratch, keys, nil)
	}
	if weights != nil {
		for j, w := range weights {
			if w != 1 {
				vecmath.Scale(keys.Row(j), w)
			}
		}
		totalsOf(scratch, keys, nil)
	}
	addProducts(1, acc.sums(), keys, values, scratch)
}

// totalsOf sets totals to Σ_j weights_j·keys_j. Nil weights are 1.
func totalsOf[T dense.Float](totals []T, keys dense.Matrix[T], weights []T) {
	clear(totals)
	for j := range keys.Rows {
		w := T(1)
		if weights != nil {
			w = weights[j]
		}
		vecmath.AddScaled(totals, keys.Row(j), w)
	}
}

// addProducts multiplies the sums by beta, 0 or 1, and adds [Σ_j keys_jf·values_j, totals_f], or
// Σ_j keys_jf·values_j if the sums have no column for the totals. There are at most 4·block keys, so
// that products with values are a single sum in ascending order, like the totals.
func addProducts[T dense.Float](beta T, sums, keys, values dense.Matrix[T], totals []T) {
	matmul.TMul(1, keys, values, beta, sums.ColRange(0, values.Cols))
	if sums.Cols == values.Cols {
		return
	}
	for f, x := range totals {
		at := f*sums.Stride + values.Cols
		if beta != 0 {
			x += sums.Data[at]
		}
		sums.Data[at] = x
	}
}

// scaleQueries turns the (log-)features of queries into weights of the sums. It writes the divisors
// to scales, unless scales is nil.
func (acc *accumulator[T]) scaleQueries(queries dense.Matrix[T], scales []scale) {
	if acc.ref != nil {
		acc.ref.scaleQueries(queries, scales)
	}
}

// rescale makes the sums of features lo ≤ f < hi relative to the changed references. Unless an
// exponent is far, the factors are powers of two, which round only below the smallest normal
// number.
func rescale[T dense.Float](sums dense.Matrix[T], changes []change, lo, hi int) {
	for _, c := range changes {
		// Without a reference the sums do not change: they are zero, or NaN or Inf from a key that
		// is NaN or Inf.
		if f := c.feature; lo <= f && f < hi && c.from != none {
			vecmath.Scale(sums.Row(f), lowering[T](c.from, c.to))
		}
	}
}

// mergeFeatures adds the sums of features lo ≤ f < hi of other to acc. The keys of other come after
// the keys of acc. Calls for different features may run at once.
func (acc *accumulator[T]) mergeFeatures(other *accumulator[T], lo, hi int) {
	sums, more := acc.sums(), other.sums()
	if acc.ref == nil {
		addRows(sums, more, lo, hi)
		return
	}
	for f := lo; f < hi; f++ {
		factor := T(1)
		if n, old := other.ref.exponent[f], acc.ref.exponent[f]; n > old {
			if old != none {
				vecmath.Scale(sums.Row(f), lowering[T](old, n))
			}
			acc.ref.set(f, n)
		} else if n != none {
			factor = lowering[T](n, old)
		}
		vecmath.AddScaled(sums.Row(f), more.Row(f), factor)
	}
}

// fill sets every element of x to v.
func fill[T dense.Float](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}
