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
	top       []T // a log-feature up to it has no greater exponent
	limit     []T // largest log-feature that a chunk admits under this reference

	ln2High, ln2Low, growth T
}

func newReference[T dense.Float](m int) *reference[T] {
	r := &reference[T]{
		exponent: make([]int32, m),
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
	r.reset()
	return r
}

// reset forgets every key.
func (r *reference[T]) reset() {
	for f := range r.exponent {
		r.set(f, none)
	}
}

// one makes every reference 1, the exponent 0.
func (r *reference[T]) one() {
	for f := range r.exponent {
		r.set(f, 0)
	}
}

// set makes n the exponent of feature f.
func (r *reference[T]) set(f int, n int32) {
	r.exponent[f] = n
	if n == none {
		inf := T(math.Inf(-1))
		r.high[f], r.low[f] = 0, 0
		r.base[f], r.top[f], r.limit[f] = inf, inf, inf
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

// copyOf makes r hold what scaling keys and queries needs of another reference.
func (r *reference[T]) copyOf(other *reference[T]) {
	copy(r.exponent, other.exponent)
	copy(r.high, other.high)
	copy(r.low, other.low)
	copy(r.base, other.base)
}

// copyAll makes r the same as another reference.
func (r *reference[T]) copyAll(other *reference[T]) {
	r.copyOf(other)
	copy(r.top, other.top)
	copy(r.limit, other.limit)
}

// change says that the exponent of a feature has grown by so much: sums taken
// before are to be multiplied by 2^(−by).
type change struct{ feature, by int32 }

// raise makes the reference no less than the log-features x, one of each, and
// appends the changes of features that had a reference to changes. NaN and ±Inf
// have no exponent: they enter the sums as they are.
func (r *reference[T]) raise(x []T, changes []change) []change {
	inf := T(math.Inf(1))
	top := r.top[:len(x)]
	for f, v := range x {
		if !(v > top[f] && v < inf) {
			continue
		}
		n, old := exponentOf(v), r.exponent[f]
		if n <= old {
			continue
		}
		// Without a reference the sums are zero, or NaN or Inf from a key that
		// is, and stay what they are.
		if old != none {
			changes = append(changes, change{int32(f), n - old})
		}
		r.set(f, n)
	}
	return changes
}

// exponentOf returns the least integer N, in the range of exponents, such that
// the finite x does not exceed N·ln 2.
func exponentOf[T dense.Float](x T) int32 {
	n := math.Ceil(float64(x) / math.Ln2)
	return int32(min(max(n, -maxExponent), maxExponent))
}

// peaksOf writes into dst the largest finite log-feature of the rows for each
// feature, or −Inf.
func peaksOf[T dense.Float](dst []T, logs dense.Matrix[T]) {
	inf := T(math.Inf(-1))
	for f := range dst {
		dst[f] = inf
	}
	for i := range logs.Rows {
		vecmath.Peaks(dst, logs.Row(i))
	}
}

// admitsAll reports whether rows with these peaks stay within the growth that the
// reference leaves room for.
func (r *reference[T]) admitsAll(peaks []T) bool {
	limit := r.limit[:len(peaks)]
	for f, x := range peaks {
		if x > limit[f] {
			return false
		}
	}
	return true
}

// admits returns how many leading rows, at least one, stay within that growth. Row
// i is judged by rows up to i only.
func (r *reference[T]) admits(logs dense.Matrix[T]) int {
	inf := T(math.Inf(1))
	for i := 1; i < logs.Rows; i++ {
		for f, x := range logs.Row(i)[:len(r.limit)] {
			if x > r.limit[f] && x < inf {
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
		vecmath.ExpDiff(row, row, r.high, r.low)
	}
}

// scaleQueries replaces the log-features ℓ of query i by
// exp(ℓ_f + N_f·ln 2 − M_i), where M_i is their greatest finite exponent, and
// records exp(M_i) in scales[i] if there are scales. A feature without a reference
// gets the weight zero. If that holds for all of them M_i is zero.
func (r *reference[T]) scaleQueries(logs dense.Matrix[T], scales []scale) {
	for i := range logs.Rows {
		row := logs.Row(i)
		var log0, base0, low0 T
		s := scale{factor: 1}
		if f := vecmath.PeakSum(row, r.base, r.low); f >= 0 {
			log0, base0, low0 = row[f], r.base[f], r.low[f]
			if scales != nil {
				s = newScale(float64(log0), r.exponent[f])
			}
		}
		if scales != nil {
			scales[i] = s
		}
		// Like is subtracted from like, so that large logarithms cancel exactly.
		vecmath.ExpRelative(row, row, log0, r.base, base0, r.low, low0)
	}
}
