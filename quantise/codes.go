package quantise

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Codes holds the codes of rows, numbered from 0 in the order of Append. A row takes Bits·d'/8
// bytes, 4 for the norm, 4 more with Uniform and RaBitQ of 1 bit, 8 more with RaBitQ of several bits,
// and 16 more with centres. TwoStage adds d'/8 + 4 bytes. Quantiser.Encode, Read and View return Codes.
//
// Goroutines may share Codes. A method that reads uses the rows that Codes had when the method
// began, and never waits for Append. Append publishes all its rows at once, never moves codes in
// memory, and reserves memory for up to a quarter more rows, at most 1 MiB.
type Codes[T dense.Float] interface {
	// Quantiser returns the quantiser that made the codes.
	Quantiser() Quantiser[T]

	// Len returns the number of rows.
	Len() int

	// Bytes returns the number of bytes that the rows take in memory, without reserved memory.
	Bytes() int

	// Append adds the codes of the rows of x (n×d), in parallel. The cost is the rotations and
	// O(d'·Bits) per row. Append returns an error that names the first row that is not finite, or
	// whose norm is neither 0 nor between 2⁻¹⁰⁰ and 2¹⁰⁰. It returns an error if the codes would take
	// more than 2⁴⁰ bytes, and the error of ctx if ctx ends first. After an error Append has added no
	// rows. It panics if ctx is nil or if x does not have d columns.
	Append(ctx context.Context, x dense.Matrix[T]) error

	// AppendRows adds the rows ids of from in this order, and all rows for nil ids, without decoding
	// them. from may be c. Codes of a quantiser with the centres of several segments take the rows of
	// each. After an error no rows are added: if from is nil or of other options or rotations, if a row
	// does not exist, or if c lacks the centre of a row.
	AppendRows(from Codes[T], ids []int) error

	// Grow reserves memory for n more rows. With centres, it expects those of present rows. It returns
	// an error if n is negative, or if the codes would take more than 2⁴⁰ bytes.
	Grow(n int) error

	// Search writes the len(dst) rows with the largest estimated inner products or cosines with the
	// query, or with the smallest estimated distances, into dst, best first. It returns dst, which is
	// shorter if Codes has fewer rows. Equal estimates are ordered by row number. A query that is not
	// finite finds the first rows, with the value NaN. The best of many estimates are biased upwards:
	// a row ranks high partly because its error is positive. StdErr is the standard error for a row
	// that was chosen in advance.
	//
	// The cost is a parallel pass over all codes. After the first call of a size, Search allocates
	// nothing. It panics if the query is not prepared by the quantiser.
	Search(dst []Hit, query *Query) []Hit

	// Estimates writes the estimates of rows [from, from+len(dst)) into dst and returns dst.
	// EstimateRows does so for the rows ids, which may repeat. The values are those of Search. The
	// estimate of a cosine may lie outside [−1, 1], and the estimate of a squared distance below 0.
	// The cost is O(d'·Bits) per row. The calls allocate nothing, and use several processors only above
	// 4096 rows. They panic if a row does not exist, if the numbers of dst and ids differ, or if the
	// query is not prepared by the quantiser.
	Estimates(dst []Estimate, query *Query, from int) []Estimate
	EstimateRows(dst []Estimate, query *Query, ids []int) []Estimate

	// Decode writes the vectors ‖x‖·Rᵀs of rows [from, to), or c + ‖x−c‖·Rᵀs with a centre c, into
	// the rows of dst, which is (to−from)×d, and returns dst. If dst is zero, Decode allocates it.
	// LloydMax decodes to the vectors nearest to the rows, and RaBitQ and QJL to longer vectors. The
	// cost is the rotations. Decode panics if the range or the shape does not fit.
	Decode(dst dense.Matrix[T], from, to int) dense.Matrix[T]

	// WriteTo writes the quantiser, and the rows that Codes has when the call begins, to w, in
	// parts of about 4 MiB with a checksum each. It returns the number of bytes and the error of w.
	// Read and View read these bytes on any platform, unless the quantiser has rotations of the
	// caller.
	WriteTo(w io.Writer) (int64, error)
}

// codes implements Codes.
type codes[T dense.Float] struct {
	q   *quantiser[T]
	mu  sync.Mutex           // held by Append
	now atomic.Pointer[rows] // nil before the first rows
}

// rows returns the published rows.
func (c *codes[T]) rows() *rows {
	if r := c.now.Load(); r != nil {
		return r
	}
	return new(rows)
}

func (q *quantiser[T]) Encode(ctx context.Context, x dense.Matrix[T]) (Codes[T], error) {
	c := &codes[T]{q: q}
	return c, c.Append(ctx, x)
}

func (q *quantiser[T]) codesOf(r *rows) Codes[T] {
	c := &codes[T]{q: q}
	c.now.Store(r)
	return c
}

func (c *codes[T]) Quantiser() Quantiser[T] { return c.q }

func (c *codes[T]) Len() int { return c.rows().n }

func (c *codes[T]) Bytes() int { return c.Len() * c.q.layout.bytes() }

func (c *codes[T]) Append(ctx context.Context, x dense.Matrix[T]) error {
	if ctx == nil {
		panic("quantise: ctx is nil")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	x.Check()
	q := c.q
	if x.Rows == 0 {
		return nil
	}
	if x.Cols != q.in {
		panic(fmt.Sprintf("quantise: x is %d×%d, want n×%d", x.Rows, x.Cols, q.in))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.rows()
	if x.Rows > math.MaxInt-old.n {
		return fmt.Errorf("quantise: %d rows after %d, more than an int counts", x.Rows, old.n)
	}
	if err := q.checkRows(old.n + x.Rows); err != nil {
		return err
	}
	work := appending[T]{ctx: ctx, q: q, x: x, old: old.n, bad: math.MaxInt}
	if q.centres != nil {
		work.labels = q.assign(ctx, x)
	}
	next := old.with(x.Rows, work.labels, q.layout)
	work.clusters = next.clusters
	if work.labels != nil {
		work.places = old.places(work.labels, q.clusters)
	}
	parallel.Do((x.Rows+encodeRows-1)/encodeRows, &work)
	if err := cmp.Or(work.err, ctx.Err()); err != nil {
		return err
	}
	c.now.Store(next)
	return nil
}

// checkRows returns an error if n rows are too many.
func (q *quantiser[T]) checkRows(n int) error {
	if err := limit.Memory[uint64](n, q.words+q.signWords+4); err != nil {
		return fmt.Errorf("quantise: %d rows of %d bytes: %w", n, q.layout.bytes(), err)
	}
	if q.centres != nil && uint64(n) > math.MaxUint32 {
		return fmt.Errorf("quantise: %d rows with centres, want less than 2³²", n)
	}
	return nil
}

func (c *codes[T]) Decode(dst dense.Matrix[T], from, to int) dense.Matrix[T] {
	all := c.rows()
	if from < 0 || to < from || to > all.n {
		panic(fmt.Sprintf("quantise: rows [%d, %d) of %d", from, to, all.n))
	}
	q := c.q
	dst = dense.Ensure(dst, to-from, q.in)
	parallel.Rows(to-from, encodeRows, func(lo, hi int) {
		codes, labels := make([]uint8, q.elements), make([]int, hi-lo)
		s, part := dense.New[T](hi-lo, q.elements), dense.New[T](hi-lo, q.in)
		for i := lo; i < hi; i++ {
			one := all.code(from+i, q.words)
			scan.Unpack(codes, one.words, q.width)
			scale := one.norm * one.ratio
			labels[i-lo] = one.cluster
			row := s.Row(i - lo)
			for j, k := range codes {
				row[j] = T(scale * float64(q.levels[k]))
			}
		}
		for k, r := range q.rotations {
			block := s.ColRange(k*q.out, (k+1)*q.out)
			if k == 0 {
				r.ApplyTransposed(dst.RowRange(lo, hi), block)
				continue
			}
			r.ApplyTransposed(part, block)
			for i := range part.Rows {
				vecmath.AddScaled(dst.Row(lo+i), part.Row(i), 1)
			}
		}
		if q.centres == nil {
			return
		}
		for i, label := range labels {
			vecmath.AddScaled(dst.Row(lo+i), q.centres[label].vector, 1)
		}
	})
	return dst
}
