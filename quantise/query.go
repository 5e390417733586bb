package quantise

import (
	"fmt"
	"math"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// Query is a query vector that Quantiser.Prepare has rotated and rounded, and the Measure (inner
// product, distance, cosine) that compares the vector with rows. A Query serves all codes of the
// quantiser that prepared the Query, in Codes and in bytes of EncodeBytes. Goroutines may share a
// Query, but not while Prepare writes the Query. Prepare accepts a pointer to a zero Query as the
// argument dst. A Query must not be copied.
type Query struct {
	owner any // the *quantiser[T]; nil in the zero Query
	by    Measure
	miss  float64 // the argument of Prepare
	z     float64 // the number of standard errors of Low and High; 0 if the query has no bounds

	norm   float64 // the norm of the query, NaN unless it is 0 or from 2⁻¹⁰⁰ to 2¹⁰⁰
	single []float32
	double []float64 // the query, in one of both types

	rounded

	bit      float64 // ‖s‖² of all codes, with 1 bit; 1 with bands of 1 bit; 0 if rows have a variance
	less     float64 // what varianceOf subtracts from bit·ratio²
	out      float64 // d'
	rotation float64 // the largest relative error of a squared norm after rotation

	mu     sync.Mutex
	shifts []shift // for each centre
}

// rounded is a rotated vector, divided by its norm and rounded to multiples of a step in each part.
type rounded struct {
	parts []roundedPart
	// rounding is the standard deviation of the rounding error of a coordinate, over the norm. With
	// bands it is 0, and dimensions and perDimension count the error.
	rounding float64

	// d' − 1, or with bands 1 over the variance for a row of variance 1, and its reciprocal
	dimensions, perDimension float64

	several     bool
	coordinates float64 // d'
	bias        float64 // the bias of the estimate of a cosine over the bias of a row, at most
}

// roundedPart is the multiples of one part, in listed, and their step. The multiples are in tile as
// well if the machine lacks kernels for listed.
type roundedPart struct {
	*part
	listed []byte
	tile   []uint64
	scale  float32
}

func vectorOf[T dense.Float](x *Query) *[]T { return simd.Of[[]T, T](&x.single, &x.double) }

type preparer[T dense.Float] struct {
	shifted []T // q − tc
	rotated []T
	whole   []int16
	digits  []T // of one part, with bands
}

func (q *quantiser[T]) Prepare(dst *Query, x []T, by Measure, miss float64) *Query {
	switch {
	case len(x) != q.in:
		panic(fmt.Sprintf("quantise: query has %d elements, want %d", len(x), q.in))
	case by < InnerProduct || by > SquaredDistance:
		panic(fmt.Sprintf("quantise: measure %d, want one of the constants", int(by)))
	case !(miss >= 0 && miss < 1):
		panic(fmt.Sprintf("quantise: miss = %v, want a probability between 0 and 1", miss))
	}
	if dst == nil {
		dst = new(Query)
	}
	dst.by, dst.miss, dst.z = by, miss, 0
	if miss > 0 {
		dst.z = normalQuantile(miss)
	}
	dst.shifts = scratch.Resize(dst.shifts, len(q.centres))
	for i := range dst.shifts {
		dst.shifts[i].ready.Store(false)
	}
	dst.owner = q
	dst.out, dst.bit, dst.less = float64(q.out), 0, 1
	if q.bands != nil && !q.has[variances] {
		dst.bit, dst.less = 1, 0
	} else if q.width == 1 {
		dst.bit = float64(q.elements)
	}
	p := q.preparers.Get()
	defer q.preparers.Put(p)
	vector := vectorOf[T](dst)
	if dst.rotation = 0x1p-51; q.bands != nil || simd.Size[T]() == 4 {
		dst.rotation = rotationError
	}
	*vector = append((*vector)[:0], x...)
	whole := *vector
	if q.mean == nil {
		q.rotate(p, whole)
		whole = p.rotated
	}
	dst.norm = math.Sqrt(2 * vecmath.HalfSquaredNorm(whole))
	if !(dst.norm >= 0x1p-100 && dst.norm <= 0x1p100) && scan.Magnitude(x) != 0 {
		dst.norm = math.NaN()
	}
	if q.mean == nil { // otherwise shiftOf rounds q − tc
		q.round(&dst.rounded, dst.norm, p)
	}
	return dst
}

func (q *quantiser[T]) rotate(p *preparer[T], vector []T) {
	p.rotated = scratch.Resize(p.rotated, q.out)
	q.rotation.Apply(dense.Of(1, q.out, p.rotated), dense.Of(1, q.in, vector))
}

func (q *quantiser[T]) round(dst *rounded, norm float64, p *preparer[T]) {
	if q.bands != nil {
		q.roundBands(dst, norm, p)
		return
	}
	dst.dimensions = float64(q.out) - 1
	dst.perDimension = 1 / dst.dimensions
	dst.rounding = roundPart(dst, 0, q.digits, p.rotated, norm, p)
}

// roundPart rounds the coordinates y of part k of all parts to steps, and returns the standard
// deviation of their rounding errors, over the norm of the whole vector.
func roundPart[T dense.Float](to *rounded, k int, all []part, y []T, norm float64, p *preparer[T]) (rounding float64) {
	for len(to.parts) < len(all) {
		to.parts = append(to.parts, roundedPart{})
	}
	to.parts = to.parts[:len(all)]
	dst := &to.parts[k]
	dst.part, dst.scale = &all[k], 0
	dst.listed = cache.Aligned(dst.listed, scan.ListedBytes(dst.words, dst.width))
	clear(dst.listed)
	peak := vecmath.Peak(y)
	vecmath.Scale(y, -1)
	peak = max(peak, vecmath.Peak(y))
	vecmath.Scale(y, -1)
	if norm > 0 && peak > 0 {
		step := float64(peak) / float64(scan.LargestOf(dst.width))
		scan.RoundListed(dst.listed, y, dst.places, T(1/step), dst.width)
		dst.scale, rounding = float32(step/norm), step/norm/math.Sqrt(12)
	}
	if !scan.Listed() {
		dst.tile = scratch.Resize(dst.tile, scan.DigitWords(dst.words, dst.width))
		p.whole = dst.writeTile(dst.tile, p.whole)
	}
	return rounding
}

// writeTile writes the multiples in the order of scan.Products, and returns its working memory.
func (r *roundedPart) writeTile(tile []uint64, whole []int16) []int16 {
	whole = scratch.Resize(whole, r.elements)
	scan.WholeOf(whole, r.listed, r.places, r.width)
	scan.Digits(tile, whole, r.words, r.width)
	return whole
}

// normalQuantile returns a z ≥ √3 such that the error of an estimate exceeds z standard errors with
// at most the given probability. The error of a code has a uniformly random direction in R^(d'−1).
// For z ≥ √3 a coordinate of such a direction, in units of its standard deviation, exceeds z with
// at most the probability of a normal variate, which is at most exp(−z²/2)/2. z is rounded to
// float32, because the last digits of elementary functions differ between processors.
func normalQuantile(tail float64) float64 {
	z := math.Sqrt2 * math.Erfcinv(2*tail)
	if tail < 0x1p-40 { // Erfcinv takes the difference from 1
		z = math.Sqrt(-2 * math.Log(max(2*tail, 0x1p-1000)))
	}
	return float64(float32(max(z, math.Sqrt(3))))
}
