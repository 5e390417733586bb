package quantise

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

const encodeRows = 64

type appending[T dense.Float] struct {
	ctx    context.Context
	q      *quantiser[T]
	x      dense.Matrix[T]
	labels []uint32 // with centres: the cluster of each row of x
	room   *room

	mu  sync.Mutex
	bad int // the first row with an error
	err error
}

func (a *appending[T]) Piece(i int) {
	if a.ctx.Err() != nil {
		return
	}
	lo, hi := i*encodeRows, min((i+1)*encodeRows, a.x.Rows)
	var labels []uint32
	if a.labels != nil {
		labels = a.labels[lo:hi]
	}
	q := a.q
	e := q.encoders.Get()
	defer e.end(q)
	e.begin(q, a.x.RowRange(lo, hi), labels)
	for row := lo; row < hi; row++ {
		b, at := a.room.slot(row)
		n, err := e.encode(q, row-lo)
		if err != nil {
			a.mu.Lock()
			if row < a.bad {
				a.bad, a.err = row, fmt.Errorf("quantise: row %d %w", row, err)
			}
			a.mu.Unlock()
			return
		}
		b.setRow(at, e.row, &q.layout)
		for k, v := range n {
			if b.numbers[k] != nil {
				b.numbers[k][at] = v
			}
		}
	}
}

func (q *quantiser[T]) EncodeBytes(dst []byte, x dense.Matrix[T]) ([]byte, error) {
	x.Check()
	if x.Cols != q.in {
		panic(fmt.Sprintf("quantise: x is %d×%d, want n×%d", x.Rows, x.Cols, q.in))
	}
	e := q.encoders.Get()
	defer e.end(q)
	e.labels = scratch.Resize(e.labels, encodeRows)
	data := slices.Grow(dst, x.Rows*q.rowBytes())
	for lo := 0; lo < x.Rows; lo += encodeRows {
		some := x.RowRange(lo, min(lo+encodeRows, x.Rows))
		var labels []uint32
		if q.centred() {
			labels = e.labels[:some.Rows]
			for i := range labels {
				labels[i] = q.nearestOf(some.Row(i), func(int) bool { return true })
			}
		}
		e.begin(q, some, labels)
		for i := range some.Rows {
			n, err := e.encode(q, i)
			if err != nil {
				return dst, fmt.Errorf("quantise: row %d %w", lo+i, err)
			}
			for _, w := range e.row {
				data = binary.LittleEndian.AppendUint64(data, w)
			}
			for k, v := range n {
				if q.has[k] {
					data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
				}
			}
			if labels != nil {
				data = binary.LittleEndian.AppendUint32(data, labels[i])
			}
		}
	}
	return data, nil
}

func (q *quantiser[T]) rowBytes() int {
	n := 8*q.words + 4*q.columns()
	if q.centred() {
		n += 4
	}
	return n
}

type encoder[T dense.Float] struct {
	x       dense.Matrix[T]   // the rows
	shifted scratch.Buffer[T] // x − c, with centres
	rotated scratch.Buffer[T]
	about   []uint32   // the clusters of the rows, with centres
	codes   []uint8    // of one row
	digits  []uint8    // of one row in one part, with bands
	sums    []bandSums // of one row, with bands

	row    []uint64 // the code of one row
	labels []uint32 // of EncodeBytes
}

func (e *encoder[T]) begin(q *quantiser[T], x dense.Matrix[T], labels []uint32) {
	e.codes, e.row = scratch.Resize(e.codes, q.out), scratch.Resize(e.row, q.words)
	e.x, e.about = x, labels
	if q.centres != nil {
		e.shifted.Shape(x.Rows, q.in)
		x = dense.Copy(e.shifted.Rows(x.Rows), x)
		for i := range x.Rows {
			vecmath.AddScaled(x.Row(i), e.centre(q, i).vector, -1)
		}
	}
	e.rotated.Shape(x.Rows, q.out)
	q.rotation.Apply(e.rotated.Rows(x.Rows), x)
}

func (e *encoder[T]) centre(q *quantiser[T], i int) *centre[T] {
	if e.about == nil {
		return &q.centres[0]
	}
	return &q.centres[e.about[i]]
}

func (e *encoder[T]) end(q *quantiser[T]) {
	e.x, e.about = dense.Matrix[T]{}, nil
	q.encoders.Put(e)
}

func (e *encoder[T]) encode(q *quantiser[T], i int) (n [columns]float32, err error) {
	y := e.rotated.Rows(i + 1).Row(i)
	norm, err := normOf(y, e.x.Row(i))
	if err != nil {
		return n, err
	}
	if q.bands != nil {
		e.encodeBands(q, y, norm, i, &n)
		return n, nil
	}
	ratio := q.write(e.codes, y, norm)
	scan.Pack(e.row, e.codes, q.width)
	n[norms], n[ratios] = float32(norm), float32(ratio)
	if q.has[variances] && norm > 0 {
		n[variances] = float32(max(0, float64(q.squareOf(e.codes)*float64(ratio*ratio))-1))
	}
	if e.about != nil && e.about[i] > 0 {
		c := e.centre(q, i)
		n[centreProducts] = float32(vecmath.Dot(e.shifted.Rows(i+1).Row(i), c.vector))
		n[codedProducts] = float32(norm * ratio * q.along(e.codes, c.rotated))
	}
	return n, nil
}

// ‖x − mean‖ may exceed ‖y‖: y lacks the direction of the mean.
func (e *encoder[T]) encodeBands(q *quantiser[T], y []T, norm float64, i int, n *[columns]float32) {
	whole := norm
	if q.mean != nil {
		shifted := e.shifted.Rows(i + 1).Row(i)
		whole = math.Sqrt(2 * vecmath.HalfSquaredNorm(shifted))
		n[centreProducts] = float32(vecmath.Dot(shifted, q.centres[0].vector))
	}
	n[norms] = float32(whole)
	if norm <= whole*roundings { // y is the rounding of its rotation, or 0
		clear(e.row)
		return
	}
	e.sums, e.digits = scratch.Resize(e.sums, len(q.bands.list)), scratch.Resize(e.digits, q.out)
	writeBands(e.codes, e.sums, q.bands, y, norm)
	q.bands.pack(e.row, e.codes, e.digits)
	ratio, variance, bias := q.bands.combine(e.sums)
	share := norm / whole
	n[ratios], n[variances] = float32(ratio*share), float32(variance*float64(share*share))
	if q.bands.several {
		n[ratios] = withBias(n[ratios], bias*share)
	}
}

// squareOf returns ‖s‖².
func (c *coder[T]) squareOf(codes []uint8) float64 {
	sum, most := 0, 1<<int(c.options.Bits)-1
	for _, k := range codes {
		odd := 2*int(k) - most
		sum += odd * odd
	}
	return float64(sum)
}

// y is the rotated x, which may have overflowed.
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

func (c *coder[T]) write(codes []uint8, y []T, norm float64) (ratio float64) {
	n := 1 << (int(c.options.Bits) - 1)
	if norm == 0 {
		for i := range codes {
			codes[i] = uint8(n)
		}
		return 0
	}
	if n == 1 {
		encodeBits(codes, y)
	} else {
		encodeSteps(codes, y, T(1/(float64(c.step)*norm)), n)
	}
	return norm / c.along(codes, y)
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

// along returns sᵀy. Conversions of products keep the compiler from fusing products and sums.
func (c *coder[T]) along(codes []uint8, y []T) float64 {
	var s0, s1, s2, s3 float64
	codes = codes[:len(y)]
	most := 1<<int(c.options.Bits) - 1
	odd := func(k uint8) float64 { return float64(2*int(k) - most) }
	i := 0
	for ; i+4 <= len(y); i += 4 {
		k, v := codes[i:i+4:i+4], y[i:i+4:i+4]
		s0 += float64(odd(k[0]) * float64(v[0]))
		s1 += float64(odd(k[1]) * float64(v[1]))
		s2 += float64(odd(k[2]) * float64(v[2]))
		s3 += float64(odd(k[3]) * float64(v[3]))
	}
	for ; i < len(y); i++ {
		s0 += float64(odd(codes[i]) * float64(y[i]))
	}
	return (s0 + s1) + (s2 + s3)
}
