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

// Codes are the codes of rows, numbered from 0 in the order in which they came. A row takes
// Bits·d'/8 bytes, 4 for the norm, with RaBitQ and Uniform 4 more, and with centres 12 more.
//
// Goroutines may share codes. A call that reads sees the rows that there were when it began, and
// waits for nobody: Append writes where nobody reads, and then adds all its rows at once. Of
// several calls of Append one works at a time. Memory of codes never moves; up to a quarter of the
// rows, 1 MiB at most, is there in advance after an Append to codes that had rows.
//
// Quantiser.Encode, Read and View make Codes.
type Codes[T dense.Float] interface {
	// Quantiser returns the quantiser that made the codes.
	Quantiser() Quantiser[T]

	// Len returns the number of rows.
	Len() int

	// Bytes returns the number of bytes that the rows take in memory, without what is there in advance.
	Bytes() int

	// Append adds the codes of the rows of x (n×d). Cost: the rotations, and O(d'·Bits) per row, rows
	// in parallel.
	//
	// It returns an error, which names the first such row of x, if a row holds NaN or ±Inf, or if its
	// norm is neither 0 nor between 2⁻¹⁰⁰ and 2¹⁰⁰, and if the codes would take more than 2⁴⁰ bytes.
	// It returns the error of ctx if ctx ends before all rows have codes. Nothing is added then. It
	// panics if ctx is nil, and if x has not d columns.
	Append(ctx context.Context, x dense.Matrix[T]) error

	// Search finds the len(dst) rows with the largest estimated inner products or cosines with the
	// query (d numbers), or the smallest estimated distances, writes them into dst, best first, and
	// returns dst, cut off if there are fewer rows. Of rows with equal estimates the one with the lower
	// number comes first. Search of Quantiser has filters, many queries, several Codes and exact rows.
	//
	// Values are those of Estimates. Codes of 1 bit, and those of QJL with any number of bits, are first
	// compared with the query rounded to 63 steps between its largest coordinate and the negative of that, whose error is about a twentieth
	// of a standard error; the rows found have estimates from the query as it is, and are sorted by
	// those. Queries may have any finite size: values that float64 cannot hold are ±Inf, and rows of equal
	// values have the order of their numbers. If the query holds NaN or ±Inf, every value is NaN and the
	// rows are the first ones.
	//
	// The best of many estimates are biased upwards: errors in their favour brought them there. StdErr
	// is the error of a row that was chosen in advance. For RaBitQ StdErr belongs to the code itself,
	// for other schemes to an average code.
	//
	// Cost: a rotation and a pass over all codes, in parallel, and O(log len(dst)) for each row that is
	// among the best so far. Search allocates nothing once its memory has grown. It panics if the query
	// has not d elements or if there is no such measure.
	Search(dst []Hit, query []T, by Measure) []Hit

	// Estimates writes the estimates for the first len(dst) rows and a query (d numbers) into dst and
	// returns dst. A nil dst is allocated for all rows. With s for what a code stands for and p for the
	// rotated query, the estimate of the inner product is ‖x‖·sᵀp, with sums in float32, or of whole
	// numbers where p is rounded to two bytes a coordinate ("Speed" in the package's documentation
	// says for which codes, and what that adds); those of the cosine and of the squared distance follow
	// with the norms. The estimate of a cosine may lie outside [−1, 1] and that of a squared distance
	// below 0. Queries that make every estimate NaN are those of Search. Cost: a rotation and a pass
	// over the codes of these rows, in parallel. It panics if dst has more elements than there are
	// rows, if the query has not d, or if there is no such measure.
	Estimates(dst []float64, query []T, by Measure) []float64

	// Between estimates a measure of rows i and j from their codes alone.
	//
	// With one bit per coordinate the share h of signs that differ has the mean θ/π, exactly, where θ
	// is the angle between the rows, and a variance that is known exactly; the estimate of the cosine
	// is cos πh, and StdErr follows from that variance at πh by the slope of the cosine.
	//
	// With more bits the inner product A = sᵀs' of two codes has the mean f(θ), which is known exactly. The
	// mean B of ‖s‖² and ‖s'‖² has the mean f(0). Rows that are nearly equal round alike, and so the errors of
	// A and B are correlated. The estimate is the cosine of the θ̂ with f(θ̂) = A − a·(B − f(0)), where the
	// share a makes the variance smallest; a is 0 at right angles and 1 at θ = 0. It lies in [−1, 1], without
	// bias but for terms of the order 1/d'. StdErr follows from the variance for large d' and the slope of f.
	// With 2 bits and d' = 256 it is 0.034, 0.014 and 0.004 for cosines of 0, 0.9 and 0.99.
	//
	// Errors over StdErr had root mean squares from 0.88 to 1.09 at d' = 64, 256 and 1024, in samples of 400
	// pairs for cosines from −0.9 to 0.99, but from 0.72 with 8 bits of Uniform at d' = 64. StdErr is too
	// large in small dimensions: with 8 bits and cosines up to 0.7 it is 2 times the error at d' = 16 and 6
	// times at d' = 8, with 4 bits and fewer up to 1.2 and 1.4 times. It is also too large where few coordinates
	// round differently: by a sixth for a cosine of 0.999 with 2 bits and d' = 64.
	//
	// If all that is stored of two rows is equal, several bits take them as equal: their cosine is 1, their
	// inner product the square of the norm, their distance 0, and StdErr is 0. Otherwise StdErr is at least
	// that of codes which differ by half a step in one coordinate.
	//
	// With centres the same holds for x − c and y − c of rows of one centre c, and what remains of their inner
	// product and distance is known exactly. For rows of two centres the estimate is the inner product of
	// the vectors that the codes stand for with every number of bits, where the inner product of each with
	// its own centre is known exactly. StdErr takes the errors of both codes as independent then. Where the
	// differences from both centres were parallel, errors were 1.9, 1.2 and 1.0 times StdErr with 1, 2 and 4 bits
	// of RaBitQ, at d' = 64.
	//
	// Cost: O(d'·Bits). Integrals are computed once: for one bit when a number of signs differs for the first
	// time; for more bits in the first call, which takes some tenths of a second with 8 bits, and with Uniform
	// again whenever the largest coordinates have another size. Between panics if i or j is no row or if
	// there is no such measure.
	Between(i, j int, by Measure) Estimate

	// Decode writes the vectors that rows [from, to) stand for, ‖x‖·Rᵀs, or c + ‖x−c‖·Rᵀs with a centre c,
	// into the rows of dst and returns dst ((to−from)×d; a zero dst is allocated). Without centres their
	// inner products with a vector are the estimates of Estimates; with centres those have smaller errors. LloydMax gives the vectors that are nearest to the rows; those of the
	// schemes without bias are longer than the rows. Cost: the rotations. It panics if the range or the
	// shape does not fit.
	Decode(dst dense.Matrix[T], from, to int) dense.Matrix[T]

	// WriteTo writes the quantiser and the rows that there are at the beginning of the call to w, in parts
	// of about 4 MiB with a checksum each. It returns the number of bytes and the error of w. Read,
	// View and ReadFrom read what it writes, on any platform. Rotations of the caller are not written.
	// Cost: a pass over the rows; other memory is a few KiB.
	WriteTo(w io.Writer) (int64, error)

	// ReadFrom adds the rows that WriteTo wrote, and returns the number of bytes that it read, which are
	// none beyond those of WriteTo. The quantiser of the file has to be that of the codes: options,
	// dimensions and seed are compared. So codes of a quantiser over rotations of the caller are read
	// into codes that the caller has made, who knows the rotations.
	//
	// ReadFrom returns an error if the quantisers differ, and those of the function Read. The rows of the
	// parts before the error are added: Len tells how many.
	ReadFrom(r io.Reader) (int64, error)

	// View adds the rows of a file in memory, as ReadFrom does, and uses the bytes as the function View
	// does.
	View(data []byte) error
}

// codes are the Codes of a width.
type codes[T dense.Float] struct {
	q   *quantiser[T]
	mu  sync.Mutex           // of the goroutine that changes rows
	now atomic.Pointer[rows] // nil before the first rows
}

// rows returns the rows at this time.
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

// checkRows bounds the number of rows.
func (q *quantiser[T]) checkRows(n int) error {
	if err := limit.Memory[uint64](n, q.words+3); err != nil {
		return fmt.Errorf("quantise: %d rows of %d bytes: %w", n, q.layout().bytes(), err)
	}
	if q.centres != nil && uint64(n) > math.MaxUint32 {
		return fmt.Errorf("quantise: %d rows with centres, want less than 2³²", n)
	}
	return nil
}

// encodeRows is the number of rows that are rotated at a time.
const encodeRows = 64

// appending is the work of Append in pieces of encodeRows rows.
type appending[T dense.Float] struct {
	ctx      context.Context
	q        *quantiser[T]
	x        dense.Matrix[T]
	old      int // rows before those of x
	clusters []cluster
	// With centres: the cluster of each row of x, and where it is there.
	labels []uint32
	places []int

	mu  sync.Mutex
	bad int // the first row with an error
	err error
}

// encoder is memory for the rows of a piece.
type encoder[T dense.Float] struct {
	less    scratch.Buffer[T]   // their centres
	rotated []scratch.Buffer[T] // by each rotation
	edges   []T
	codes   []uint8
}

// prepare makes memory.
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
		e.less.Shape(hi-lo, q.in)
		x = dense.Copy(e.less.Rows(hi-lo), x)
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
			b.alongs[at] = float32(vecmath.Dot(x.Row(row-lo), q.centres[label].vector))
			b.ids[at] = uint32(a.old + row)
		}
	}
}

// normOf returns ‖y‖, or what is wrong with it. y is x after a rotation, which may have overflowed.
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

// encode writes the codes of y, of the given norm, and returns the ratio of the row. edges is
// memory.
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

// largest returns the largest |y_i|. Without their signs the bits of numbers are in their order.
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

// buckets is the number of equal parts up to the last edge that encodeCells starts from.
const buckets = 1024

// startsOf returns, for each bucket and for what is beyond, a cell that begins at or below all that
// rounding may put into the bucket.
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

// encodeCells finds the last of the edges that |y| reaches. The last edge is +Inf, the one before
// is buckets/perUnit. Most searches end in the cell that the bucket starts in.
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

// along returns sᵀy. Products are rounded before they are added: fused additions would give other
// bits on other processors.
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
