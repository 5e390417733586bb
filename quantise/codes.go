package quantise

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// Codes holds the codes of rows, numbered from 0 in the order of Append. A row takes Bits·d'/8
// bytes, 4 for the norm, 4 more with RaBitQ and Uniform, and 12 more with centres.
//
// Goroutines may share Codes. A method that reads uses the rows that Codes had when the method
// began, and never waits for Append. Append publishes all its rows at once. Concurrent calls of
// Append run one after the other. Append never moves codes in memory, and reserves memory for up to
// a quarter more rows, at most 1 MiB.
//
// Quantiser.Encode, Read and View return Codes.
type Codes[T dense.Float] interface {
	// Quantiser returns the quantiser that made the codes.
	Quantiser() Quantiser[T]

	// Len returns the number of rows.
	Len() int

	// Bytes returns the number of bytes that the rows take in memory, without reserved memory.
	Bytes() int

	// Append adds the codes of the rows of x (n×d). The cost is the rotations and O(d'·Bits) per
	// row. Rows are encoded in parallel.
	//
	// Append returns an error that names the first row that holds NaN or ±Inf, or whose norm is
	// neither 0 nor between 2⁻¹⁰⁰ and 2¹⁰⁰. It returns an error if the codes would take more than
	// 2⁴⁰ bytes, and the error of ctx if ctx ends first. After an error Append has added no rows.
	// It panics if ctx is nil or if x does not have d columns.
	Append(ctx context.Context, x dense.Matrix[T]) error

	// Search writes the len(dst) rows with the largest estimated inner products or cosines with the
	// query (d numbers), or with the smallest estimated distances, into dst, best first. It returns
	// dst, which is shorter if Codes has fewer rows. Equal estimates are ordered by row number.
	// Quantiser.Search has filters, many queries, several Codes and exact rows.
	//
	// Values are the values of Estimates. For codes of 1 bit, and for QJL, Search first compares
	// the codes with the query rounded to 63 steps from its largest coordinate to the negative of
	// this coordinate. The rounding error is about a twentieth of a standard error. Search then
	// computes and sorts the estimates of the rows that it found from the unrounded query. The
	// query may have any finite norm. A value beyond float64 is ±Inf, and rows of equal values are
	// ordered by number. If the query holds NaN or ±Inf, Search returns the first rows with the
	// value NaN.
	//
	// The best of many estimates are biased upwards: a row ranks high partly because its error is
	// positive. StdErr is the standard error for a row that was chosen in advance. For RaBitQ
	// StdErr depends on the code of the row, for other schemes it is an average over codes.
	//
	// The cost is a rotation, a parallel pass over all codes, and O(log len(dst)) for each row that
	// enters the list. After the first call of a size, Search allocates nothing. It panics if the
	// query does not have d elements or if the measure is unknown.
	Search(dst []Hit, query []T, by Measure) []Hit

	// Estimates writes the estimates for the first len(dst) rows and a query (d numbers) into dst
	// and returns dst. If dst is nil, Estimates allocates it for all rows. The estimate of the
	// inner product is ‖x‖·sᵀp, where the code stands for s and p is the rotated query. Estimates
	// sums in float32, or in integers if p is rounded to two bytes per coordinate (see "Speed" in
	// the package documentation). The estimates of the cosine and of the squared distance follow
	// with the norms. The estimate of a cosine may lie outside [−1, 1], and the estimate of a
	// squared distance below 0. A query that holds NaN or ±Inf makes all estimates NaN.
	//
	// The cost is a rotation and a parallel pass over the codes of these rows. Estimates panics if
	// dst has more elements than Codes has rows, if the query does not have d elements, or if the
	// measure is unknown.
	Estimates(dst []float64, query []T, by Measure) []float64

	// Between estimates a measure of rows i and j from their codes.
	//
	// With one bit per coordinate, the fraction h of differing signs has the mean θ/π and a known
	// variance, where θ is the angle between the rows. The estimate of the cosine is cos πh. StdErr
	// is the standard deviation of h times the slope of the cosine.
	//
	// With more bits, the inner product A = sᵀs' of two codes has the known mean f(θ), and the mean
	// B of ‖s‖² and ‖s'‖² has the mean f(0). The errors of A and B are correlated, because nearly
	// equal rows are rounded alike. The estimate is cos θ̂ with f(θ̂) = A − a·(B − f(0)), where a
	// minimises the variance; a is 0 for θ = π/2 and 1 for θ = 0. The estimate lies in [−1, 1] and
	// has a bias of the order 1/d'. StdErr uses the variance for large d' and the slope of f. With
	// 2 bits and d' = 256 it is 0.034, 0.014 and 0.004 for cosines of 0, 0.9 and 0.99.
	//
	// The root mean square of error/StdErr was from 0.88 to 1.09 at d' = 64, 256 and 1024, in
	// samples of 400 pairs for cosines from −0.9 to 0.99; with 8 bits of Uniform at d' = 64 it was
	// 0.72. StdErr is too large in small dimensions: with 8 bits and cosines up to 0.7 it is 2
	// times the error at d' = 16 and 6 times at d' = 8, and with 4 bits and fewer up to 1.2 and 1.4
	// times. It is also too large if few coordinates round differently: by a sixth for a cosine of
	// 0.999 with 2 bits and d' = 64.
	//
	// If two rows of several bits have the same code and numbers, Between takes them as equal: the
	// cosine is 1 and StdErr is 0. Otherwise StdErr is at least the StdErr of codes that differ by
	// half a step in one coordinate.
	//
	// For two rows of one centre c, Between estimates (x−c)ᵀ(y−c) in this way, and knows the other
	// terms exactly. For rows of two centres, Between estimates (x−c)ᵀ(y−e) by the inner product of
	// the decoded vectors, and StdErr assumes that the errors of both codes are independent. If x −
	// c and y − e are parallel, errors were 1.9, 1.2 and 1.0 times StdErr with 1, 2 and 4 bits of
	// RaBitQ at d' = 64.
	//
	// The cost is O(d'·Bits). The first call with several bits also computes integrals, which takes
	// some tenths of a second with 8 bits. Uniform computes integrals for each eighth of an octave
	// of the largest coordinates, and codes of 1 bit for each number of differing signs. Between
	// panics if i or j is not a row or if the measure is unknown.
	Between(i, j int, by Measure) Estimate

	// Decode writes the vectors ‖x‖·Rᵀs of rows [from, to), or c + ‖x−c‖·Rᵀs with a centre c, into
	// the rows of dst, which is (to−from)×d, and returns dst. If dst is zero, Decode allocates it.
	// Without centres, the inner product of a decoded row with a query is the value of Estimates.
	// With centres, Estimates is more accurate. LloydMax decodes to the vectors nearest to the
	// rows. RaBitQ and QJL decode to vectors that are longer than the rows. The cost is the
	// rotations. Decode panics if the range or the shape does not fit.
	Decode(dst dense.Matrix[T], from, to int) dense.Matrix[T]

	// WriteTo writes the quantiser, and the rows that Codes has when the call begins, to w, in
	// parts of about 4 MiB with a checksum each. It returns the number of bytes and the error of w.
	// Read and View read these bytes on any platform, unless the quantiser has rotations of the
	// caller. WriteTo needs a few KiB of memory.
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

func (c *codes[T]) Bytes() int { return c.Len() * c.q.layout().bytes() }

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
	next := old.with(x.Rows, work.labels, q.layout(), q.clusters())
	work.clusters = next.clusters
	if work.labels != nil {
		work.places = old.places(work.labels, q.clusters())
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
	if err := limit.Memory[uint64](n, q.words+3); err != nil {
		return fmt.Errorf("quantise: %d rows of %d bytes: %w", n, q.layout().bytes(), err)
	}
	if q.centres != nil && uint64(n) > math.MaxUint32 {
		return fmt.Errorf("quantise: %d rows with centres, want less than 2³²", n)
	}
	return nil
}

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
}

// prepare allocates the memory of e in its first use.
func (q *quantiser[T]) prepare(e *encoder[T]) {
	if e.rotated == nil {
		e.rotated = make([]scratch.Buffer[T], len(q.rotations))
		e.codes = make([]uint8, q.elements())
		e.edges = make([]T, len(q.edges)+1)
	}
}

func (a *appending[T]) Piece(i int) {
	if a.ctx.Err() != nil {
		return
	}
	q := a.q
	lo, hi := i*encodeRows, min((i+1)*encodeRows, a.x.Rows)
	e := q.rows.Get()
	defer q.rows.Put(e)
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
		ratio := 0.0
		for k := range e.rotated {
			ratio = q.encode(e.codes[k*q.out:][:q.out], e.rotated[k].Rows(hi-lo).Row(row-lo), norm, e.edges)
		}
		scan.Pack(b.words[at*q.words:][:q.words], e.codes, q.width)
		b.norms[at] = float32(norm)
		if b.ratios != nil {
			b.ratios[at] = float32(ratio)
		}
		if a.labels != nil {
			b.centreProducts[at] = float32(vecmath.Dot(x.Row(row-lo), q.centres[label].vector))
			b.ids[at] = uint32(a.old + row)
		}
	}
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
		top = largest(y)
		ratio = top / norm
	}
	switch {
	case n == 1:
		encodeSigns(codes, y)
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

// largest returns the largest |y_i|. The bits of non-negative floats ascend with their values.
func largest[T dense.Float](y []T) float64 {
	switch y := any(y).(type) {
	case []float32:
		var top uint32
		for _, v := range y {
			top = max(top, math.Float32bits(v)&^(1<<31))
		}
		return float64(math.Float32frombits(top))
	case []float64:
		var top uint64
		for _, v := range y {
			top = max(top, math.Float64bits(v)&^(1<<63))
		}
		return math.Float64frombits(top)
	}
	return 0
}

func encodeSigns[T dense.Float](codes []uint8, y []T) {
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

// encodeCells finds the last edge at or below |y|. The last edge is +Inf, and the edge before it is
// buckets/perUnit. Most searches end in the first cell of the bucket.
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
