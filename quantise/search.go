package quantise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// Measure is what is estimated of a row x and a query y.
type Measure int

// The measures.
const (
	InnerProduct    Measure = iota // xᵀy
	Cosine                         // xᵀy/(‖x‖‖y‖), and 0 if a norm is 0
	SquaredDistance                // ‖x − y‖² = ‖x‖² + ‖y‖² − 2xᵀy
)

// Estimate is an estimated number with the root of its mean squared error by theory, over random
// rotations. The theory takes the estimate for the cosine that it needs.
type Estimate struct{ Value, StdErr float64 }

// Hit is a row that Search found.
type Hit struct {
	ID int // the number of the row
	Estimate
}

// Search finds the len(dst) rows with the largest estimated inner products or cosines with the
// query (d numbers), or the smallest estimated distances, writes them into dst, best first, and
// returns dst, cut off if there are fewer rows. Of rows with equal estimates the one with the lower
// number comes first.
//
// Values are those of Estimates. Codes of 1 bit are first compared with the query rounded to 63
// steps between its largest coordinate and the negative of that, whose error is about a twentieth
// of a standard error; the rows found have estimates from the query as it is, and are sorted by
// those. If the query holds NaN or ±Inf, or if its rotation or the square of its norm overflows,
// every value is NaN and the rows are the first ones.
//
// The best of many estimates are biased upwards: errors in their favour brought them there. StdErr
// is the error of a row that was chosen in advance. For RaBitQ StdErr belongs to the code itself,
// for other schemes to an average code.
//
// Cost: a rotation and a pass over all codes, in parallel, and O(log len(dst)) for each row that is
// among the best so far. Search allocates nothing once its memory has grown. It panics if the query
// has not d elements or if there is no such measure.
func (c *Codes[T]) Search(dst []Hit, query []T, by Measure) []Hit {
	c.check(query, by)
	all := c.rows()
	if dst = dst[:min(len(dst), all.n)]; len(dst) == 0 {
		return dst
	}
	s := c.q.begin(*all, query, by)
	defer s.end()
	if s.norm != s.norm {
		for i := range dst {
			dst[i] = Hit{i, Estimate{s.norm, s.norm}}
		}
		return dst
	}
	s.k = len(dst)
	if c.q.width == 1 {
		s.slice()
	}
	s.run()
	for i, b := range s.best {
		dst[i] = Hit{b.id, s.estimate(all.code(b.id, c.q.words))}
	}
	if by == SquaredDistance {
		slices.SortFunc(dst, func(a, b Hit) int { return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.ID, b.ID)) })
	} else {
		slices.SortFunc(dst, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.ID, b.ID)) })
	}
	return dst
}

// Estimates writes the estimates for the first len(dst) rows and a query (d numbers) into dst and
// returns dst. A nil dst is allocated for all rows. With s for what a code stands for and p for the rotated query, the
// estimate of the inner product is ‖x‖·sᵀp, with sums in float32, or of whole numbers for codes of 8
// bits, where p is rounded to two bytes a coordinate ("Speed" in the package's documentation says
// what that adds); those of the cosine and of the squared distance follow with
// the norms. The estimate of a cosine may lie outside [−1, 1] and that
// of a squared distance below 0. Queries that make every estimate NaN are those of Search. Cost: a
// rotation and a pass over the codes of these rows, in parallel. It panics if dst has more elements
// than there are rows, if the query has not d, or if there is no such measure.
func (c *Codes[T]) Estimates(dst []float64, query []T, by Measure) []float64 {
	c.check(query, by)
	all := c.rows()
	if dst == nil {
		dst = make([]float64, all.n)
	}
	if len(dst) > all.n {
		panic(fmt.Sprintf("quantise: dst has %d elements, want at most %d", len(dst), all.n))
	}
	s := c.q.begin(rows{len(dst), all.blocks}, query, by)
	s.values = dst
	s.run()
	s.end()
	return dst
}

func (c *Codes[T]) check(query []T, by Measure) {
	if c.q == nil {
		panic(errZero.Error())
	}
	if len(query) != c.q.in {
		panic(fmt.Sprintf("quantise: query has %d elements, want %d", len(query), c.q.in))
	}
	c.checkMeasure(by)
}

func (c *Codes[T]) checkMeasure(by Measure) {
	if by < InnerProduct || by > SquaredDistance {
		panic(fmt.Sprintf("quantise: measure %d, want one of the constants", int(by)))
	}
}

// search is a pass over codes.
type search[T dense.Float] struct {
	q    *Quantiser[T]
	rows rows
	by   Measure
	norm float64 // of the query, NaN if that is not finite

	rotated  []T
	unit     []float32 // the rotated query over its norm
	arranged []float32
	// If levels have a unit: the unit vector as multiples of a step, and the product of that step with
	// the unit.
	whole  []int16
	digits []uint64
	scale  float32
	// For codes of 1 bit: the unit vector as multiples of step, and their sum.
	weights []int8
	planes  []uint64
	step    float64
	sum     float64
	bits    []uint8
	row     []uint64

	values []float64 // results of Estimates; nil in a Search
	pieces int       // rows of a piece

	k     int
	mu    sync.Mutex
	best  []candidate   // the heap of Search, the worst first
	worst atomic.Uint64 // bits of the score of the worst of k, −Inf before
}

// begin prepares a query.
func (q *Quantiser[T]) begin(all rows, query []T, by Measure) *search[T] {
	s := q.searches.Get()
	n := q.elements()
	s.q, s.rows, s.by, s.values, s.best = q, all, by, nil, s.best[:0]
	s.worst.Store(math.Float64bits(math.Inf(-1)))
	s.pieces = min(max(pieceBytes/(8*q.words), chunk), 32*chunk)

	s.rotated = scratch.Resize(s.rotated, n)
	for k, r := range q.rotations {
		r.Apply(dense.Of(1, q.out, s.rotated[k*q.out:][:q.out]), dense.Of(1, q.in, query))
	}
	s.norm = math.Sqrt(2 * vecmath.HalfSquaredNorm(s.rotated[:q.out]))
	if math.IsInf(s.norm, 1) {
		s.norm = math.NaN()
	}
	s.unit = scratch.Resize(s.unit, n)
	for i, v := range s.rotated {
		s.unit[i] = 0
		if s.norm > 0 {
			s.unit[i] = float32(float64(v) / s.norm)
		}
	}
	if q.unit > 0 {
		s.whole, s.digits = scratch.Resize(s.whole, n), scratch.Resize(s.digits, scan.DigitWords(q.words, q.width))
		step := scan.Round(s.whole, s.unit)
		scan.Digits(s.digits, s.whole, q.words, q.width)
		s.scale = float32(q.unit * step)
		return s
	}
	s.arranged = scratch.Resize(s.arranged, scan.Arranged(q.words, q.width))
	scan.Arrange(s.arranged, s.unit, q.words, q.width)
	return s
}

// end keeps the memory of the search, but not the codes.
func (s *search[T]) end() {
	s.rows, s.values = rows{}, nil
	s.q.searches.Put(s)
}

// slice rounds the query for codes of 1 bit.
func (s *search[T]) slice() {
	n, words := len(s.unit), s.q.words
	s.step = largest(s.unit) / scan.MaxWeight
	s.weights, s.bits = scratch.Resize(s.weights, n), scratch.Resize(s.bits, n)
	s.planes, s.row = scratch.Resize(s.planes, scan.PlaneWords(words)), scratch.Resize(s.row, words)
	sum := 0
	for i, v := range s.unit {
		s.weights[i] = 0
		if s.step > 0 {
			s.weights[i] = int8(math.RoundToEven(float64(v) / s.step))
		}
		sum += int(s.weights[i])
	}
	s.sum = float64(sum)
	scan.Slice(s.planes, s.weights, s.bits, s.row)
}

const (
	pieceBytes = 1 << 18 // of codes
	chunk      = 256     // rows that a kernel takes at a time
)

// run goes through all rows.
func (s *search[T]) run() { parallel.Do((s.rows.n+s.pieces-1)/s.pieces, s) }

// part is the memory of a piece.
type part struct {
	products [chunk]float32
	scores   [chunk]float32
	best     []candidate
}

// Piece goes through the rows of piece i, in chunks that end where blocks end.
func (s *search[T]) Piece(i int) {
	p := s.q.parts.Get()
	p.best = p.best[:0]
	row, end := i*s.pieces, min((i+1)*s.pieces, s.rows.n)
	for k := find(s.rows.blocks, row); row < end; k++ {
		b := s.rows.blocks[k]
		last := min(end, b.first+b.size) - b.first
		for lo := row - b.first; lo < last; lo += chunk {
			s.scan(p, b, lo, min(lo+chunk, last))
		}
		row = b.first + last
	}
	if len(p.best) > 0 {
		s.merge(p.best)
	}
	s.q.parts.Put(p)
}

// scan goes through the rows in places [lo, hi) of a block.
func (s *search[T]) scan(p *part, b *block, lo, hi int) {
	s.products(p.products[:hi-lo], b, lo)
	if s.values == nil {
		s.offer(p, b, lo, hi)
		return
	}
	for i := lo; i < hi; i++ {
		s.values[b.first+i] = s.value(float64(b.norms[i]), float64(p.products[i-lo])*b.ratio(i))
	}
}

// products computes sᵀp of rows from place lo on, for a Search in codes of 1 bit from the rounded query.
func (s *search[T]) products(out []float32, b *block, lo int) {
	q := s.q
	rows := b.words[lo*q.words:][:len(out)*q.words]
	if q.width > 1 || s.values != nil {
		s.exact(out, rows)
		return
	}
	scan.Signs(out, rows, s.planes, q.words)
	// The sum of the weights with the sign of their codes.
	scale := float64(q.levels[1]) * s.step
	vecmath.Affine(out, out, float32(2*scale), float32(-scale*s.sum))
}

// exact computes sᵀp of rows, for estimates.
func (s *search[T]) exact(out []float32, rows []uint64) {
	q := s.q
	switch {
	case q.unit == 0:
		scan.Levels(out, rows, q.levels, s.arranged, q.words, q.width)
		return
	case q.table != nil:
		scan.LevelProducts(out, rows, q.table, s.digits, len(out), q.words, 1, len(out))
	default:
		scan.Products(out, rows, s.digits, len(out), q.words, q.width, 1, len(out))
	}
	vecmath.Scale(out, s.scale)
}

// value returns the estimate for a row of the given norm from that of the cosine.
func (s *search[T]) value(norm, cosine float64) float64 {
	if norm == 0 {
		cosine = 0
	}
	switch s.by {
	case InnerProduct:
		return norm * s.norm * cosine
	case SquaredDistance:
		return norm*norm + s.norm*s.norm - 2*norm*s.norm*cosine
	}
	if s.norm != s.norm {
		return s.norm
	}
	return cosine
}

// estimate returns the value for a row and its error.
func (s *search[T]) estimate(c code) Estimate {
	var product [1]float32
	s.exact(product[:], c.words)
	cosine := float64(product[0]) * c.ratio
	e := Estimate{Value: s.value(c.norm, cosine)}
	if c.norm == 0 || s.norm == 0 {
		return e
	}
	var moments codelaw.Moments
	if s.q.options.Scheme == RaBitQ {
		moments = codelaw.Moments{Along: 1, AlongSquare: 1, Square: s.q.product(c, c) * c.ratio * c.ratio}
	} else {
		moments = s.q.theory()
	}
	e.StdErr = s.q.deviation(moments, cosine)
	switch s.by {
	case InnerProduct:
		e.StdErr *= c.norm * s.norm
	case SquaredDistance:
		e.StdErr *= 2 * c.norm * s.norm
	}
	return e
}

// deviation returns the root of the mean squared error of an estimate of a cosine, from codes with
// the moments, with the estimate itself for the cosine.
func (q *Quantiser[T]) deviation(m codelaw.Moments, estimate float64) float64 {
	n := float64(len(q.rotations))
	across := max(0, m.Square-m.AlongSquare) / float64(q.out-1)
	rho := min(max(estimate/m.Along, -1), 1)
	// 1 − ρ² is not known better than to its error: an estimate of 1 or more is no proof that ρ is
	// 1.
	variance := rho*rho*max(0, m.AlongSquare-m.Along*m.Along) + max(1-rho*rho, across/n)*across
	bias := rho * (m.Along - 1)
	return math.Sqrt(variance/n + bias*bias)
}
