package quantise

import (
	"context"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

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
	// A row takes 16 bytes more: 8 for (x−c)ᵀc and its estimate, and 8 for its number and its centre. The centre of
	// a row is the origin if ‖x−c‖‖c‖ is neither 0 nor between 2⁻¹²⁵ and 2¹²⁵. Append costs O(K·d)
	// more per row, as a matrix product.
	//
	// WithCentres returns an error if centres are not K×d with K ≥ 1, if a centre holds NaN or ±Inf
	// or has a norm above 2¹⁰⁰, or if all centres take at least 4 GiB as float64.
	WithCentres(centres dense.Matrix[T]) (Quantiser[T], error)

	// Encode returns the codes of the rows of x (n×d, n ≥ 0). Errors and cost are those of
	// Codes.Append.
	Encode(ctx context.Context, x dense.Matrix[T]) (Codes[T], error)

	// Prepare rotates and rounds the query x (d numbers) for estimates of a measure. It writes the
	// query into dst and returns dst. If dst is nil, Prepare allocates a Query. Otherwise Prepare
	// allocates nothing after the first call. The rotated query has one byte per coordinate for
	// codes of 1 and 2 bits, and two bytes for others.
	//
	// If miss is positive, estimates have bounds, which each fail with at most this probability.
	// Bounds require RaBitQ, which has a law for each code.
	//
	// x may have any finite norm. If x holds NaN or ±Inf, all estimates are NaN. The cost is a
	// rotation and O(d'), and O(d) for each centre when the query meets the first row of the centre.
	// Prepare panics if x does not have d elements, if the measure is unknown, if miss is not in [0,
	// 1), or if the scheme has no bounds.
	Prepare(dst *Query, x []T, by Measure, miss float64) *Query

	// Search searches several Codes (segments) for queries of one measure. Each segment must have
	// this quantiser or an equal quantiser. Search writes the best len(hits[i]) rows of all segments
	// for query i into hits[i], and shortens hits[i] if it selects fewer rows. Equal values are
	// ordered by segment and row number. The results are, to the bit, those of Codes.Search for each
	// query and the selected rows.
	//
	// The cost is one parallel pass over the codes. 256 rows stay in the cache while Search
	// multiplies them by all queries. After the first call of a size, Search allocates nothing,
	// except in Rows.
	//
	// With SearchOptions.Rows, Search makes two passes, and reads rows until no other row is likely
	// to be among the best. Rows requires RaBitQ, which has a law for each code.
	//
	// Search returns an error if the numbers of lists or sets do not fit, if a query is not prepared
	// by the quantiser or of another measure, if an option is invalid, if a segment is nil or of
	// another quantiser, if a row of Rows is not finite, or if ctx ends first. The lists are
	// undefined after an error. Search panics if ctx is nil.
	Search(ctx context.Context, hits [][]Hit, queries []*Query, o SearchOptions[T], segments ...Codes[T]) error

	// Read and View are the functions Read and View for codes of this quantiser. They also read codes
	// over rotations of the caller, because the caller has made the same quantiser. They return an
	// error if the file is of another quantiser. Files have no rotations, so that Read cannot tell
	// quantisers of [NewRotated] with equal options apart.
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

	layout
	cells  codelaw.Cells // of the coordinates of u; for Uniform of the coordinates over the largest
	edges  []float32     // the edges of cells
	starts []uint8       // the first cells of buckets, for LloydMax with several cells
	levels []float32     // the level of each code
	unit   float64       // levels are odd multiples of unit below 2¹⁶
	table  *scan.Table   // levels over unit; nil for the multiples 1, 3, 5, …
	places []uint32      // the places of the digits of queries

	// The origin, followed by the centres. Nil without centres.
	centres []centre[T]
	nearest *nearest[T]

	*laws
	searches pool.Of[search[T]]
	scanners pool.Of[scanner]
	encoders pool.Of[encoder[T]]

	preparers  pool.Of[preparer[T]]
	estimators pool.Of[estimator[T]]
}

// laws are laws of codes, computed once for all quantisers with the same levels.
type laws struct {
	law     sync.Once
	moments codelaw.Moments // the result of theory
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

// equals reports whether q and r encode every vector alike.
func (q *quantiser[T]) equals(r *quantiser[T]) bool {
	return q == r || q.drawn && r.drawn && q.seed == r.seed && q.options == r.options && q.in == r.in && q.out == r.out &&
		slices.EqualFunc(q.centres, r.centres, func(a, b centre[T]) bool { return slices.Equal(a.vector, b.vector) })
}
