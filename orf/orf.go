package orf

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Projection is a set of m frequencies of R^d, the rows of a matrix W, that projects points x to
// Wx. A Projection never changes, and goroutines may share a Projection.
type Projection[T dense.Float] interface {
	// Shape returns the number m of frequencies and the dimension d of the points to project.
	Shape() (m, d int)

	// Project writes x·Wᵀ, for points in the rows of x (n×d) and the m×d matrix W of frequencies,
	// into dst (n×m) and returns dst. Project allocates a zero-value dst, and panics for shapes
	// that do not fit; dst must not overlap x.
	Project(dst, x dense.Matrix[T]) dense.Matrix[T]

	// Frequencies returns a new copy of the m×d matrix whose rows are the m frequencies of R^d.
	Frequencies() dense.Matrix[T]
}

// Drawn is a Projection that reports the probability law of the frequencies, as projections of
// Draw, FromMatrix and Read do. For a Projection of your own, validate.Theory knows the mean and
// variance of kernel estimates only if the Projection has the method Ensemble.
type Drawn[T dense.Float] interface {
	Projection[T]

	// Ensemble returns the probability law of the frequencies, or nil if the law is not known.
	Ensemble() Ensemble
}

// Transposer is a Projection that also multiplies by Wᵀ, which turns gradients with respect to Wx
// into gradients with respect to x. Projections of package orf implement Transposer. For gradients,
// feature maps over a Projection that is no Transposer keep a copy of the matrix of frequencies.
type Transposer[T dense.Float] interface {
	Projection[T]

	// ProjectTransposed writes z·W, for z (n×m) and the m×d matrix W of frequencies, into dst (n×d)
	// and returns dst. ProjectTransposed allocates a zero-value dst, and panics for shapes that do
	// not fit; dst must not overlap z.
	ProjectTransposed(dst, z dense.Matrix[T]) dense.Matrix[T]
}

// Ensemble is a probability law of frequencies: IID, GramSchmidt, Simplex, Hadamard, Givens, Halton
// or Cauchy. Ensembles are comparable with ==, and the zero value of each type, such as
// GramSchmidt{}, is the usual choice. String returns the name of the ensemble and the fields that
// are not zero.
type Ensemble interface {
	fmt.Stringer
	ensemble()
}

// Draw draws m frequencies of R^d from the law e, with random bits from src, and the result does
// not keep src. The result of Draw implements Drawn, whose method Ensemble returns e with the
// defaults of Factors and Rotations filled in.
//
// Draw returns an error for m < 1, d < 1, an e that is a pointer, and a number of Factors or
// Rotations or a dimension d that e does not allow.
func Draw[T dense.Float](e Ensemble, m, d int, src rand.Source) (Projection[T], error) {
	return door.Choose[T, Projection[T]](draw32, draw64, drawing{e, m, d, src})
}

type drawing struct {
	e    Ensemble
	m, d int
	src  rand.Source
}

//go:noinline
func draw32(a any) (any, error) { return draw[float32](a.(drawing)) }

//go:noinline
func draw64(a any) (any, error) { return draw[float64](a.(drawing)) }

func draw[T dense.Float](a drawing) (Projection[T], error) {
	m, d, src := a.m, a.d, a.src
	switch {
	case m < 1:
		return nil, fmt.Errorf("orf: m = %d, want at least 1", m)
	case d < 1:
		return nil, fmt.Errorf("orf: d = %d, want at least 1", d)
	case src == nil:
		return nil, errors.New("orf: src is nil")
	}
	// An order ≥ d exists for every d that memory has room for.
	if err := limit.Memory[float64](m); err != nil {
		return nil, fmt.Errorf("orf: m = %d: %w", m, err)
	}
	if err := limit.Memory[float64](d); err != nil {
		return nil, fmt.Errorf("orf: d = %d: %w", d, err)
	}
	switch e := a.e.(type) {
	case IID:
		return iid[T](e, m, d, src)
	case GramSchmidt:
		return gramSchmidt[T](e, m, d, src)
	case Simplex:
		return simplex[T](e, m, d, src)
	case Hadamard:
		return hadamardProduct[T](e, m, d, src)
	case Givens:
		return givensProduct[T](e, m, d, src)
	case Halton:
		return halton[T](e, m, d, src)
	case Cauchy:
		return cauchy[T](e, m, d, src)
	}
	return nil, fmt.Errorf("orf: e is %T, want an ensemble of this package", a.e)
}

// FromMatrix returns the Projection whose frequencies are the rows of your own m×d matrix w.
// FromMatrix keeps two copies of w, and a third after the first call of ProjectTransposed. Project
// of n points takes O(n·m·d) operations. The result of FromMatrix implements Drawn, whose method
// Ensemble returns nil. FromMatrix returns an error for a w without rows or columns, a stride or
// number of elements that does not fit the shape of w, and an element that is NaN or ±Inf.
func FromMatrix[T dense.Float](w dense.Matrix[T]) (Projection[T], error) {
	if err := checkFrequencies(w); err != nil {
		return nil, err
	}
	return door.Choose[T, Projection[T]](explicit32, explicit64, w.Clone())
}

//go:noinline
func explicit32(w any) (any, error) { return newExplicit(w.(dense.Matrix[float32]), nil), nil }

//go:noinline
func explicit64(w any) (any, error) { return newExplicit(w.(dense.Matrix[float64]), nil), nil }

func checkFrequencies[T dense.Float](w dense.Matrix[T]) error {
	if w.Rows < 1 || w.Cols < 1 {
		return fmt.Errorf("orf: w is %d×%d, want at least 1×1", w.Rows, w.Cols)
	}
	if rest := len(w.Data) - w.Cols; rest < 0 || w.Rows > 1 && (w.Stride < w.Cols || w.Rows-1 > rest/w.Stride) {
		return fmt.Errorf("orf: w has %d elements and stride %d, which is no %d×%d matrix", len(w.Data), w.Stride, w.Rows, w.Cols)
	}
	for i := range w.Rows {
		for j, v := range w.Row(i) {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return fmt.Errorf("orf: w has %v in row %d, column %d, want finite frequencies", v, i, j)
			}
		}
	}
	return nil
}

func describe(name string, fixedLength bool, parameter string, n int) string {
	var fields []string
	if n != 0 {
		fields = append(fields, fmt.Sprintf("%s=%d", parameter, n))
	}
	if fixedLength {
		fields = append(fields, "FixedLength")
	}
	if fields == nil {
		return name
	}
	return fmt.Sprintf("%s(%s)", name, strings.Join(fields, ", "))
}
