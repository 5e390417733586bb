package logscale

import (
	"math"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Reference holds an integer exponent N_f for each feature: keys enter sums
// as exp(ℓ_jf − R_f) with R_f = N_f·ln 2. An integer, so that replacing it by a
// larger one multiplies the sums by a power of two, which rounds nothing.
//
// R_f is kept as high + low, where high is exact for |N_f| ≤ 2¹² in
// float32 and 2²¹ in float64. A difference of two large logarithms thus loses
// nothing beyond the rounding they came with. A far exponent stands for a
// number of T, which is R_f itself: see [ExponentOf].
type Reference[T dense.Float] struct {
	exponent  []int64
	far       atomic.Int64 // the number of far exponents
	high, low []T
	base      []T // high, or −Inf where there is no reference
	top       []T // a log-feature up to it has no greater exponent
	limit     []T // largest log-feature that a chunk admits under this reference

	ln2High, ln2Low, growth T
}

// NewReference returns the reference of m features without keys.
func NewReference[T dense.Float](m int) *Reference[T] {
	r := &Reference[T]{
		exponent: make([]int64, m),
		high:     make([]T, m), low: make([]T, m), base: make([]T, m),
		top: make([]T, m), limit: make([]T, m),
	}
	switch any(T(0)).(type) {
	case float32:
		const high = 0x1.62ep-1 // 12 bits
		r.ln2High, r.ln2Low = high, T(math.Ln2-high)
		r.growth = 30 * math.Ln2
	case float64:
		const high = 0x1.62e42feep-1 // 32 bits
		r.ln2High, r.ln2Low = high, T(math.Ln2-high)
		r.growth = 250 * math.Ln2
	}
	r.SetAll(None)
	return r
}

// SetAll makes n the exponent of every feature: [None] before the first key, 0 for references of 1.
func (r *Reference[T]) SetAll(n int64) {
	for f := range r.exponent {
		r.Set(f, n)
	}
}

// Set makes n the exponent of feature f. Calls for different features may run at once.
func (r *Reference[T]) Set(f int, n int64) {
	if was, is := IsFar(r.exponent[f]), IsFar(n); is && !was {
		r.far.Add(1)
	} else if was && !is {
		r.far.Add(-1)
	}
	r.exponent[f] = n
	if n == None {
		inf := T(math.Inf(-1))
		r.high[f], r.low[f] = 0, 0
		r.base[f], r.top[f], r.limit[f] = inf, inf, inf
		return
	}
	if IsFar(n) {
		x := T(LogOf(n))
		r.high[f], r.low[f] = x, 0
		r.base[f], r.top[f], r.limit[f] = x, x, x
		return
	}
	// The margin is far wider than any rounding here.
	const margin = 0x1p-18
	log := float64(n) * math.Ln2
	r.high[f], r.low[f] = T(n)*r.ln2High, T(n)*r.ln2Low
	r.base[f] = r.high[f]
	r.top[f] = T(log - margin*(1+math.Abs(log)))
	r.limit[f] = r.high[f] + r.low[f] + r.growth
}

// Exponents returns the exponents, one a feature, which the caller does not change.
func (r *Reference[T]) Exponents() []int64 { return r.exponent }

// Copy makes r the same as another reference.
func (r *Reference[T]) Copy(other *Reference[T]) {
	copy(r.exponent, other.exponent)
	r.far.Store(other.far.Load())
	copy(r.high, other.high)
	copy(r.low, other.low)
	copy(r.base, other.base)
	copy(r.top, other.top)
	copy(r.limit, other.limit)
}

// Change says that the exponent of a feature has grown.
type Change struct {
	Feature  int
	From, To int64
}

// Raise makes the reference no less than the log-features x, one of each, and
// appends what that changes to changes. NaN and ±Inf have no exponent: they enter the
// sums as they are.
func (r *Reference[T]) Raise(x []T, changes []Change) []Change {
	inf := T(math.Inf(1))
	top := r.top[:len(x)]
	for f, v := range x {
		if !(v > top[f] && v < inf) {
			continue
		}
		n, old := ExponentOf(float64(v)), r.exponent[f]
		if n <= old {
			continue
		}
		changes = append(changes, Change{f, old, n})
		r.Set(f, n)
	}
	return changes
}

// Undo takes changes back, the last first.
func (r *Reference[T]) Undo(changes []Change) {
	for i := len(changes) - 1; i >= 0; i-- {
		r.Set(changes[i].Feature, changes[i].From)
	}
}

// Peaks writes into dst the largest finite log-feature of the rows for each
// feature, or −Inf.
func Peaks[T dense.Float](dst []T, logs dense.Matrix[T]) {
	inf := T(math.Inf(-1))
	for f := range dst {
		dst[f] = inf
	}
	vecmath.PeakRows(dst, logs.Data, logs.Stride, logs.Rows)
}

// AdmitsAll reports whether rows with these peaks stay within the growth that the
// reference leaves room for.
func (r *Reference[T]) AdmitsAll(peaks []T) bool {
	limit := r.limit[:len(peaks)]
	for f, x := range peaks {
		if x > limit[f] {
			return false
		}
	}
	return true
}

// Admits returns the number of rows, at least one, that stay within that growth: leading rows, each
// judged by the rows up to it only, or, going back, last rows, each judged by the rows from it on.
func (r *Reference[T]) Admits(logs dense.Matrix[T], back bool) int {
	inf := T(math.Inf(1))
	for n := 1; n < logs.Rows; n++ {
		next := n
		if back {
			next = logs.Rows - 1 - n
		}
		for f, x := range logs.Row(next)[:len(r.limit)] {
			if x > r.limit[f] && x < inf {
				return n
			}
		}
	}
	return logs.Rows
}

// ScaleKeys replaces log-features ℓ by exp(ℓ − R) and sets totals to their sums over the rows,
// one a feature.
func (r *Reference[T]) ScaleKeys(logs dense.Matrix[T], totals []T) {
	clear(totals)
	vecmath.ExpRows(logs.Data, logs.Stride, logs.Rows, r.high, r.low, totals)
}

// ScaleKey is ScaleKeys for one key, without totals.
func (r *Reference[T]) ScaleKey(logs []T) { vecmath.ExpDiff(logs, logs, r.high, r.low) }

// ScaleQueries replaces the log-features ℓ of query i by
// exp(ℓ_f + R_f − M_i), where M_i is their greatest finite exponent, and
// records exp(M_i) in scales[i] if there are scales. A feature without a reference
// gets the weight zero. If that holds for all of them M_i is zero. It reports whether
// it left a row to scaleFar.
func (r *Reference[T]) ScaleQueries(logs dense.Matrix[T], scales []Scale) (far bool) {
	anyFar := r.far.Load() > 0
	for i := range logs.Rows {
		row := logs.Row(i)
		s, at := Scale{Factor: 1}, -1
		if !anyFar {
			at = vecmath.PeakSum(row, r.base, r.low)
		}
		if anyFar || at >= 0 && math.Abs(float64(row[at])) > maxLog {
			s, far = r.scaleFar(row), true
		} else {
			var log0, base0, low0 T
			if at >= 0 {
				log0, base0, low0 = row[at], r.base[at], r.low[at]
				if scales != nil {
					s = NewScale(float64(log0), r.exponent[at])
				}
			}
			// Like is subtracted from like, so that large logarithms cancel exactly.
			vecmath.ExpRelative(row, row, log0, r.base, base0, r.low, low0)
		}
		if scales != nil {
			scales[i] = s
		}
	}
	return far
}
