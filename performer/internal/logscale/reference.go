package logscale

import (
	"math"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Reference holds an integer exponent N_f for each feature: sums have terms exp(ℓ_jf − R_f) with
// R_f = N_f·ln 2. A larger exponent multiplies the sums by a power of two, which rounds nothing.
// R_f is stored as high + low, where high is exact for |N_f| ≤ 2¹² in float32 and 2²¹ in float64.
// The difference of two large logarithms thus has no error beyond the rounding of the logarithms.
// An extreme exponent stands for a number of T, which is R_f: see [ExponentOf].
type Reference[T dense.Float] struct {
	exponent  []int64
	extreme   atomic.Int64 // number of extreme exponents
	high, low []T
	base      []T // high, or −Inf where there is no reference
	top       []T // the exponent of a log-feature of at most top is at most N_f
	limit     []T // largest log-feature of a chunk with this reference

	ln2High, ln2Low, growth T
}

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

// SetAll sets the exponent of every feature to n: [None] before the first key, 0 for references of
// 1.
func (r *Reference[T]) SetAll(n int64) {
	for f := range r.exponent {
		r.Set(f, n)
	}
}

// Set sets the exponent of feature f to n. Goroutines may set different features at once.
func (r *Reference[T]) Set(f int, n int64) {
	if was, is := IsExtreme(r.exponent[f]), IsExtreme(n); is && !was {
		r.extreme.Add(1)
	} else if was && !is {
		r.extreme.Add(-1)
	}
	r.exponent[f] = n
	if n == None {
		inf := T(math.Inf(-1))
		r.high[f], r.low[f] = 0, 0
		r.base[f], r.top[f], r.limit[f] = inf, inf, inf
		return
	}
	if IsExtreme(n) {
		x := T(LogOf(n))
		r.high[f], r.low[f] = x, 0
		r.base[f], r.top[f], r.limit[f] = x, x, x
		return
	}
	// The margin is much larger than any rounding error here.
	const margin = 0x1p-18
	log := float64(n) * math.Ln2
	r.high[f], r.low[f] = T(n)*r.ln2High, T(n)*r.ln2Low
	r.base[f] = r.high[f]
	r.top[f] = T(log - margin*(1+math.Abs(log)))
	r.limit[f] = r.high[f] + r.low[f] + r.growth
}

// Exponents returns the exponent of each feature. The caller must not change them.
func (r *Reference[T]) Exponents() []int64 { return r.exponent }

func (r *Reference[T]) Copy(other *Reference[T]) {
	copy(r.exponent, other.exponent)
	r.extreme.Store(other.extreme.Load())
	copy(r.high, other.high)
	copy(r.low, other.low)
	copy(r.base, other.base)
	copy(r.top, other.top)
	copy(r.limit, other.limit)
}

type Change struct {
	Feature  int
	From, To int64
}

// Raise raises the reference of each feature f to at least the log-feature x[f], and appends the
// changes to changes. NaN and ±Inf have no exponent and change nothing.
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

// Undo reverts changes, the last one first.
func (r *Reference[T]) Undo(changes []Change) {
	for i := len(changes) - 1; i >= 0; i-- {
		r.Set(changes[i].Feature, changes[i].From)
	}
}

// Peaks writes the largest finite log-feature of the rows, or −Inf, into dst for each feature.
func Peaks[T dense.Float](dst []T, logs dense.Matrix[T]) {
	inf := T(math.Inf(-1))
	for f := range dst {
		dst[f] = inf
	}
	vecmath.PeakRows(dst, logs.Data, logs.Stride, logs.Rows)
}

// AdmitsAll reports whether rows with these peaks are within the limits of the reference.
func (r *Reference[T]) AdmitsAll(peaks []T) bool {
	limit := r.limit[:len(peaks)]
	for f, x := range peaks {
		if x > limit[f] {
			return false
		}
	}
	return true
}

// Admits returns the number of rows, at least one, up to the first row beyond the limits of the
// reference. If back is true, rows count from the last row to the first.
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

// ScaleKeys replaces log-features ℓ by exp(ℓ − R), and sets totals to the sum of each feature over
// the rows.
func (r *Reference[T]) ScaleKeys(logs dense.Matrix[T], totals []T) {
	clear(totals)
	vecmath.ExpRows(logs.Data, logs.Stride, logs.Rows, r.high, r.low, totals)
}

// ScaleKey replaces the log-features ℓ of one key by exp(ℓ − R).
func (r *Reference[T]) ScaleKey(logs []T) { vecmath.ExpDiff(logs, logs, r.high, r.low) }

// ScaleQueries replaces the log-features ℓ of query i by exp(ℓ_f + R_f − M_i), where M_i is the
// largest finite ℓ_f + R_f, and sets scales[i] to exp(M_i) unless scales is nil. A feature without
// a reference has the weight zero. M_i is zero if no feature has a reference. The result is true if
// a row has extreme log-features or references.
func (r *Reference[T]) ScaleQueries(logs dense.Matrix[T], scales []Scale) (extreme bool) {
	anyExtreme := r.extreme.Load() > 0
	for i := range logs.Rows {
		row := logs.Row(i)
		s, at := Scale{Factor: 1}, -1
		if !anyExtreme {
			at = vecmath.PeakSum(row, r.base, r.low)
		}
		if anyExtreme || at >= 0 && math.Abs(float64(row[at])) > maxLog {
			s, extreme = r.scaleExtreme(row), true
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
	return extreme
}
