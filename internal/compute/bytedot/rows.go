package bytedot

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// Lanes is the number of columns that kernels process together.
const Lanes = 16

func Padded(n int) int { return (n + Lanes - 1) / Lanes * Lanes }

// MostInner is the largest number of inner indices: 255·128·MostInner < 2³¹.
const MostInner = 1 << 16

const four = 4

func groups(n int) int { return max(1, (n+four-1)/four) }

// CodedRows is a left operand A of n rows and k inner indices: signed codes, at most 127 in size,
// with a scale for each row. The zero value is ready for [QuantiseRows] and [QuantiseTransposed].
// Goroutines may share a filled operand. Codes lie in groups of four inner indices. QuantiseRows
// puts the groups of a row side by side. QuantiseTransposed puts the groups of the same inner
// indices of 16 rows side by side.
type CodedRows struct {
	// Scales holds the factor of the codes of each row: NaN for a row that is not finite.
	Scales []float32

	n, k       int
	transposed bool
	codes      []int8
	wide       []int8 // codes as words, which AVX2 without AVX-VNNI multiplies
	// corrections are added to sums of each row over all inner indices.
	corrections, zeros []int32
	dithered           []int32 // as corrections, for dithered columns; empty if there are none
}

func (r *CodedRows) Dims() (n, k int) { return r.n, r.k }

func (r *CodedRows) shape(n, k int, transposed bool) {
	checkInner(k)
	r.n, r.k, r.transposed = n, k, transposed
	row := Padded(four * groups(k))
	size := n * row
	if transposed {
		size = Padded(n) * four * groups(k)
	}
	r.codes = resize(r.codes, size)
	if multipliesWords() {
		r.wide = resize(r.wide, 2*size)
	}
	r.Scales = resize(r.Scales, n)
	r.corrections, r.zeros = resize(r.corrections, Padded(n)), resize(r.zeros, Padded(n))
	clear(r.corrections)
	clear(r.zeros)
	r.dithered = r.dithered[:0]
}

// finish turns sums of codes into corrections, and codes into words if kernels multiply words.
func (r *CodedRows) finish() {
	for i := range r.corrections {
		r.corrections[i] *= correction()
	}
	if multipliesWords() && len(r.codes) > 0 {
		widen(r.wide, r.codes, len(r.codes)/Lanes)
	}
}

func (r *CodedRows) Sum(i int) int32 { return r.corrections[i] / correction() }

// correction returns the correction of sums of products for a unit of the sum of codes.
func correction() int32 {
	if tier == simd.NEON {
		return offset
	}
	return -offset
}

// starts are the initial values of the sums.
type left struct {
	codes      []int8
	row, group int
	starts     []int32
}

// most returns the number of rows that kernels take at a time for a right operand.
func (r *CodedRows) most(b *CodedColumns) int {
	if r.transposed || b.k < r.k {
		return Lanes
	}
	return max(1, r.n)
}

// from returns the rows from row i on, a multiple of most, for a right operand. It may write to
// corrections, and starts may be corrections.
func (r *CodedRows) from(i int, b *CodedColumns, corrections *[Lanes]int32) left {
	l := left{row: Padded(four * groups(r.k)), group: four, starts: r.zeros[i:]}
	at := i * l.row
	if r.transposed {
		l.row, l.group = four, Lanes*four
		at = i * four * groups(r.k)
	}
	switch {
	case b.dithered:
		l.starts = r.dithered[i:]
	case !b.signed():
	case b.k == r.k:
		l.starts = r.corrections[i:]
	default:
		for j := range min(Lanes, r.n-i) {
			sum := int32(0)
			for g := range groups(b.k) {
				for _, code := range r.codes[at+j*l.row+g*l.group:][:four] {
					sum += int32(code)
				}
			}
			corrections[j] = sum * correction()
		}
		l.starts = corrections[:]
	}
	l.codes = r.codes[at:]
	if multipliesWords() {
		l.codes, l.row, l.group = r.wide[2*at:], 2*l.row, 2*l.group
	}
	return l
}

func checkInner(k int) {
	if k > MostInner {
		panic("bytedot: more than MostInner inner indices")
	}
}

func resize[E any](x []E, n int) []E {
	if cap(x) < n {
		return make([]E, n)
	}
	return x[:n]
}
