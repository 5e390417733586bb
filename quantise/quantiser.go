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
	// given, over uniformly random rotations. An estimated inner product has ‖x‖‖y‖ times the mean
	// and (‖x‖‖y‖)² times the variance, and a squared distance 4 times the variance of the product.
	// The variance is NaN for RaBitQ with several bits and d' < 32, for which no law is known. The
	// first call computes integrals.
	Theory(cosine float64) (mean, variance float64)

	// WithCentres returns a quantiser with the same rotations that encodes x − c, where c is the
	// nearest of the rows of centres (K×d) and the origin. Errors are then proportional to ‖x−c‖. The
	// new centres replace those of the quantiser. A row takes 16 bytes more, and Append costs O(K·d)
	// more per row. The centre of a row is the origin if ‖x−c‖‖c‖ is neither 0 nor between 2⁻¹²⁵ and
	// 2¹²⁵. WithCentres returns an error if centres are not K×d with K ≥ 1, if a centre is not finite
	// or has a norm above 2¹⁰⁰, or if all centres take at least 4 GiB as float64.
	WithCentres(centres dense.Matrix[T]) (Quantiser[T], error)

	// Encode returns the codes of the rows of x (n×d, n ≥ 0). Errors and cost are those of
	// Codes.Append.
	Encode(ctx context.Context, x dense.Matrix[T]) (Codes[T], error)

	// Prepare rotates and rounds the query x (d numbers) for estimates of a measure. It writes the
	// query into dst and returns dst, or a new Query if dst is nil. If miss is positive, estimates have
	// bounds, which each fail with at most this probability; bounds require RaBitQ. x may have any
	// finite norm. If x is not finite, all estimates are NaN.
	//
	// The cost is a rotation and O(d'), and O(d) for each centre c when the query q meets its first row.
	// Another rotation rounds q − tc by itself if q lies so near to a multiple tc of the centre that
	// ‖q − tc‖ < ‖q‖/16, because the rounding of q is then too coarse.
	// With a dst, Prepare allocates nothing after the first call. It panics if x does not have d
	// elements, if the measure is unknown, if miss is not in [0, 1), or if the scheme has no bounds.
	Prepare(dst *Query, x []T, by Measure, miss float64) *Query

	// Search searches several Codes (segments) of this or an equal quantiser for queries of one
	// measure. It writes the best len(hits[i]) rows of all segments for query i into hits[i], and
	// shortens hits[i] if it selects fewer rows. Equal values are ordered by segment and row number.
	// The results are, to the bit, those of Codes.Search.
	//
	// The cost is one parallel pass over the codes, and two with SearchOptions.Rows, which requires
	// RaBitQ. After the first call of a size, Search allocates nothing, except in Rows.
	//
	// Search returns an error if the numbers of lists or sets do not fit, if a query is not prepared
	// by the quantiser or of another measure, if an option is invalid, if a segment is nil or of
	// another quantiser, if a row of Rows is not finite, or if ctx ends first. The lists are
	// undefined after an error. Search panics if ctx is nil.
	Search(ctx context.Context, hits [][]Hit, queries []*Query, o SearchOptions[T], segments ...Codes[T]) error

	// RowBytes returns the number of bytes of a row in a page, which is rows side by side at any
	// address. EncodeBytes writes the rows of x (n×d) to dst, which has n·RowBytes() bytes. A row has
	// little-endian numbers:
	//
	//	words     of 8 bytes, ⌈d'·Bits/64⌉
	//	norm      float32, ‖x‖, or ‖x−c‖ with centres
	//	ratio     float32, with RaBitQ and Uniform
	//	variance  float32, ‖s‖²/(sᵀu)² − 1, with RaBitQ of several bits
	//	products  two float32, (x−c)ᵀc and its estimate, with centres
	//	centre    uint32, its number, and 0 for the origin, with centres
	//
	// Words come in blocks of 8, and the last block may be shorter. A block of w words is 2w lanes of
	// 4 bytes. Code j of lane l of a block, from the lowest bits on, is the code of element j·2w + l of
	// the block. The rest of the words is 0. With RaBitQ, norm·ratio·Σ(2·code + 1 − 2^Bits)·p_i is the
	// estimate of xᵀq, or of (x−c)ᵀq, for the rotated query p.
	//
	// EncodeBytes returns an error if dst has another length, and the errors of Codes.Append for a
	// row. It panics if x does not have d columns.
	RowBytes() int
	EncodeBytes(dst []byte, x dense.Matrix[T]) error

	// EstimateBytes writes the estimates of the len(dst) rows of a page into dst, as Codes.Estimates
	// does. It returns an error if page has another length, if a number of a row is out of range, or
	// if the query is not prepared by the quantiser. EstimateBytes allocates nothing.
	EstimateBytes(dst []Estimate, query *Query, page []byte) error

	// Read and View are the functions Read and View for codes of this quantiser, also over rotations of
	// the caller, which files do not hold. They return an error if the file is of another quantiser.
	Read(r io.Reader) (Codes[T], error)
	View(data []byte) (Codes[T], error)

	// MarshalBinary returns the quantiser as 52 bytes, or as 60 + 8Kd bytes with K centres.
	// UnmarshalQuantiser draws the same rotations in every later version and on every platform. The
	// bytes do not hold rotations of the caller. The error is nil.
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

	signs *quantiser[T] // the quantiser of the signs; nil without signs

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

// rotates reports whether q and r have the same rotations and options.
func (q *quantiser[T]) rotates(r *quantiser[T]) bool {
	if q.drawn && r.drawn {
		return q.seed == r.seed && q.options == r.options && q.in == r.in && q.out == r.out
	}
	return q.laws == r.laws // of one quantiser, with other centres
}

// equals reports whether q and r encode every vector alike.
func (q *quantiser[T]) equals(r *quantiser[T]) bool {
	return q == r || q.rotates(r) && slices.EqualFunc(q.centres, r.centres, func(a, b centre[T]) bool { return slices.Equal(a.vector, b.vector) })
}
