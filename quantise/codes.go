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

// Codes holds the codes of rows, numbered from 0 in the order of Append. In d' dimensions a row
// takes Bits·d'/8 bytes, 8 for the norm and the ratio, 4 more with several bits, and 16 more with
// centres. In d' dimensions TwoStage adds d'/8 + 4 bytes to a row. If Learn
// subtracts a mean, a row takes 4 bytes more, and none for centres. Quantiser.Encode, Read and View
// return Codes.
//
// Goroutines may share Codes. A method that reads uses the rows that Codes had when the method
// began, and never waits for Append. Append makes all new rows visible at once, never moves codes
// in memory, and reserves memory for up to a quarter more rows, at most 1 MiB.
type Codes[T dense.Float] interface {
	// Quantiser returns the quantiser that made the codes.
	Quantiser() Quantiser[T]

	// Len returns the number of rows.
	Len() int

	// Bytes returns the number of bytes of all rows in memory, without memory for later rows.
	Bytes() int

	// Append adds the codes of the rows of x (n×d), in parallel. Append costs a rotation and
	// O(d'·Bits) per row in d' dimensions. Append returns an error that names the first row that is
	// not finite, or whose norm is neither 0 nor between 2⁻¹⁰⁰ and 2¹⁰⁰. Append returns an error if
	// the codes would take more than 2⁴⁰ bytes, and the error of ctx if ctx ends before Append.
	// After an error Append has added no rows. Append panics if ctx is nil or if x does not have d
	// columns, for rows of R^d.
	Append(ctx context.Context, x dense.Matrix[T]) error

	// AppendRows copies rows ids[0], ids[1], … of from, or all rows of from if ids is nil, without
	// decoding. The Codes from may be the receiver. A receiver whose quantiser has the centres of
	// several Codes takes rows of each of the Codes. AppendRows returns an error and adds no rows
	// if from is nil or has other options or another rotation than the receiver, if a row does not
	// exist, or if the receiver lacks the centre of a row.
	AppendRows(from Codes[T], ids []int) error

	// Search writes the len(dst) rows with the largest estimated inner products or cosines with the
	// query, or with the smallest estimated distances, into dst, best first. Search returns dst,
	// shorter if Codes has fewer than len(dst) rows. Equal estimates are ordered by row number. For
	// a query that is not finite, Search returns the first rows with the value NaN. The best of
	// many estimates are biased upwards: a row ranks high partly because its error is positive. The
	// StdErr of a hit is that of a row chosen before the search.
	//
	// Search costs one pass over all codes, in parallel. Search allocates nothing after the first
	// call with so many rows and hits. Search panics if the quantiser has not prepared the query.
	Search(dst []Hit, query *Query) []Hit

	// SearchAll is Search for several queries of one measure, in one pass over the codes, with
	// options: SearchAll writes the best len(hits[i]) rows for query i into hits[i], and shortens
	// hits[i] if the options select fewer rows. With SearchOptions.Rows,
	// SearchAll makes two passes over the codes. SearchAll allocates nothing after the first call
	// with so many rows, queries and hits, except in SearchOptions.Rows.
	//
	// SearchAll returns an error if hits and queries differ in length, if the quantiser has not
	// prepared a query, if queries differ in Measure, if an option is invalid, if a row from
	// SearchOptions.Rows is not finite, or if ctx ends during the search. After an error the hits
	// are undefined. SearchAll panics if ctx is nil.
	SearchAll(ctx context.Context, hits [][]Hit, queries []*Query, o SearchOptions[T]) error

	// Within returns all rows that SearchOptions select and whose inner product or cosine with the
	// query is at least limit, or whose squared distance is at most limit, best first. Over random
	// rotations, Within misses a row that reaches the limit with at most the miss probability of
	// Quantiser.Prepare, which must be above 0. With SearchOptions.Rows, Within reads the rows
	// whose bounds reach the limit, and returns exact values of the rows that reach the limit, with
	// a StdErr of 0. Without SearchOptions.Rows, Within returns estimates of all rows whose bounds
	// reach the limit. For a query that is not finite, Within returns no rows.
	//
	// Within costs one pass over all codes, in parallel, and an estimate for each row of the
	// result. Within returns an error if limit is NaN or the miss probability is 0, and where
	// SearchAll does for the query, the options and ctx. Within panics if ctx is nil.
	Within(ctx context.Context, query *Query, limit float64, o SearchOptions[T]) ([]Hit, error)

	// Estimates writes the estimates of the Measure between the query and the rows ids, which may
	// repeat, into dst, and returns dst. Nil ids stand for the first len(dst) rows. For a row,
	// Estimates and Search give equal values. The estimate of a cosine may lie outside [−1, 1], and
	// the estimate of a squared distance below 0. Estimates costs O(d'·Bits) per row in d'
	// dimensions, less for consecutive rows. Estimates allocates nothing, and uses several
	// processors only above 4096 rows. Estimates panics if a row does not exist, if dst and ids
	// differ in length, or if the quantiser has not prepared the query.
	Estimates(dst []Estimate, query *Query, ids []int) []Estimate

	// Decode writes vectors that approximate the rows x from from to to−1 into the rows of dst,
	// which is (to−from)×d, and returns dst: ‖x‖·Rᵀs/sᵀu for the rotation R, the code s and u =
	// Rx/‖x‖, or c + ‖x−c‖·Rᵀs/sᵀu with a centre c and u = R(x−c)/‖x−c‖. Decoded vectors are longer
	// than the rows, because products with decoded vectors are unbiased. If dst is the zero Matrix,
	// Decode allocates dst. Decode costs a rotation per row. Decode panics if a row does not exist
	// or dst has another shape.
	Decode(dst dense.Matrix[T], from, to int) dense.Matrix[T]

	// Write writes the quantiser, and the rows that Codes has when the call begins, to w, as a
	// safetensors file, which Read and View read on any platform. Write takes as much memory as the
	// codes, unless the codes are in one block of memory, as after View, Read or a single Append.
	// Write returns an error of w.
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
