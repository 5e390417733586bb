package quantise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Codes holds the codes of rows, numbered from 0 in the order of Append. A row takes Bits·d'/8
// bytes, 4 for the norm, 4 more with RaBitQ of 1 bit, 8 more with RaBitQ of several bits, and 16
// more with centres. TwoStage adds d'/8 + 4 bytes. With a mean of Learn a row takes 4 bytes more, and
// none for centres. Quantiser.Encode, Read and View return Codes.
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
	// whose norm is neither 0 nor between 2⁻¹⁰⁰ and 2¹⁰⁰. It returns an error if the codes would
	// take more than 2⁴⁰ bytes, and the error of ctx if ctx ends first. After an error Append has
	// added no rows. It panics if ctx is nil or if x does not have d columns.
	Append(ctx context.Context, x dense.Matrix[T]) error

	// AppendRows adds the rows ids of from in this order, and all rows for nil ids, without
	// decoding them. from may be c. Codes of a quantiser with the centres of several Codes take the
	// rows of each. After an error no rows are added: if from is nil or of other options or another
	// rotation, if a row does not exist, or if c lacks the centre of a row.
	AppendRows(from Codes[T], ids []int) error

	// Grow reserves memory for n more rows. With centres, it expects those of present rows. It
	// returns an error if n is negative, or if the codes would take more than 2⁴⁰ bytes.
	Grow(n int) error

	// Search writes the len(dst) rows with the largest estimated inner products or cosines with the
	// query, or with the smallest estimated distances, into dst, best first. It returns dst, which
	// is shorter if Codes has fewer rows. Equal estimates are ordered by row number. A query that
	// is not finite finds the first rows, with the value NaN. The best of many estimates are biased
	// upwards: a row ranks high partly because its error is positive. StdErr is the standard error
	// for a row that was chosen in advance.
	//
	// The cost is a parallel pass over all codes. After the first call of a size, Search allocates
	// nothing. It panics if the query is not prepared by the quantiser.
	Search(dst []Hit, query *Query) []Hit

	// SearchAll is Search for several queries of one measure, in one pass over the codes, with
	// options: it writes the best len(hits[i]) rows for query i into hits[i], and shortens hits[i]
	// if it selects fewer rows. The cost is two passes with SearchOptions.Rows, which requires
	// RaBitQ. After the first call of a size, SearchAll allocates nothing, except in Rows.
	//
	// SearchAll returns an error if the number of lists is not that of queries, if a query is not
	// prepared by the quantiser or of another measure, if an option is invalid, if a row of Rows is
	// not finite, or if ctx ends first. The lists are undefined after an error. It panics if ctx is
	// nil.
	SearchAll(ctx context.Context, hits [][]Hit, queries []*Query, o SearchOptions[T]) error

	// Estimates writes the estimates of the rows ids, which may repeat, into dst, and returns dst.
	// Nil ids are the first len(dst) rows. The values are those of Search. The estimate of a cosine
	// may lie outside [−1, 1], and the estimate of a squared distance below 0. The cost is
	// O(d'·Bits) per row, less for rows that follow each other. Estimates allocates nothing, and
	// uses several processors only above 4096 rows. It panics if a row does not exist, if the
	// numbers of dst and ids differ, or if the query is not prepared by the quantiser.
	Estimates(dst []Estimate, query *Query, ids []int) []Estimate

	// Decode writes the vectors ‖x‖·Rᵀs of rows [from, to), or c + ‖x−c‖·Rᵀs with a centre c, into
	// the rows of dst, which is (to−from)×d, and returns dst. If dst is zero, Decode allocates it.
	// LloydMax decodes to the vectors nearest to the rows, and RaBitQ to longer vectors. The cost
	// is the rotations. Decode panics if the range or the shape does not fit.
	Decode(dst dense.Matrix[T], from, to int) dense.Matrix[T]

	// Write writes the quantiser, and the rows that Codes has when the call begins, to w, as a
	// safetensors file, which Read and View read on any platform. It takes as much memory as the
	// codes, unless they are in one block, as those of View, Read and one Append. It returns the
	// error of w.
	Write(w io.Writer) error
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
	if err := q.layout.check(old.n, x.Rows); err != nil {
		return err
	}
	work := appending[T]{ctx: ctx, q: q, x: x, bad: math.MaxInt}
	if q.centred() {
		work.labels = q.assign(ctx, x)
	}
	work.room = old.room(x.Rows, work.labels, q.layout)
	parallel.Do((x.Rows+encodeRows-1)/encodeRows, &work)
	if err := cmp.Or(work.err, ctx.Err()); err != nil {
		return err
	}
	c.now.Store(work.room.next)
	return nil
}

func (c *codes[T]) AppendRows(from Codes[T], ids []int) error {
	f, ok := from.(*codes[T])
	if !ok || f == nil {
		return errNil("from")
	}
	q := c.q
	if !q.sameCodes(f.q) {
		return errors.New("quantise: the rows are of a quantiser with other options or another rotation")
	}
	if q.signWords > 0 && f.q.signWords == 0 {
		return errors.New("quantise: the rows have no signs, because their quantiser has centres")
	}
	source := f.rows()
	n, id := source.n, func(i int) int { return i }
	if ids != nil {
		n, id = len(ids), func(i int) int { return ids[i] }
	}
	centres := make([]int, f.q.clusters) // of c for those of f; −1 if c lacks the centre
	for k := 1; k < len(centres); k++ {
		centres[k] = slices.IndexFunc(q.centres, func(own centre[T]) bool { return slices.Equal(own.vector, f.q.centres[k].vector) })
	}
	labels := make([]uint32, n)
	for i := range n {
		if id(i) < 0 || id(i) >= source.n {
			return fmt.Errorf("quantise: row %d of %d", id(i), source.n)
		}
		label := source.label(id(i))
		if centres[label] < 0 {
			return fmt.Errorf("quantise: row %d has centre %d, which the codes lack", id(i), label)
		}
		labels[i] = uint32(centres[label])
	}
	if !q.centred() {
		labels = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.rows()
	if err := q.layout.check(old.n, n); err != nil || n == 0 {
		return err
	}
	room := old.room(n, labels, q.layout)
	for i := range n {
		b, at := room.slot(i)
		other, place, _ := source.locate(id(i))
		b.copyRow(at, other, place, q.layout)
	}
	c.now.Store(room.next)
	return nil
}

func (c *codes[T]) Grow(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.rows()
	if n < 0 || n > math.MaxInt-old.n {
		return fmt.Errorf("quantise: n = %d, want from 0 to %d", n, math.MaxInt-old.n)
	}
	if err := c.q.layout.check(old.n, n); err != nil {
		return err
	}
	next := &rows{old.n, make([]cluster, c.q.clusters), old.labels}
	copy(next.clusters, old.clusters)
	for i, l := range next.clusters {
		more := n
		if c.q.centred() {
			more = int(float64(n) * float64(l.n) / float64(max(old.n, 1)))
		}
		next.clusters[i].blocks = l.with(more, c.q.layout).blocks
	}
	c.now.Store(next)
	return nil
}

func (c *codes[T]) Decode(dst dense.Matrix[T], from, to int) dense.Matrix[T] {
	all, q := c.rows(), c.q
	if from < 0 || to < from || to > all.n {
		panic(fmt.Sprintf("quantise: rows [%d, %d) of %d", from, to, all.n))
	}
	dst = dense.Ensure(dst, to-from, q.in)
	parallel.Rows(to-from, encodeRows, func(lo, hi int) {
		codes, digits, s := make([]uint8, q.out), make([]uint8, q.out), dense.New[T](hi-lo, q.out)
		labels, along, words := make([]int, hi-lo), make([]T, hi-lo), make([]uint64, 0, q.words)
		for i := range labels {
			b, at, cluster := all.locate(from + lo + i)
			words = b.row(words[:0], at, &q.layout)
			n := b.numbersAt(at)
			scale, row := n.norm*n.ratio, s.Row(i)
			labels[i], along[i] = cluster, 1
			if q.bands != nil {
				q.bands.unpack(codes, words, digits)
				decodeBands(row, codes, q.bands, scale)
				if q.mean != nil {
					along[i] = T(1 + n.centreProduct/q.centres[0].square)
				}
				continue
			}
			scan.Unpack(codes, words, q.width)
			for j, k := range codes {
				row[j] = T(scale * float64(q.levels[k]))
			}
		}
		q.rotation.ApplyTransposed(dst.RowRange(lo, hi), s)
		if q.centres != nil {
			for i, label := range labels {
				vecmath.AddScaled(dst.Row(lo+i), q.centres[label].vector, along[i])
			}
		}
	})
	return dst
}
