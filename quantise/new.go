package quantise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

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
	return newDrawn[T](h)
}

// UnmarshalQuantiser returns the quantiser that MarshalBinary has written to data. It returns an
// error if the bytes are damaged, of another version or not a quantiser, if the quantiser has
// rotations of the caller, and the errors of New and WithCentres.
func UnmarshalQuantiser[T dense.Float](data []byte) (Quantiser[T], error) {
	h, err := headerOf(data)
	if err != nil {
		return nil, err
	}
	return newDrawn[T](h)
}

// NewRotated returns a quantiser with rotations of the caller, such as dense ones: Bits rotations
// for QJL and one for other schemes.
//
// NewRotated returns an error if an option is invalid, if the number of rotations is wrong, if a
// rotation is nil or a nil pointer, if rotations differ in d or d', or unless 1 ≤ d ≤ d' and d' ≥
// 4.
func NewRotated[T dense.Float](opts Options, rotations ...Rotation[T]) (Quantiser[T], error) {
	return door.Choose[T, Quantiser[T]](newRotated32, newRotated64, rotatedArguments[T]{opts, rotations})
}

// rotatedArguments has the arguments of NewRotated.
type rotatedArguments[T dense.Float] struct {
	opts      Options
	rotations []Rotation[T]
}

//go:noinline
func newRotated32(a any) (any, error) { return newQuantiser(a.(rotatedArguments[float32])) }

//go:noinline
func newRotated64(a any) (any, error) { return newQuantiser(a.(rotatedArguments[float64])) }

// newDrawn returns the quantiser of a valid header.
func newDrawn[T dense.Float](h header) (Quantiser[T], error) {
	return door.Choose[T, Quantiser[T]](newDrawn32, newDrawn64, h)
}

//go:noinline
func newDrawn32(h any) (any, error) { return draw[float32](h.(header)) }

//go:noinline
func newDrawn64(h any) (any, error) { return draw[float64](h.(header)) }

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
	q, err := newQuantiser(rotatedArguments[T]{h.options, rotations})
	if err != nil {
		return nil, err
	}
	q.seed, q.drawn = h.seed, true
	if h.centres == 0 {
		return q, nil
	}
	return q.WithCentres(vectorsOf[T](h))
}

func newQuantiser[T dense.Float](a rotatedArguments[T]) (*quantiser[T], error) {
	opts, err := a.opts.check()
	if err != nil {
		return nil, err
	}
	rotations := a.rotations
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
	q.layout = opts.layout(q.out, 0)
	q.setLevels()
	if q.signWords > 0 {
		if q.signs, err = newQuantiser(rotatedArguments[T]{Options{Bits: 1}, rotations}); err != nil {
			return nil, err
		}
	}
	return q, nil
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
	if q.options.Scheme == LloydMax && n > 1 {
		q.setTable()
	}
	q.edges, q.levels = make([]float32, n), make([]float32, 2*n)
	for j, v := range q.cells.Levels {
		q.edges[j] = float32(q.cells.Edges[j])
		level := float32(v / float64(len(q.rotations)))
		if q.options.Scheme == RaBitQ {
			level = float32(2*j + 1) // estimates divide by sᵀu
		}
		q.levels[n+j], q.levels[n-1-j] = level, -level
	}
	if q.table == nil {
		q.unit = float64(q.levels[n])
		q.places = scan.ListedPlaces(q.elements, q.words, q.width)
	}
	if q.options.Scheme == LloydMax && n > 1 {
		q.starts = startsOf(q.edges)
	}
}

// setTable rounds the levels of LloydMax to odd multiples of a unit, of which the largest is nearly
// 2¹⁶. The rounding adds up to 4e-5 of the variance of an estimate. The unit has 8 binary digits, so
// that float32 represents all multiples.
func (q *quantiser[T]) setTable() {
	levels := q.cells.Levels
	n := len(levels)
	fraction, exponent := math.Frexp(levels[n-1] / math.MaxUint16)
	q.unit = math.Ldexp(math.Ceil(fraction*256), exponent-8)
	multiples := make([]int, 2*n)
	for j, v := range levels {
		multiple := 2*int(v/q.unit/2) + 1
		levels[j], multiples[n+j], multiples[n-1-j] = float64(multiple)*q.unit, multiple, -multiple
	}
	q.table = scan.NewTable(multiples)
}
