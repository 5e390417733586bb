package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
)

// none is the reference exponent of a feature that no key has had yet.
const none = math.MinInt32

// maxExponent bounds |N_f|. Log-features below −maxExponent·ln 2 count as
// zero, those above +maxExponent·ln 2 overflow. At this size a float32 is
// accurate to 8 only, so that nothing meaningful lies beyond.
const maxExponent = 1 << 27

// reference holds an integer exponent N_f for each feature: keys enter the sums
// as exp(ℓ_jf − N_f·ln 2). An integer, so that replacing it by a larger one
// multiplies the sums by a power of two, which rounds nothing.
//
// N_f·ln 2 is kept as high + low, where high is exact for |N_f| ≤ 2¹² in
// float32 and 2²¹ in float64. A difference of two large logarithms thus loses
// nothing beyond the rounding they came with.
type reference[T dense.Float] struct {
	exponent  []int32
	high, low []T
	base      []T // high, or −Inf where there is no reference
	limit     []T // largest log-feature that a chunk admits under this reference

	ln2High, ln2Low, growth T
}

func newReference[T dense.Float](m int) *reference[T] {
	r := &reference[T]{
		exponent: make([]int32, m),
		high:     make([]T, m), low: make([]T, m),
		base: make([]T, m), limit: make([]T, m),
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
	r.reset()
	return r
}

// reset forgets every key.
func (r *reference[T]) reset() {
	for f := range r.exponent {
		r.set(f, none)
	}
}

// set makes n the exponent of feature f.
func (r *reference[T]) set(f int, n int32) {
	r.exponent[f] = n
	if n == none {
		r.high[f], r.low[f] = 0, 0
		r.base[f], r.limit[f] = T(math.Inf(-1)), T(math.Inf(-1))
		return
	}
	r.high[f], r.low[f] = T(n)*r.ln2High, T(n)*r.ln2Low
	r.base[f], r.limit[f] = r.high[f], r.high[f]+r.low[f]+r.growth
}

// exponentsOf writes into dst, for each feature, the least integer N such that
// no finite log-feature of the rows exceeds N·ln 2, or none. NaN and +Inf have
// no exponent: they enter the sums as they are.
func exponentsOf[T dense.Float](dst []int32, peaks []T, logs dense.Matrix[T]) {
	inf := T(math.Inf(1))
	for f := range peaks {
		peaks[f] = -inf
	}
	for i := range logs.Rows {
		for f, x := range logs.Row(i)[:len(peaks)] {
			if x > peaks[f] && x < inf {
				peaks[f] = x
			}
		}
	}
	for f, x := range peaks {
		dst[f] = none
		if x > -inf {
			n := math.Ceil(float64(x) / math.Ln2)
			dst[f] = int32(min(max(n, -maxExponent), maxExponent))
		}
	}
}

// admits returns how many leading rows, at least one, stay within the growth
// that the reference leaves room for. Row i is judged by rows up to i only.
func (r *reference[T]) admits(logs dense.Matrix[T]) int {
	for i := 1; i < logs.Rows; i++ {
		for f, x := range logs.Row(i)[:len(r.limit)] {
			if x > r.limit[f] {
				return i
			}
		}
	}
	return logs.Rows
}

// scaleKeys replaces log-features ℓ by exp(ℓ − N·ln 2).
func (r *reference[T]) scaleKeys(logs dense.Matrix[T]) {
	for i := range logs.Rows {
		row := logs.Row(i)
		high, low := r.high[:len(row)], r.low[:len(row)]
		for f := range row {
			row[f] = (row[f] - high[f]) - low[f]
		}
		vecmath.Exp(row, row)
	}
}

// scaleQueries replaces the log-features ℓ of query i by
// exp(ℓ_f + N_f·ln 2 − M_i), where M_i is their greatest finite exponent, and
// records exp(M_i) in scales[i]. A feature without a reference gets the weight
// zero. If that holds for all of them M_i is zero.
func (r *reference[T]) scaleQueries(logs dense.Matrix[T], scales []scale) {
	inf := T(math.Inf(1))
	for i := range logs.Rows {
		row := logs.Row(i)
		base, low := r.base[:len(row)], r.low[:len(row)]
		best, star := -inf, -1
		for f, x := range row {
			if s := (x + base[f]) + low[f]; s > best && s < inf {
				best, star = s, f
			}
		}
		var log0, base0, low0 T
		scales[i] = scale{factor: 1}
		if star >= 0 {
			log0, base0, low0 = row[star], base[star], low[star]
			scales[i] = newScale(float64(log0), r.exponent[star])
		}
		// Like is subtracted from like, so that large logarithms cancel exactly.
		for f := range row {
			row[f] = (row[f] - log0) + ((base[f] - base0) + (low[f] - low0))
		}
		vecmath.Exp(row, row)
	}
}
