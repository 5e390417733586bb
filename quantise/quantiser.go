package quantise

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// Scheme says how a rotated vector becomes a code. u is the unit vector, d' its dimension, s the
// vector that the code stands for.
type Scheme int

// The schemes. The zero Scheme is RaBitQ.
const (
	// RaBitQ rounds every coordinate to one of 2^bits levels with equal steps, and stores sᵀu, by
	// which estimates are divided: they have no bias. One bit is the sign [Gao & Long 2024]. With
	// more bits the step is the one for which the angle between s and u is smallest on average
	// [Gao et al. 2025]; it is the same for all vectors, where the authors also search for the best
	// step of each.
	RaBitQ Scheme = iota

	// LloydMax rounds to the levels with the smallest mean squared error ‖s − u‖² for the exact law
	// of a coordinate of u, u_i² ~ Beta(½, (d'−1)/2) [Max 1960]. s is shorter than u on average,
	// and estimates are too small by the factor E‖s‖² < 1. The levels of 8 bits are rounded to 16 bits.
	LloydMax

	// Uniform rounds to the middles of 2^bits equal parts of [−r, r], where r is the largest
	// coordinate of the vector itself. Estimates are biased, with few bits badly.
	Uniform

	// QJL keeps signs alone, with no number but the norm [Zandieh et al. 2024]: more bits are the
	// signs after more rotations. Estimates have no bias. The authors take Gaussian matrices for
	// rotations, whose estimates vary more.
	QJL
)

var schemeNames = [...]string{"RaBitQ", "LloydMax", "Uniform", "QJL"}

// String returns the name of the scheme.
func (s Scheme) String() string {
	if s.valid() {
		return schemeNames[s]
	}
	return fmt.Sprintf("Scheme(%d)", int(s))
}

func (s Scheme) valid() bool { return s >= 0 && int(s) < len(schemeNames) }

// Options selects a quantiser. The zero value is RaBitQ with 4 bits.
type Options struct {
	Scheme Scheme

	// Bits is the number of bits per coordinate, 1, 2, 4 or 8. Zero means 4.
	Bits int
}

// Rotation is a linear map R from R^d into R^d' that keeps lengths: RᵀR = I. *hadamard.Rotation and
// *givens.Product are such maps. Quantisers call it from several goroutines.
type Rotation[T dense.Float] interface {
	// Dims returns d and d'.
	Dims() (in, out int)
	// Apply writes R·x for every row of x (n×d) into dst (n×d') and returns dst.
	Apply(dst, x dense.Matrix[T]) dense.Matrix[T]
	// ApplyTransposed writes Rᵀ·y for every row of y (n×d') into dst (n×d) and returns dst.
	ApplyTransposed(dst, y dense.Matrix[T]) dense.Matrix[T]
}

// Quantiser makes codes of vectors of R^d, and searches them. A Quantiser never changes, and
// goroutines may share it. New, NewRotated and UnmarshalQuantiser make one.
type Quantiser[T dense.Float] interface {
	// Dims returns the dimension d of vectors and the dimension d' after a rotation.
	Dims() (in, out int)

	// Options returns the options, with Bits set.
	Options() Options

	// Theory returns the exact mean and variance of the estimate of the cosine of two vectors, one as a
	// code and one as it is, whose cosine is given. Estimates of inner products have ‖x‖‖y‖ times the
	// mean and its square times the variance; those of squared distances 4 times that variance.
	//
	// The law holds for every pair of vectors if rotations are uniformly random (Haar); "Rotations" in
	// the package's documentation says how well it holds for hadamard.Rotation. The variance is NaN
	// where no law is known: for RaBitQ with several bits and d' < 32. The first call computes
	// integrals and takes longer than later ones.
	Theory(cosine float64) (mean, variance float64)

	// WithCentres returns a quantiser with the same rotations that makes codes of x − c, where c is the row
	// of centres (K×d) that is nearest to x, or 0 if that is nearer: "Centres" in the package's
	// documentation says what that gains. A single centre may be the mean of the rows; several come
	// from kmeans.Cluster. Centres of the quantiser itself are replaced. Centres are copied, twice: as
	// they are, and rotated.
	//
	// A row takes 4 bytes more for (x−c)ᵀc, and 8 for its number and its centre. It has no centre if
	// ‖x−c‖‖c‖ is neither 0 nor between 2⁻¹²⁵ and 2¹²⁵. Append costs O(K·d) more a row, as a matrix
	// product.
	//
	// WithCentres returns an error if centres are not K×d with K ≥ 1, if one holds NaN or ±Inf or has a norm
	// above 2¹⁰⁰, or if all take 4 GiB as float64 or more.
	WithCentres(centres dense.Matrix[T]) (Quantiser[T], error)

	// Encode returns the codes of the rows of x (n×d), which may have no rows yet. Errors and cost are
	// those of Codes.Append.
	Encode(ctx context.Context, x dense.Matrix[T]) (Codes[T], error)

	// Search is the method Search of Codes for many queries, the rows of queries (m×d), and for several
	// Codes of this quantiser or of one that is equal to it, such as the segments of a store. hits has a
	// list for each query: Search writes the best len(hits[i]) rows of all segments into hits[i], which
	// it cuts off if fewer rows count. Of rows with equal values the one of the earlier segment comes
	// first. Values are those of a search of one query.
	//
	// Cost: a rotation of each query, and one pass over the codes, in parallel: those of 256 rows stay
	// in the cache while all queries take them, and products of bytes take several queries at a time
	// ("Speed" in the package's documentation). Search allocates nothing once its memory has grown,
	// except that Rows may.
	//
	// With Rows it takes two passes, and reads rows until the law of the errors of codes says that no
	// other row is likely to be among the best: "Exact rows" in the package's documentation. Only
	// RaBitQ has that law for each code; Search returns an error for other schemes.
	//
	// Search returns an error if the numbers of lists, columns or sets do not fit, if there is no such
	// measure, if Centres is negative, if MissProbability is not within (0, 1) or set without Rows, if a segment is
	// nil or of another quantiser, or if a row of Rows is not finite; and the error of ctx if ctx ends
	// before the search does. Lists hold anything then. Queries that are not finite are no errors:
	// their values are NaN, of the first rows that count. It panics if ctx is nil.
	Search(ctx context.Context, hits [][]Hit, queries dense.Matrix[T], by Measure, o SearchOptions[T], segments ...Codes[T]) error

	// MarshalBinary returns the quantiser as 52 bytes, or 60 and 8 for each number of centres: options,
	// dimensions and the seed of the rotations, from which UnmarshalQuantiser draws the same rotations
	// in every later version and on every platform. Rotations of the caller are not among the bytes;
	// UnmarshalQuantiser returns an error for such a quantiser. The error is nil.
	MarshalBinary() ([]byte, error)

	// codesOf returns the codes of rows that the quantiser has encoded.
	codesOf(r *rows) Codes[T]
}

// quantiser is the Quantiser of a width.
type quantiser[T dense.Float] struct {
	options   Options
	in, out   int
	rotations []Rotation[T]
	seed      [2]uint64 // of the rotations, if drawn
	drawn     bool

	width  int           // bits of a code of an element
	cells  codelaw.Cells // of a unit vector, or of coordinates over the largest one
	edges  []float32     // where the magnitude of a coordinate over the norm rises to the next level
	starts []uint8       // of LloydMax with several edges: where a search among them starts
	levels []float32     // of all codes, repeated up to what package scan takes
	unit   float64       // levels are odd multiples of it below 2¹⁶; 0 if they are any numbers
	table  *scan.Table   // of these multiples; nil if they are 1, 3, and so on
	words  int           // of a row of codes

	// If there are centres: the origin, and then those.
	centres []centre[T]
	nearest *nearest[T]

	*laws
	searches   pool.Of[search[T]]
	workspaces pool.Of[workspace]
	rows       pool.Of[encoder[T]]
	shifted    pool.Of[shiftedQueries[T]]
}

// laws are what is computed once, for quantisers with the same levels.
type laws struct {
	law     sync.Once
	moments codelaw.Moments // by theory

	signs      sync.Once
	signErrors []atomic.Uint64 // float64 bits by the number of signs that differ, 0 if not known yet

	pairLaws sync.Map // by Between: functions that return *codelaw.Pairs, by uint8

	lengths       sync.Once
	squared, ones []float32 // the squares of levels, and as many ones as Levels takes
}

func errNil(what string) error { return fmt.Errorf("quantise: %s is nil", what) }

// New draws the rotations of a quantiser for vectors of R^d from src: hadamard.Rotation of three
// factors, of the order hadamard.FastOrder(d) or 4 if that is less. QJL has Bits of them, the
// others one. src gives two words, the seed of the rotations, which is all that MarshalBinary has
// to keep.
//
// It returns an error if d < 1, if the options are none of those above, if src is nil, or if the
// sizes take more than 2⁴⁰ bytes.
func New[T dense.Float](d int, opts Options, src rand.Source) (Quantiser[T], error) {
	if src == nil {
		return nil, errNil("src")
	}
	h := header{options: opts, d: d, seed: [2]uint64{src.Uint64(), src.Uint64()}}
	if err := h.check(); err != nil {
		return nil, err
	}
	return drawn[T](h)
}

// UnmarshalQuantiser returns the quantiser that MarshalBinary has written to data. It returns an error
// if the bytes are not those of a quantiser, damaged or of another version, if they are of one over
// rotations of the caller, if d' is not the one of d, or if New or WithCentres would return an error. Time
// and memory are those of New, O(d'·Bits), which follow from d and not from the number of bytes, and of
// WithCentres.
func UnmarshalQuantiser[T dense.Float](data []byte) (Quantiser[T], error) {
	h, err := headerOf(data)
	if err != nil {
		return nil, err
	}
	return drawn[T](h)
}

// drawn returns the quantiser of a header that has been checked.
func drawn[T dense.Float](h header) (Quantiser[T], error) {
	var q any
	var err error
	switch any(*new(T)).(type) {
	case float32:
		q, err = drawn32(h)
	case float64:
		q, err = drawn64(h)
	}
	if err != nil {
		return nil, err
	}
	return q.(Quantiser[T]), nil
}

//go:noinline
func drawn32(h header) (any, error) { return draw[float32](h) }

//go:noinline
func drawn64(h header) (any, error) { return draw[float64](h) }

func draw[T dense.Float](h header) (Quantiser[T], error) {
	src := rand.NewPCG(h.seed[0], h.seed[1])
	rotations := make([]Rotation[T], h.options.rotations())
	for i := range rotations {
		r, err := hadamard.NewRotation[T](h.d, hadamard.RotationOptions{Order: h.order}, src)
		if err != nil {
			return nil, fmt.Errorf("quantise: %w", err)
		}
		rotations[i] = r
	}
	q, err := rotated(h.options, rotations)
	if err != nil {
		return nil, err
	}
	q.seed, q.drawn = h.seed, true
	if h.centres == 0 {
		return q, nil
	}
	return q.WithCentres(vectorsOf[T](h))
}

// orderOf returns d' for d.
func orderOf(d int) (int, error) {
	if d < 1 {
		return 0, fmt.Errorf("quantise: d = %d, want at least 1", d)
	}
	if err := limit.Memory[float64](d, 2); err != nil { // the next order is below 2d
		return 0, fmt.Errorf("quantise: d = %d: %w", d, err)
	}
	return max(hadamard.FastOrder(d), leastDimension), nil
}

// NewRotated returns a quantiser over rotations of the caller, such as dense ones: Bits of them for QJL,
// one for other schemes.
//
// It returns an error if the options are none of those above, if the number of rotations differs,
// if one is nil or a nil pointer, if they differ in d or d', if d < 1, or if d' < 4 or d' < d.
func NewRotated[T dense.Float](opts Options, rotations ...Rotation[T]) (Quantiser[T], error) {
	var q any
	var err error
	switch r := any(rotations).(type) {
	case []Rotation[float32]:
		q, err = rotated32(opts, r)
	case []Rotation[float64]:
		q, err = rotated64(opts, r)
	}
	if err != nil {
		return nil, err
	}
	return q.(Quantiser[T]), nil
}

//go:noinline
func rotated32(o Options, rotations []Rotation[float32]) (any, error) { return rotated(o, rotations) }

//go:noinline
func rotated64(o Options, rotations []Rotation[float64]) (any, error) { return rotated(o, rotations) }

// leastDimension is the smallest d'.
const leastDimension = 4

func (o Options) check() (Options, error) {
	o.Bits = cmp.Or(o.Bits, 4)
	switch {
	case !o.Scheme.valid():
		return o, fmt.Errorf("quantise: Scheme = %d, want one of the constants", int(o.Scheme))
	case o.Bits != 1 && o.Bits != 2 && o.Bits != 4 && o.Bits != 8:
		return o, fmt.Errorf("quantise: Bits = %d, want 1, 2, 4 or 8, or 0 for 4", o.Bits)
	}
	return o, nil
}

// rotations returns the number of rotations.
func (o Options) rotations() int {
	if o.Scheme == QJL {
		return o.Bits
	}
	return 1
}

// width returns the number of bits of a code.
func (o Options) width() int {
	if o.Scheme == QJL {
		return 1
	}
	return o.Bits
}

// hasRatios reports whether the scheme stores a second number a row.
func (o Options) hasRatios() bool { return o.Scheme == RaBitQ || o.Scheme == Uniform }

func rotated[T dense.Float](opts Options, rotations []Rotation[T]) (*quantiser[T], error) {
	opts, err := opts.check()
	if err != nil {
		return nil, err
	}
	if want := opts.rotations(); len(rotations) != want {
		return nil, fmt.Errorf("quantise: %d rotations, want %d for %v with %d bits", len(rotations), want, opts.Scheme, opts.Bits)
	}
	q := &quantiser[T]{options: opts, rotations: rotations, laws: new(laws)}
	for i, r := range rotations {
		if v := reflect.ValueOf(r); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, fmt.Errorf("quantise: rotation %d is nil", i)
		}
		in, out := r.Dims()
		if i == 0 {
			q.in, q.out = in, out
		}
		switch {
		case in < 1 || out < in || out < leastDimension:
			return nil, fmt.Errorf("quantise: rotation %d from R^%d into R^%d, want d ≥ 1 and d' ≥ max(d, %d)", i, in, out, leastDimension)
		case in != q.in || out != q.out:
			return nil, fmt.Errorf("quantise: rotation %d from R^%d into R^%d, want R^%d into R^%d like the first", i, in, out, q.in, q.out)
		}
	}
	if err := limit.Memory[float64](q.out, opts.Bits); err != nil {
		return nil, fmt.Errorf("quantise: d' = %d, Bits = %d: %w", q.out, opts.Bits, err)
	}
	q.width = opts.width()
	q.setLevels()
	q.words = scan.Words(q.elements(), q.width)
	return q, nil
}

// elements returns the number of codes of a row.
func (q *quantiser[T]) elements() int { return q.out * len(q.rotations) }

// splits reports whether so many queries go through rows that are split: codes of 1 bit, and those of 2
// bits with equal steps, without centres.
func (q *quantiser[T]) splits(queries int) bool {
	const least, longest = 4, 1 << 18
	equal := q.centres == nil && (q.width == 1 || q.width == 2 && q.options.Scheme != LloydMax)
	return equal && queries >= least && q.elements() <= longest && scan.Splits(q.width)
}

// digitWords returns the number of words of the digits of a query.
func (q *quantiser[T]) digitWords() int { return scan.DigitWords(q.words, q.width) }

// layout returns what a row of codes consists of.
func (q *quantiser[T]) layout() layout {
	return layout{q.words, q.options.hasRatios(), q.centres != nil}
}

// setLevels chooses the cells of the scheme. Levels and edges are rounded to float32, which
// takes off the last digits of elementary functions: they differ between processors.
func (q *quantiser[T]) setLevels() {
	n := 1 << (q.width - 1)
	switch q.options.Scheme {
	case RaBitQ:
		q.cells = codelaw.BestUniform(q.out, n)
	case LloydMax:
		q.cells = codelaw.LloydMax(q.out, n)
	case Uniform:
		q.cells = codelaw.Uniform(n, 1/float64(n))
	case QJL:
		q.cells = codelaw.Unbiased(q.out)
	}
	if q.width == 8 || q.width == 4 && q.options.Scheme != LloydMax {
		q.setUnit()
	}
	q.edges, q.levels = make([]float32, n), make([]float32, max(scan.TableSize, 2*n))
	for j, v := range q.cells.Levels {
		q.edges[j] = float32(q.cells.Edges[j])
		level := float32(v / float64(len(q.rotations)))
		for k := 0; k < len(q.levels); k += 2 * n {
			q.levels[k+n+j], q.levels[k+n-1-j] = level, -level
		}
	}
	if q.options.Scheme == LloydMax && n > 1 {
		q.starts = startsOf(q.edges)
	}
}

// setUnit sets the unit of which levels are odd multiples. Those of LloydMax with 8 bits are rounded
// to such, the largest to nearly 2¹⁶: that adds 4e-5 of the variance of an estimate. The unit has 8
// binary digits, so that all multiples are float32.
func (q *quantiser[T]) setUnit() {
	levels := q.cells.Levels
	if q.unit = levels[0]; q.options.Scheme != LloydMax {
		return
	}
	fraction, exponent := math.Frexp(levels[len(levels)-1] / math.MaxUint16)
	q.unit = math.Ldexp(math.Ceil(fraction*256), exponent-8)
	var multiples [128]uint16
	for j, v := range levels {
		multiple := 2*math.Floor(v/q.unit/2) + 1
		levels[j], multiples[j] = multiple*q.unit, uint16(multiple)
	}
	q.table = scan.NewTable(&multiples)
}

func (q *quantiser[T]) Dims() (in, out int) { return q.in, q.out }

func (q *quantiser[T]) Options() Options { return q.options }

func (q *quantiser[T]) Theory(cosine float64) (mean, variance float64) {
	mean, variance = q.theory().Cosine(q.out, cosine)
	return mean, variance / float64(len(q.rotations))
}

// theory returns the moments of one rotation.
func (q *quantiser[T]) theory() codelaw.Moments {
	q.law.Do(func() {
		switch {
		case q.options.Scheme == Uniform:
			q.moments = codelaw.Range(q.out, len(q.cells.Levels))
		case q.options.Scheme != RaBitQ:
			q.moments = q.cells.Moments(q.out)
		case q.width > 1 && q.out < codelaw.CorrectedDimension:
			q.moments = codelaw.Moments{Along: 1, AlongSquare: 1, Square: math.NaN()}
		default:
			q.moments = q.cells.Corrected(q.out)
		}
	})
	return q.moments
}
