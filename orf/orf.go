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

// Projection is a set of frequencies W ∈ R^{m×d} that can be applied to points. A Projection never
// changes after construction, and goroutines may share a Projection.
type Projection[T dense.Float] interface {
	// Shape returns the number of frequencies m and the input dimension d.
	Shape() (m, d int)

	// Project writes XWᵀ (n×m) for the rows of x (n×d) into dst and returns dst; a zero dst is
	// allocated. dst must not overlap x. Project panics if a shape does not fit.
	Project(dst, x dense.Matrix[T]) dense.Matrix[T]

	// Frequencies returns W (m×d), a fresh copy.
	Frequencies() dense.Matrix[T]
}

// Drawn is a Projection that knows the law of its frequencies. The projections of this package are
// Drawn. If a Projection of your own has the method Ensemble, laws of estimates are known for maps
// over your Projection.
type Drawn[T dense.Float] interface {
	Projection[T]

	// Ensemble returns the law of the frequencies, or nil if it is not known.
	Ensemble() Ensemble
}

// Transposer is a Projection that also applies its transpose, which takes gradients with respect to
// projections back to gradients with respect to points. The projections of this package are
// Transposers. Maps over other Projections multiply by Frequencies, and keep a copy of m·d numbers.
type Transposer[T dense.Float] interface {
	Projection[T]

	// ProjectTransposed writes ZW (n×d) for the rows of z (n×m) into dst and returns dst; a zero
	// dst is allocated. dst must not overlap z. ProjectTransposed panics if a shape does not fit.
	ProjectTransposed(dst, z dense.Matrix[T]) dense.Matrix[T]
}

// Ensemble is a law of frequencies: IID, GramSchmidt, Simplex, Hadamard, Givens, Halton or Cauchy.
// Their zero values are the usual choice. Ensembles are comparable, and String returns the name
// with the fields that are not zero.
type Ensemble interface {
	fmt.Stringer
	ensemble()
}

// Draw draws m frequencies of R^d from the law e, with randomness from src, which is not kept. The
// result is Drawn, and its Ensemble is e, with the default number of Factors or Rotations filled
// in.
//
// The error reports m < 1, d < 1, sizes too large for memory, a nil src, an e that is nil or a
// pointer, and a field of e that the documentation of its type calls an error.
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

// FromMatrix returns the projection with the m×d frequencies w of your own. FromMatrix keeps two
// copies of w, and a third copy after the first transposed projection. Project is a matrix product,
// O(n·m·d). The result is Drawn, and its Ensemble is nil.
//
// The error reports a w without rows or columns, fields that describe no matrix, and an element
// that is not finite.
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
