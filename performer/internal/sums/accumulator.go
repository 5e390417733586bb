package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// Accumulator holds the sums over keys and values S_f = Σ_j φ_jf·[v_j, 1], an m×(dv+1) matrix. With
// log-features ℓ_jf it holds Σ_j exp(ℓ_jf − N_f·ln 2)·[v_j, 1] and the reference exponents N_f.
type Accumulator[T dense.Float] struct {
	Ref     *logscale.Reference[T] // nil for features that are not logarithms
	sum     scratch.Buffer[T]      // m×(dv+1)
	m       int
	changes []logscale.Change
}

// Accumulator returns an empty accumulator for values of dimension dv. The caller may return the
// Accumulator by Drop.
func (e *Engine[T]) Accumulator(dv int) *Accumulator[T] {
	acc := e.memory.accumulators.Get()
	acc.m = e.M
	if e.Logs && acc.Ref == nil {
		acc.Ref = logscale.NewReference[T](e.M)
	}
	acc.sum.Shape(e.M, dv+1)
	acc.Reset()
	return acc
}

func (e *Engine[T]) Drop(acc *Accumulator[T]) { e.memory.accumulators.Put(acc) }

func (acc *Accumulator[T]) Sums() dense.Matrix[T] { return acc.sum.Rows(acc.m) }

func (acc *Accumulator[T]) Reset() {
	clear(acc.sum.Data)
	if acc.Ref != nil {
		acc.Ref.SetAll(logscale.None)
	}
}

func (acc *Accumulator[T]) Copy(other *Accumulator[T]) {
	sums := other.Sums()
	acc.m = other.m
	acc.sum.Shape(sums.Rows, sums.Cols)
	copy(acc.sum.Data, other.sum.Data)
	if other.Ref == nil {
		return
	}
	if acc.Ref == nil || len(acc.Ref.Exponents()) != acc.m {
		acc.Ref = logscale.NewReference[T](acc.m)
	}
	acc.Ref.Copy(other.Ref)
}

// Add adds the keys lo ≤ j < hi of k and their values in v to the sums.
func (e *Engine[T]) Add(acc *Accumulator[T], k, v dense.Matrix[T], lo, hi int) {
	w := e.Workspace(v.Cols)
	for ; lo < hi; lo += e.Rows() {
		end := min(lo+e.Rows(), hi)
		prefetchAfter(k, end, hi, e.Rows())
		prefetchAfter(v, end, hi, e.Rows())
		keys := w.Features.Rows(end - lo)
		e.Features.Keys(keys, k.RowRange(lo, end))
		acc.add(keys, v.RowRange(lo, end), w.totals)
	}
	e.Release(w)
}

// addDirectly is Add for features instead of logarithms, with references of 1.
func (e *Engine[T]) addDirectly(acc *Accumulator[T], k, v dense.Matrix[T], lo, hi int) {
	w := e.Workspace(v.Cols)
	acc.Ref.SetAll(0)
	for ; lo < hi; lo += e.Rows() {
		end := min(lo+e.Rows(), hi)
		prefetchAfter(k, end, hi, e.Rows())
		prefetchAfter(v, end, hi, e.Rows())
		keys := w.Features.Rows(end - lo)
		e.Direct.DirectKeys(keys, k.RowRange(lo, end))
		totalsOf(w.totals, keys, nil)
		addProducts(1, acc.Sums(), keys, v.RowRange(lo, end), w.totals)
	}
	e.Release(w)
}

// prefetchAfter prefetches at most n of the rows from ≤ i < to of x. The rows of one of several
// heads have gaps between them, across which processors do not prefetch.
func prefetchAfter[T dense.Float](x dense.Matrix[T], from, to, n int) {
	if x.Stride > x.Cols && from < to {
		matmul.Prefetch(x.RowRange(from, min(from+n, to)))
	}
}

// add adds a block of keys with the given (log-)features and values to the sums. It overwrites
// keys. totals is memory for m elements.
func (acc *Accumulator[T]) add(keys, values dense.Matrix[T], totals []T) {
	if acc.Ref != nil {
		logscale.Peaks(totals, keys)
		acc.Raise(totals)
		acc.Ref.ScaleKeys(keys, totals)
	} else {
		totalsOf(totals, keys, nil)
	}
	addProducts(1, acc.Sums(), keys, values, totals)
}

// Raise raises the reference to at least the log-features x, and rescales the sums.
func (acc *Accumulator[T]) Raise(x []T) {
	acc.changes = acc.Ref.Raise(x, acc.changes[:0])
	rescale(acc.Sums(), acc.changes, 0, acc.m)
}

// RescaleLike rescales other sums with the same reference as the last Raise has rescaled acc.
func (acc *Accumulator[T]) RescaleLike(sums dense.Matrix[T]) { rescale(sums, acc.changes, 0, acc.m) }

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

// addProducts multiplies the sums by beta, 0 or 1, and adds [Σ_j keys_jf·values_j, totals_f].
// The products with at most mostRows keys are summed in ascending order, like the totals.
func addProducts[T dense.Float](beta T, sums, keys, values dense.Matrix[T], totals []T) {
	matmul.TMul(1, keys, values, beta, sums.ColRange(0, values.Cols))
	for f, x := range totals {
		at := f*sums.Stride + values.Cols
		if beta != 0 {
			x += sums.Data[at]
		}
		sums.Data[at] = x
	}
}

// ScaleQueries replaces the (log-)features of queries by weights of the sums. It writes the
// divisors of the weights to scales unless scales is nil.
func (acc *Accumulator[T]) ScaleQueries(queries dense.Matrix[T], scales []logscale.Scale) {
	if acc.Ref != nil {
		acc.Ref.ScaleQueries(queries, scales)
	}
}

// rescale makes the sums of features lo ≤ f < hi relative to the changed references. The factors
// are powers of two unless an exponent is extreme.
func rescale[T dense.Float](sums dense.Matrix[T], changes []logscale.Change, lo, hi int) {
	for _, c := range changes {
		// Without a reference the sums do not change: they are zero, NaN or Inf.
		if f := c.Feature; lo <= f && f < hi && c.From != logscale.None {
			vecmath.Scale(sums.Row(f), logscale.Lowering[T](c.From, c.To))
		}
	}
}

// Merge adds the sums of features lo ≤ f < hi of other, whose keys come later, to acc. Goroutines
// may merge different features at once.
func (acc *Accumulator[T]) Merge(other *Accumulator[T], lo, hi int) {
	acc.merge(other.Ref, other.Sums(), lo, hi)
}

// MergeSums is Merge of all features of sums with a reference, which is nil for features that are
// not logarithms.
func (acc *Accumulator[T]) MergeSums(ref *logscale.Reference[T], sums dense.Matrix[T]) {
	acc.merge(ref, sums, 0, acc.m)
}

func (acc *Accumulator[T]) merge(ref *logscale.Reference[T], more dense.Matrix[T], lo, hi int) {
	sums := acc.Sums()
	if acc.Ref == nil {
		AddRows(sums, more, lo, hi)
		return
	}
	for f := lo; f < hi; f++ {
		factor := T(1)
		if n, old := ref.Exponents()[f], acc.Ref.Exponents()[f]; n > old {
			if old != logscale.None {
				vecmath.Scale(sums.Row(f), logscale.Lowering[T](old, n))
			}
			acc.Ref.Set(f, n)
		} else if n != logscale.None {
			factor = logscale.Lowering[T](n, old)
		}
		vecmath.AddScaled(sums.Row(f), more.Row(f), factor)
	}
}

// AddRows adds rows lo ≤ i < hi of x to those of y, of the same shape and stride.
func AddRows[T dense.Float](y, x dense.Matrix[T], lo, hi int) {
	n := (hi - lo) * y.Stride
	vecmath.AddScaled(y.Data[lo*y.Stride:][:n], x.Data[lo*x.Stride:][:n], 1)
}

// Extend copies v into the first columns of dst, and ones into others. Numerator and denominator
// are then sums of the same products in the same order: if all values are one, outputs are exactly
// one.
func Extend[T dense.Float](dst, v dense.Matrix[T]) {
	for i := range v.Rows {
		row := dst.Row(i)
		for j := copy(row, v.Row(i)); j < len(row); j++ {
			row[j] = 1
		}
	}
}
