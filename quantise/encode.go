package quantise

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// encodeRows is the number of rows that a task rotates together.
const encodeRows = 64

// appending encodes the rows of one Append in parallel, encodeRows rows per task.
type appending[T dense.Float] struct {
	ctx      context.Context
	q        *quantiser[T]
	x        dense.Matrix[T]
	old      int // the number of rows before Append
	clusters []cluster
	// With centres: the cluster of each row of x, and the place of the row in the cluster.
	labels []uint32
	places []int

	mu  sync.Mutex
	bad int // the first row with an error
	err error
}

// encoder is the working memory of one task of appending.
type encoder[T dense.Float] struct {
	shifted scratch.Buffer[T]   // x − c
	rotated []scratch.Buffer[T] // the rows after each rotation
	edges   []T
	codes   []uint8
	words   []uint64 // of one row
}

// prepare allocates the memory of e in its first use.
func (q *quantiser[T]) prepare(e *encoder[T]) {
	if e.rotated == nil {
		e.rotated = make([]scratch.Buffer[T], len(q.rotations))
		e.codes = make([]uint8, q.elements)
		e.edges = make([]T, len(q.edges)+1)
	}
}

func (a *appending[T]) Piece(i int) {
	if a.ctx.Err() != nil {
		return
	}
	q := a.q
	lo, hi := i*encodeRows, min((i+1)*encodeRows, a.x.Rows)
	e := q.encoders.Get()
	defer q.encoders.Put(e)
	q.prepare(e)
	x := a.x.RowRange(lo, hi)
	if a.labels != nil {
		e.shifted.Shape(hi-lo, q.in)
		x = dense.Copy(e.shifted.Rows(hi-lo), x)
		for i := range x.Rows {
			vecmath.AddScaled(x.Row(i), q.centres[a.labels[lo+i]].vector, -1)
		}
	}
	for k, r := range q.rotations {
		e.rotated[k].Shape(hi-lo, q.out)
		r.Apply(e.rotated[k].Rows(hi-lo), x)
	}
	for row := lo; row < hi; row++ {
		label, place := 0, a.old+row
		if a.labels != nil {
			label, place = int(a.labels[row]), a.places[row]
		}
		l := a.clusters[label]
		b := l.blocks[l.find(place)]
		at := place - b.first
		norm, err := normOf(e.rotated[0].Rows(hi-lo).Row(row-lo), a.x.Row(row))
		if err != nil {
			a.mu.Lock()
			if row < a.bad {
				a.bad, a.err = row, fmt.Errorf("quantise: row %d %w", row, err)
			}
			a.mu.Unlock()
			return
		}
		n := q.encodeRow(e, row-lo, norm, label, x)
		scan.Pack(b.words[at*q.words:][:q.words], e.codes, q.width)
		for k, v := range n {
			if b.numbers[k] != nil {
				b.numbers[k][at] = v
			}
		}
		if b.signs != nil {
			q.encodeSigns(b.signs, at, e, row-lo, norm)
		}
		if a.labels != nil {
			b.ids[at] = uint32(a.old + row)
		}
	}
}

// encodeRow writes the codes of row i of the rotated rows of e to e.codes, and returns the columns.
// x has the rows minus their centres.
func (q *quantiser[T]) encodeRow(e *encoder[T], i int, norm float64, label int, x dense.Matrix[T]) (n [columns]float32) {
	ratio := 0.0
	for k := range e.rotated {
		ratio = q.encode(e.codes[k*q.out:][:q.out], e.rotated[k].Rows(x.Rows).Row(i), norm, e.edges)
	}
	n[norms], n[ratios] = float32(norm), float32(ratio)
	if q.has[variances] && norm > 0 {
		n[variances] = float32(max(0, float64(q.squareOf(e.codes)*float64(ratio*ratio))-1))
	}
	if q.centres != nil && label > 0 {
		c := &q.centres[label]
		n[centreProducts] = float32(vecmath.Dot(x.Row(i), c.vector))
		n[codedProducts] = float32(norm * ratio * q.along(e.codes, c.rotated))
	}
	return n
}

// squareOf returns ‖s‖² for levels that are odd multiples of q.unit.
func (q *quantiser[T]) squareOf(codes []uint8) float64 {
	sum, most := 0, 1<<q.width-1
	for _, c := range codes {
		odd := 2*int(c) - most
		sum += odd * odd
	}
	return float64(sum) * float64(q.unit*q.unit)
}

// normOf returns ‖y‖, or an error if the norm is out of range. y is the rotated x, which may have
// overflowed.
func normOf[T dense.Float](y, x []T) (float64, error) {
	norm := math.Sqrt(2 * vecmath.HalfSquaredNorm(y))
	if norm-norm != 0 {
		if whole := math.Sqrt(2 * vecmath.HalfSquaredNorm(x)); whole > 0x1p100 {
			norm = whole
		}
	}
	switch {
	case norm >= 0x1p-100 && norm <= 0x1p100:
		return norm, nil
	case norm == 0:
		for _, v := range y {
			if v != 0 {
				return 0, errors.New("has a norm below 1e-150, want 0 or from 2⁻¹⁰⁰ to 2¹⁰⁰")
			}
		}
		return 0, nil
	case norm > 0x1p100 && !math.IsInf(norm, 1), norm > 0 && norm < 0x1p-100:
		return 0, fmt.Errorf("has the norm %.3g, want 0 or from 2⁻¹⁰⁰ to 2¹⁰⁰", norm)
	}
	return 0, errors.New("holds NaN or ±Inf, or has a norm above 1e150")
}

// encode writes the codes of y, whose norm is given, and returns the ratio of the row. edges is
// working memory.
func (q *quantiser[T]) encode(codes []uint8, y []T, norm float64, edges []T) (ratio float64) {
	n := len(q.edges)
	if norm == 0 {
		for i := range codes {
			codes[i] = uint8(n)
		}
		return 0
	}
	ratio = 1
	top := 0.0
	if q.options.Scheme == Uniform {
		top = scan.Magnitude(y)
		ratio = top / norm
	}
	switch {
	case n == 1:
		encodeBits(codes, y)
	case q.options.Scheme == LloydMax:
		for j, v := range q.edges {
			edges[j] = T(float64(v) * norm)
		}
		edges[n] = T(math.Inf(1))
		encodeCells(codes, y, edges, q.starts, T(buckets/(float64(q.edges[n-1])*norm)))
	case q.options.Scheme == Uniform:
		encodeSteps(codes, y, T(float64(n)/top), n)
	default:
		encodeSteps(codes, y, T(1/(float64(q.edges[1])*norm)), n)
	}
	if q.options.Scheme == RaBitQ {
		ratio = norm / q.along(codes, y)
	}
	return ratio
}

func encodeBits[T dense.Float](codes []uint8, y []T) {
	codes = codes[:len(y)]
	for i, v := range y {
		var c uint8
		if v >= 0 {
			c = 1
		}
		codes[i] = c
	}
}

// encodeSteps rounds |y|·perStep down to one of n cells.
func encodeSteps[T dense.Float](codes []uint8, y []T, perStep T, n int) {
	codes = codes[:len(y)]
	most := T(n - 1)
	for i, v := range y {
		j := uint8(min(T(math.Abs(float64(v)))*perStep, most))
		c := uint8(n) + j
		if v < 0 {
			c = uint8(n-1) - j
		}
		codes[i] = c
	}
}

// buckets is the number of intervals of equal width, up to the last edge, in the table of startsOf.
const buckets = 1024

// startsOf returns, for each bucket and for numbers beyond the last, a cell that begins at or below
// all numbers that rounding may assign to the bucket.
func startsOf(edges []float32) []uint8 {
	starts, last := make([]uint8, buckets+1), float64(edges[len(edges)-1])
	j := 0
	for b := range starts {
		from := (float64(b)/buckets - 1e-5) * last
		for j+1 < len(edges) && float64(edges[j+1]) <= from {
			j++
		}
		starts[b] = uint8(j)
	}
	return starts
}

// encodeCells finds the last edge at or below each |y_i|. The last edge is +Inf, and the edge
// before it is buckets/perUnit. Most searches end in the first cell of the bucket.
func encodeCells[T dense.Float](codes []uint8, y, edges []T, starts []uint8, perUnit T) {
	codes, starts = codes[:len(y)], starts[:buckets+1]
	n := len(edges) - 1
	for i, v := range y {
		size := T(math.Abs(float64(v)))
		j := int(starts[int(min(size*perUnit, buckets))])
		for size >= edges[j+1] {
			j++
		}
		c := uint8(n + j)
		if v < 0 {
			c = uint8(n - 1 - j)
		}
		codes[i] = c
	}
}

// along returns sᵀy. Conversions of products keep the compiler from fusing them with sums, because
// fused sums have other bits on other processors.
func (q *quantiser[T]) along(codes []uint8, y []T) float64 {
	var s0, s1, s2, s3 float64
	codes = codes[:len(y)]
	i := 0
	for ; i+4 <= len(y); i += 4 {
		c, v := codes[i:i+4:i+4], y[i:i+4:i+4]
		s0 += float64(float64(q.levels[c[0]]) * float64(v[0]))
		s1 += float64(float64(q.levels[c[1]]) * float64(v[1]))
		s2 += float64(float64(q.levels[c[2]]) * float64(v[2]))
		s3 += float64(float64(q.levels[c[3]]) * float64(v[3]))
	}
	for ; i < len(y); i++ {
		s0 += float64(float64(q.levels[codes[i]]) * float64(y[i]))
	}
	return (s0 + s1) + (s2 + s3)
}
