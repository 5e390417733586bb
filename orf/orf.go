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
// Wx. A Projection never changes after construction, and goroutines may share a Projection.
type Projection[T dense.Float] interface {
	// Shape returns the number m of frequencies and the dimension d of points.
	Shape() (m, d int)

	// Project writes x·Wᵀ (n×m), for n points in the rows of x (n×d) and the m×d matrix W of
	// frequencies, into dst and returns dst; a zero-value dst is allocated. dst must not overlap x.
	// Project panics unless x has d columns and any other dst is n×m.
	Project(dst, x dense.Matrix[T]) dense.Matrix[T]

	// Frequencies returns a new copy of the m×d matrix W whose rows are the frequencies.
	Frequencies() dense.Matrix[T]
}

// Drawn is a Projection that knows the law of its frequencies. The projections of this package
// implement Drawn. If a Projection of your own has the method Ensemble, the mean and variance of
// estimates are known for feature maps over your Projection.
type Drawn[T dense.Float] interface {
	Projection[T]

	// Ensemble returns the law of the frequencies, or nil if the law is not known.
	Ensemble() Ensemble
}

// Transposer is a Projection to Wx that also multiplies by Wᵀ, which takes gradients with respect
// to projections Wx back to gradients with respect to points x. The projections of this package
// implement Transposer. Feature maps over a Projection that is no Transposer multiply gradients by
// the matrix of Frequencies, of which they keep a copy of m·d numbers.
type Transposer[T dense.Float] interface {
	Projection[T]

	// ProjectTransposed writes z·W (n×d), for z (n×m) and the m×d matrix W of frequencies, into dst
	// and returns dst; a zero-value dst is allocated. dst must not overlap z. ProjectTransposed
	// panics unless z has m columns and any other dst is n×d.
	ProjectTransposed(dst, z dense.Matrix[T]) dense.Matrix[T]
}

// Ensemble is a law of frequencies: IID, GramSchmidt, Simplex, Hadamard, Givens, Halton or Cauchy.
// Zero values of the Ensemble types are the usual choice. Ensembles are comparable with ==, and the
// method String returns the name with the fields that are not zero.
type Ensemble interface {
	fmt.Stringer
	ensemble()
}

// Draw draws m frequencies of R^d from the law e, with randomness from src, which the result does
// not keep. The result of Draw implements Drawn, with the Ensemble e and the defaults of e filled
// in.
//
// The error reports m < 1, d < 1, sizes too large for memory, a nil src, an e that is nil or a
// pointer, and a number of Factors or Rotations or a dimension d that the law e does not allow.
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

// FromMatrix returns the Projection whose frequencies are the rows of your own m×d matrix w. The
// Projection of FromMatrix keeps two copies of w, and a third copy after the first
// ProjectTransposed. Project of the result is a matrix product, O(n·m·d) for n points. The result
// of FromMatrix implements Drawn, with a nil Ensemble.
//
// FromMatrix returns an error for a w without rows or columns, a stride or number of elements that
// does not fit the shape of w, and an element that is not finite.
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

// checkFrequencies reports frequencies that FromMatrix does not accept.
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

// describe returns the name of an ensemble with its fields that are not zero: n, whose name is
// parameter, and FixedLength.
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
