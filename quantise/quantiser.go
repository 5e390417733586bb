package quantise

import (
	"cmp"
	"context"
	"fmt"
	"io"
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

// Scheme is a method of rounding the unit vector u of a rotated vector to a code. The code stands
// for the vector s, and d' is the dimension of both.
type Scheme int

// The schemes. The zero Scheme is RaBitQ.
const (
	// RaBitQ rounds every coordinate to one of 2^bits levels with equal steps, and stores sᵀu.
	// Estimates are divided by sᵀu and have no bias. The code of one bit is the sign [Gao & Long
	// 2024]. With more bits the step minimises the mean angle between s and u [Gao et al. 2025]. It
	// is the same for all vectors, whereas the authors search for the best step of each vector.
	RaBitQ Scheme = iota

	// LloydMax rounds to the levels with the smallest mean squared error ‖s − u‖² for the exact law
	// of a coordinate of u, u_i² ~ Beta(½, (d'−1)/2) [Max 1960]. s is shorter than u on average,
	// and estimates have the mean E‖s‖² < 1 times the true value. Levels of 8 bits are rounded to
	// 16 bits.
	LloydMax

	// Uniform rounds to the centres of 2^bits equal intervals of [−r, r], where r is the largest
	// |u_i| of the vector. Estimates are biased, strongly so with few bits.
	Uniform

	// QJL stores signs, and only the norm beside them [Zandieh et al. 2024]: b bits are the signs
	// after b rotations. Estimates have no bias. The authors use Gaussian matrices instead of
	// rotations, and the estimates of these vary more.
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
// *givens.Product are Rotations. Several goroutines call a Rotation at the same time.
type Rotation[T dense.Float] interface {
	// Dims returns d and d'.
	Dims() (in, out int)
	// Apply writes R·x for every row of x (n×d) into dst (n×d') and returns dst.
	Apply(dst, x dense.Matrix[T]) dense.Matrix[T]
	// ApplyTransposed writes Rᵀ·y for every row of y (n×d') into dst (n×d) and returns dst.
	ApplyTransposed(dst, y dense.Matrix[T]) dense.Matrix[T]
}

// Quantiser encodes vectors of R^d and searches the codes. A Quantiser never changes, and
// goroutines may share it. New, NewRotated and UnmarshalQuantiser return a Quantiser.
type Quantiser[T dense.Float] interface {
	// Dims returns the dimension d of vectors and the dimension d' of rotated vectors.
	Dims() (in, out int)

	// Options returns the options, with Bits set.
	Options() Options

	// Theory returns the exact mean and variance of the estimate of a cosine whose true value is
	// given. The estimate of an inner product has ‖x‖‖y‖ times the mean and (‖x‖‖y‖)² times the
	// variance. The estimate of a squared distance has 4 times the variance of the inner product.
	//
	// The law holds for every pair of vectors if rotations are uniformly random (Haar). "Rotations"
	// in the package documentation compares it with hadamard.Rotation. The variance is NaN for
	// RaBitQ with several bits and d' < 32, for which no law is known. The first call computes
	// integrals and takes longer than later calls.
	Theory(cosine float64) (mean, variance float64)

	// WithCentres returns a quantiser with the same rotations that encodes x − c, where c is the
	// nearest of the rows of centres (K×d) and the origin. "Centres" in the package documentation
	// describes the benefit. The new centres replace the centres of the quantiser. WithCentres
	// copies the centres.
	//
	// A row takes 12 bytes more: 4 for (x−c)ᵀc, and 8 for its number and its centre. The centre of
	// a row is the origin if ‖x−c‖‖c‖ is neither 0 nor between 2⁻¹²⁵ and 2¹²⁵. Append costs O(K·d)
	// more per row, as a matrix product.
	//
	// WithCentres returns an error if centres are not K×d with K ≥ 1, if a centre holds NaN or ±Inf
	// or has a norm above 2¹⁰⁰, or if all centres take at least 4 GiB as float64.
	WithCentres(centres dense.Matrix[T]) (Quantiser[T], error)

	// Encode returns the codes of the rows of x (n×d, n ≥ 0). Errors and cost are those of
	// Codes.Append.
	Encode(ctx context.Context, x dense.Matrix[T]) (Codes[T], error)

	// Search searches several Codes (segments) for the rows of queries (m×d). Each segment must
	// have this quantiser or an equal quantiser. hits has a list for each query: Search writes the
	// best len(hits[i]) rows of all segments into hits[i], and shortens hits[i] if it selects fewer
	// rows. Equal values are ordered by segment and row number. The results are, to the bit, those
	// of Codes.Search for each query and the selected rows.
	//
	// The cost is a rotation of each query and one parallel pass over the codes. 256 rows stay in
	// the cache while Search multiplies them by all queries. After the first call of a size, Search
	// allocates nothing, except in Rows.
	//
	// With SearchOptions.Rows, Search makes two passes, and reads rows until no other row is likely
	// to be among the best ("Exact rows" in the package documentation). Rows requires RaBitQ, which
	// has a law for each code.
	//
	// Search returns an error if the numbers of lists, columns or sets do not fit, if an option is
	// invalid, if a segment is nil or of another quantiser, if a row of Rows is not finite, or if
	// ctx ends first. The lists are undefined after an error. A query that is not finite is no
	// error: its values are NaN. Search panics if ctx is nil.
	Search(ctx context.Context, hits [][]Hit, queries dense.Matrix[T], by Measure, o SearchOptions[T], segments ...Codes[T]) error

	// Read and View are the functions Read and View for codes of this quantiser. They also read codes
	// over rotations of the caller, because the caller has made the same quantiser. They return an
	// error if the file is of another quantiser.
	Read(r io.Reader) (Codes[T], error)
	View(data []byte) (Codes[T], error)

	// MarshalBinary returns the quantiser as 52 bytes, or as 60 + 8Kd bytes with K centres:
	// options, dimensions and the seed of the rotations. UnmarshalQuantiser draws the same
	// rotations from the seed in every later version and on every platform. The bytes do not hold
	// rotations of the caller, and UnmarshalQuantiser returns an error for such a quantiser. The
	// error is nil.
	MarshalBinary() ([]byte, error)

	// codesOf returns Codes with rows that the quantiser has encoded.
	codesOf(r *rows) Codes[T]
}

// quantiser implements Quantiser.
type quantiser[T dense.Float] struct {
	options   Options
	in, out   int
	rotations []Rotation[T]
	seed      [2]uint64 // the seed of the rotations
	drawn     bool      // New has drawn the rotations

	width  int           // bits of the code of one element
	cells  codelaw.Cells // of the coordinates of u; for Uniform of the coordinates over the largest
	edges  []float32     // the edges of cells
	starts []uint8       // the first cells of buckets, for LloydMax with several cells
	levels []float32     // the level of each code, repeated to the table size of package scan
	unit   float64       // levels are odd multiples of unit below 2¹⁶; 0 for arbitrary levels
	table  *scan.Table   // levels over unit; nil for the multiples 1, 3, 5, …
	words  int           // words of a row of codes

	// The origin, followed by the centres. Nil without centres.
	centres []centre[T]
	nearest *nearest[T]

	*laws
	searches   pool.Of[search[T]]
	workspaces pool.Of[workspace]
	rows       pool.Of[encoder[T]]
	shifted    pool.Of[shiftedQueries[T]]
}

// laws are laws of codes, computed once for all quantisers with the same levels.
type laws struct {
	law     sync.Once
	moments codelaw.Moments // the result of theory

	signs      sync.Once
	signErrors []atomic.Uint64 // float64 bits by the number of differing signs; 0 if not yet computed

	pairLaws sync.Map // the results of pairs: func() *codelaw.Pairs by uint8

	lengths       sync.Once
	squared, ones []float32 // the results of squares
}

func errNil(what string) error { return fmt.Errorf("quantise: %s is nil", what) }

// New returns a quantiser for vectors of R^d with random rotations: hadamard.Rotation of three
// factors, of the order max(hadamard.FastOrder(d), 4). QJL has Bits rotations, other schemes have
// one. New draws two words from src, the seed of the rotations.
//
// New returns an error if d < 1, if an option is invalid, if src is nil, or if the rotations take
// more than 2⁴⁰ bytes.
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

// UnmarshalQuantiser returns the quantiser that MarshalBinary has written to data. It returns an
// error if the bytes are damaged, of another version or not a quantiser, if the quantiser has
// rotations of the caller, if d' does not follow from d, and the errors of New and WithCentres.
// Time and memory are those of New and WithCentres. The memory of New follows from d and not from
// the number of bytes.
func UnmarshalQuantiser[T dense.Float](data []byte) (Quantiser[T], error) {
	h, err := headerOf(data)
	if err != nil {
		return nil, err
	}
	return drawn[T](h)
}

// drawn returns the quantiser of a valid header.
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

// NewRotated returns a quantiser with rotations of the caller, such as dense ones: Bits rotations
// for QJL and one for other schemes.
//
// NewRotated returns an error if an option is invalid, if the number of rotations is wrong, if a
// rotation is nil or a nil pointer, if rotations differ in d or d', or unless 1 ≤ d ≤ d' and d' ≥
// 4.
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

// hasRatios reports whether the scheme stores a ratio for each row.
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

// splits reports whether a search of this number of queries unpacks codes to 4 bits. This is faster
// for codes of 1 bit, and for codes of 2 bits with equal steps, without centres.
func (q *quantiser[T]) splits(queries int) bool {
	const least, longest = 4, 1 << 18
	equal := q.centres == nil && (q.width == 1 || q.width == 2 && q.options.Scheme != LloydMax)
	return equal && queries >= least && q.elements() <= longest && scan.Splits(q.width)
}

// digitWords returns the number of words of the digits of a query.
func (q *quantiser[T]) digitWords() int { return scan.DigitWords(q.words, q.width) }

// layout returns the layout of a row.
func (q *quantiser[T]) layout() layout {
	return layout{q.words, q.options.hasRatios(), q.centres != nil}
}

// setLevels sets the cells of the scheme. Levels and edges are rounded to float32, because the last
// digits of elementary functions differ between processors.
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

// setUnit sets the unit of which all levels are odd multiples. setUnit rounds the levels of
// LloydMax with 8 bits to such multiples, of which the largest is nearly 2¹⁶. The rounding adds
// 4e-5 of the variance of an estimate. The unit has 8 binary digits, so that float32 represents all
// multiples.
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

// theory returns the moments of the codes of one rotation.
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
