package quantise

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/givens"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// Quantiser encodes vectors of R^d and prepares queries for the codes. A Quantiser never changes,
// and goroutines may share a Quantiser.
type Quantiser[T dense.Float] interface {
	// Dims returns the dimension d of encoded vectors and the dimension d' of rotated vectors.
	Dims() (in, out int)

	// Options returns the options of the quantiser, with the default 4 in place of Bits of 0.
	Options() Options

	// Theory returns the exact mean and variance of the estimate of a cosine whose true value is
	// the argument cosine, over uniformly random rotations. The estimate of xᵀy has ‖x‖‖y‖ times
	// the mean and (‖x‖‖y‖)² times the variance that Theory returns for the cosine, and the
	// estimate of ‖x−y‖² has 4 times the variance for xᵀy.
	//
	// The mean that Theory returns is the argument cosine. The variance that Theory returns is NaN
	// for Bits > 1 and fewer than 32 rotated coordinates, where no formula is known. For a
	// quantiser of Learn, Theory averages the variance over vectors like the sample, and ‖x‖ and
	// ‖y‖ are norms after subtraction of the mean. The first call of Theory takes longer than later
	// calls, to compute integrals.
	Theory(cosine float64) (mean, variance float64)

	// WithCentres returns a quantiser with the rotation of the receiver that encodes x − c for a
	// row x, where c is the nearest to x of the origin and the rows of the argument centres (K×d).
	// Standard errors of estimated inner products with a row x of the centre c are proportional to
	// ‖x−c‖. The new quantiser does not keep the centres of the receiver. With K centres in R^d,
	// the code of a row takes 16 bytes more, and Append O(K·d) operations more. A row x gets the
	// origin as centre if ‖x−c‖‖c‖ for the nearest centre c is neither 0 nor between 2⁻¹²⁵ and
	// 2¹²⁵. For vectors of R^d, WithCentres returns an error if Learn made the quantiser, if
	// centres is not K×d with K ≥ 1, if a centre is not finite or has a norm above 2¹⁰⁰, or if all
	// centres take more than 2⁴⁰ bytes.
	WithCentres(centres dense.Matrix[T]) (Quantiser[T], error)

	// Encode returns the codes of the n ≥ 0 rows of x (n×d). Encode takes the time and returns the
	// errors of Codes.Append for x.
	Encode(ctx context.Context, x dense.Matrix[T]) (Codes[T], error)

	// Prepare rotates and rounds the query x (d numbers) for estimates of the Measure by. Prepare
	// writes the prepared query into dst and returns dst, or a new Query if dst is nil. If the
	// argument miss is positive, estimates have the bounds Low and High, each of which fails with
	// at most the probability miss. All estimates for the query are NaN if x is not finite, or if
	// the norm of x is neither 0 nor between 2⁻¹⁰⁰ and 2¹⁰⁰.
	//
	// Prepare multiplies x by the rotation matrix of the quantiser. For each centre in R^d, the
	// first estimate for a query and a row of the centre takes O(d) operations more. If ‖q − t·c‖ <
	// ‖q‖/16 for a multiple t·c of a centre c, Prepare rotates and rounds the difference q − t·c
	// separately, because the rounding of q is too coarse for the rows of this centre. If the
	// quantiser has prepared dst before, Prepare allocates nothing.
	//
	// For vectors of R^d, Prepare panics if x does not have d elements, if the Measure is unknown,
	// or if miss is not in [0, 1).
	Prepare(dst *Query, x []T, by Measure, miss float64) *Query

	// EncodeBytes appends the codes of the rows of x (n×d) to dst, with an equal number of bytes
	// for each row, and returns the longer slice. EstimateBytes accepts bytes of EncodeBytes for
	// any rows side by side, at any address. docs/search.md describes every byte. If Codes.Append
	// rejects a row of x, EncodeBytes returns dst and an error. For vectors of R^d, EncodeBytes
	// panics if x does not have d columns.
	EncodeBytes(dst []byte, x dense.Matrix[T]) ([]byte, error)

	// EstimateBytes writes estimates for the query and the len(dst) rows in page, a result of
	// EncodeBytes, into dst. EstimateBytes returns an error if page has another length, if a number
	// stored with a row is out of range, or if the quantiser has not prepared the query.
	// EstimateBytes allocates nothing.
	EstimateBytes(dst []Estimate, query *Query, page []byte) error

	codesOf(r *rows) Codes[T]
}

// New returns a quantiser for vectors of R^d with a random rotation into R^d', where d' is
// max(hadamard.FastOrder(d), 64/Bits): a hadamard.Rotation of three factors for d ≥ 16, and a
// product of plane rotations for smaller d. New draws two uint64 from src, the seed of the
// rotation. New returns an error if d < 1, if an option is invalid, if src is nil, or if the
// rotation takes more than 2⁴⁰ bytes.
func New[T dense.Float](d int, opts Options, src rand.Source) (Quantiser[T], error) {
	if src == nil {
		return nil, errNil("src")
	}
	return newOf[T](recipe{Options: opts, D: d, Seed: []uint64{src.Uint64(), src.Uint64()}})
}

type recipe struct {
	Options
	D       int
	Seed    []uint64 // two words, from which the rotation is drawn
	Centres dense.Matrix[float64]
	Learned []spectrum // the result of Learn, or nil
}

func newOf[T dense.Float](r recipe) (Quantiser[T], error) {
	return door.Choose[T, Quantiser[T]](made32, made64, r)
}

//go:noinline
func made32(r any) (any, error) { return made[float32](r.(recipe)) }

//go:noinline
func made64(r any) (any, error) { return made[float64](r.(recipe)) }

func made[T dense.Float](r recipe) (Quantiser[T], error) {
	if len(r.Learned) > 0 {
		return learned[T](r.Options, r.D, &r.Learned[0])
	}
	opts, err := r.Options.check()
	if err != nil {
		return nil, err
	}
	order, err := opts.order(r.D)
	if err != nil {
		return nil, err
	}
	rotation, err := rotationOf[T](r.D, order, rand.NewPCG(r.Seed[0], r.Seed[1]))
	if err != nil {
		return nil, fmt.Errorf("quantise: %w", err)
	}
	q := &quantiser[T]{coder: newCoder(opts, r.D, order, rotation), layout: opts.layout(order)}
	q.seed = [2]uint64{r.Seed[0], r.Seed[1]}
	if r.Centres.Rows == 0 {
		return q, nil
	}
	return q.WithCentres(dense.Copy(dense.New[T](r.Centres.Rows, r.Centres.Cols), r.Centres))
}

type quantiser[T dense.Float] struct {
	*coder[T]
	layout

	// The origin, followed by the centres, or the mean of Learn alone. Nil without them.
	centres []centre[T]
	nearest *nearest[T]

	searches   pool.Of[search[T]]
	scanners   pool.Of[scanner]
	encoders   pool.Of[encoder[T]]
	preparers  pool.Of[preparer[T]]
	estimators pool.Of[estimator[T]]
}

type coder[T dense.Float] struct {
	options  Options
	in, out  int
	seed     [2]uint64
	rotation rotation[T]

	step     float32   // the width of a cell of the coordinates of u
	digits   []part    // of a row; one without bands
	bands    *bands    // nil without Learn, whose quantisers have no step
	mean     []float64 // what Learn subtracts, or nil
	spectrum *spectrum

	theory func() codelaw.Moments // the moments of codes, computed once
}

// rotation is a linear map R from R^d into R^d' with RᵀR = I.
type rotation[T dense.Float] interface {
	Apply(dst, x dense.Matrix[T]) dense.Matrix[T]
	ApplyTransposed(dst, y dense.Matrix[T]) dense.Matrix[T]
}

// rotationOf draws a rotation from R^d into R^order. For d < 16 a hadamard.Rotation draws too few
// signs to be nearly uniform, and a product of enough plane rotations is still a small matrix.
func rotationOf[T dense.Float](d, order int, src rand.Source) (rotation[T], error) {
	if d >= 16 {
		return hadamard.NewRotation[T](d, hadamard.RotationOptions{Order: order}, src)
	}
	p, err := givens.RandomProduct[float64](order, 4*order*bits.Len(uint(order)), src)
	if err != nil {
		return nil, err
	}
	return directionsOf[T](p.Matrix().ColRange(0, d)), nil
}

func (q *quantiser[T]) Dims() (in, out int) { return q.in, q.out }

func (q *quantiser[T]) Options() Options { return q.options }

func (q *quantiser[T]) Theory(cosine float64) (mean, variance float64) {
	return q.theory().Cosine(q.out, cosine)
}

func (q *quantiser[T]) sameCodes(r *quantiser[T]) bool {
	return q.coder == r.coder || q.seed == r.seed && q.options == r.options && q.in == r.in
}

func (q *quantiser[T]) equals(r *quantiser[T]) bool {
	return q == r || q.sameCodes(r) && slices.EqualFunc(q.centres, r.centres, func(a, b centre[T]) bool { return slices.Equal(a.vector, b.vector) })
}

// The step is rounded to float32: last digits of functions differ between processors.
func newCoder[T dense.Float](opts Options, d, order int, r rotation[T]) *coder[T] {
	l, cells := opts.layout(order), codelaw.BestUniform(order, 1<<(int(opts.Bits)-1))
	c := &coder[T]{options: opts, in: d, out: order, rotation: r}
	c.step, c.digits = float32(2*cells.Levels[0]), []part{newPart(l.width, l.elements)}
	c.theory = sync.OnceValue(func() codelaw.Moments {
		if opts.Bits > 1 && order < codelaw.CorrectedDimension {
			return codelaw.Moments{Along: 1, AlongSquare: 1, Square: math.NaN()}
		}
		return cells.Corrected(order)
	})
	return c
}
