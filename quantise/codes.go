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
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Codes holds compressed vectors, called rows, numbered from 0 in the order in which Append adds
// rows. For a quantiser of New with d' rotated coordinates, the code of a row takes d'·Bits/8
// bytes, rounded up to a multiple of 8, plus 8, plus 4 if Bits > 1, plus 16 after WithCentres.
//
// Goroutines may share Codes. Search, SearchAll, Within, Estimates, Decode and Write use the rows
// that Codes had when the call began, and never wait for Append. Searches see the new rows of an
// Append all at once. Append never moves codes in memory, and reserves memory for later rows of
// each centre: at most 1 MiB, and a quarter of the present rows.
type Codes[T dense.Float] interface {
	// Quantiser returns the quantiser that made the codes.
	Quantiser() Quantiser[T]

	// Len returns the number of rows.
	Len() int

	// Bytes returns the number of bytes of the codes in memory, without memory for later rows.
	Bytes() int

	// Append encodes the rows of x (n×d) on several processors, and adds the codes. For each row,
	// Append multiplies one vector by the rotation matrix of the quantiser.
	//
	// Append returns an error that names the first row of x that is not finite, or whose norm,
	// after subtraction of a centre or mean, is neither 0 nor between 2⁻¹⁰⁰ and 2¹⁰⁰. Append
	// returns an error if all codes would take more than 2⁴⁰ bytes or, with centres, be 2³² rows or
	// more, and the error of ctx if ctx ends before Append has encoded x. After an error of Append
	// the Codes have no new rows. Append panics if ctx is nil, or if rows of x have a wrong
	// dimension.
	Append(ctx context.Context, x dense.Matrix[T]) error

	// AppendRows appends the codes of rows ids[0], ids[1], … of the argument from, or of all rows
	// of from if ids is nil. The argument from of AppendRows may be the receiver. AppendRows
	// returns an error and adds no rows if from is nil, differs from the receiver in Options or
	// rotation, or lacks a row of ids, and if the receiver lacks the centre of a row.
	AppendRows(from Codes[T], ids []int) error

	// Search writes the len(dst) rows with the largest estimated inner products or cosines with the
	// query, or with the smallest estimated squared distances from the query, into dst, best first.
	// Search returns dst, shortened if Codes has fewer than len(dst) rows. Search orders rows with
	// equal estimates by row number. For a query that Prepare rejects, Search returns the rows of
	// the lowest numbers, with the value NaN. The StdErr of a hit is right for a row chosen before
	// the search, not for the best of many rows: a row ranks high partly by the error of the
	// estimate.
	//
	// Search reads the codes of all rows once, on several processors. Search allocates nothing if
	// an earlier search had as many rows and hits. Search panics unless the quantiser of the Codes
	// has prepared the query.
	Search(dst []Hit, query *Query) []Hit

	// For several queries of one Measure, SearchAll writes the best len(hits[i]) rows for
	// queries[i] into hits[i], and shortens hits[i] if SearchOptions select fewer rows. SearchAll
	// reads the codes once for all queries, or twice with SearchOptions.Rows. SearchAll allocates
	// nothing, except in SearchOptions.Rows, if an earlier call had as many rows, queries and hits.
	//
	// For a query that Prepare rejects, SearchAll returns the selected rows of the lowest numbers,
	// with the value NaN, also with SearchOptions.Rows. SearchAll returns an error if hits and
	// queries differ in length, if the quantiser has not prepared a query, if queries differ in
	// Measure, if SearchOptions.Centres is negative, if SearchOptions.Rows fails or writes a row
	// that is not finite, or if ctx ends. After an error of SearchAll the elements of hits are
	// undefined. SearchAll panics if ctx is nil.
	SearchAll(ctx context.Context, hits [][]Hit, queries []*Query, o SearchOptions[T]) error

	// Within returns, best first, all rows that SearchOptions select and whose inner product or
	// cosine with the query is at least the argument limit, or whose squared distance from the
	// query is at most limit. Within misses a row that reaches the limit with at most the
	// probability miss of Quantiser.Prepare, over random rotations.
	//
	// If SearchOptions.Rows gives the original vectors, Within returns only rows whose exact inner
	// product or cosine with the query is at least limit, or exact squared distance at most limit,
	// with the exact value and a StdErr of 0. Without SearchOptions.Rows, Within returns estimates
	// of all rows that may reach the limit by the error bounds of the estimates. For a query that
	// Prepare rejects, whose estimates are NaN, Within returns no rows.
	//
	// Within reads the codes of all rows once. Within returns an error if limit is NaN, if the
	// query has another quantiser or a miss probability of 0, if SearchOptions.Centres is negative,
	// if SearchOptions.Rows fails, or if ctx ends. Within panics if ctx is nil.
	Within(ctx context.Context, query *Query, limit float64, o SearchOptions[T]) ([]Hit, error)

	// Estimates writes an estimate of the inner product, cosine or squared distance, whichever the
	// query is prepared for, of the query and row ids[i] into dst[i], and returns dst; rows may
	// repeat in ids. A nil ids stands for rows 0 to len(dst) − 1. For one query and one row,
	// Estimates and Search give equal values. The estimate of a cosine may lie outside [−1, 1], and
	// the estimate of a squared distance below 0.
	//
	// Estimates takes less time for rows with consecutive numbers. Estimates allocates nothing, and
	// uses several processors only for more than 4096 rows. Estimates panics if a row of ids does
	// not exist, if dst and ids differ in length, or if the quantiser has not prepared the query.
	Estimates(dst []Estimate, query *Query, ids []int) []Estimate

	// Decode writes vectors that approximate rows number from to to − 1 into the rows of dst, which
	// is (to−from)×d, and returns dst. For the rotation matrix R of New, Decode approximates a row
	// x by ‖x‖·Rᵀs/sᵀu, where the integers s are the code and u = Rx/‖x‖, or with a centre c by c +
	// ‖x−c‖·Rᵀs/sᵀu with u = R(x−c)/‖x−c‖.
	//
	// Without centres, decoded vectors of a quantiser of New are longer than the rows, because
	// inner products with decoded vectors are unbiased. For each row, Decode multiplies one vector
	// by the transpose of the rotation matrix of the quantiser. Decode allocates dst if dst is
	// zero, and panics if the Codes lack a row from from to to − 1, or if dst is neither zero nor
	// (to−from)×d.
	Decode(dst dense.Matrix[T], from, to int) dense.Matrix[T]

	// Write writes the quantiser, and the rows that Codes has when the call begins, to w, as a
	// safetensors file for Read and View. Write allocates as much memory as the codes, unless one
	// block of memory holds all codes, as for New without centres after Read, View or a single
	// Append. Write returns an error if w is nil, and the errors of w.
	Write(w io.Writer) error
}

type codes[T dense.Float] struct {
	q   *quantiser[T]
	mu  sync.Mutex           // held by Append
	now atomic.Pointer[rows] // nil before the first rows
}

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
	if err := argument.Context("quantise", ctx); err != nil {
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
				row[j] = T(scale * float64(2*int(k)+1-1<<q.width))
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
