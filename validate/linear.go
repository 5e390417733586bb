package validate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// The equations of linear functions.
const (
	additivity  = "f(x + y) = f(x) + f(y)"
	homogeneity = "f(c·x) = c·f(x)"
)

// Linearity is the result of CheckLinear, with a counterexample if there is one.
type Linearity[T dense.Float] struct {
	// Trials is the number of random trials. Trials is 0 with an error.
	Trials int
	// Broken is the equation that fails, f(x + y) = f(x) + f(y) or f(c·x) = c·f(x), or "". The
	// fields below describe the counterexample. They are zero if no equation fails.
	Broken string
	X, Y   []T // Y is nil for the second equation
	C      T   // 0 for the first equation
	// Left and Right are the two sides of the equation. Left and Right differ in coordinate Index
	// by Difference, which is more than Tolerance, the bound of rounding errors.
	Left, Right []T
	Index       int
	Difference  float64
	Tolerance   float64
}

// OK reports whether trials were made and no counterexample was found.
func (l Linearity[T]) OK() bool { return l.Broken == "" && l.Trials > 0 }

// String returns the finding in words.
func (l Linearity[T]) String() string {
	switch {
	case l.OK():
		return fmt.Sprintf("linear in %d trials", l.Trials)
	case l.Broken == "":
		return "not known to be linear"
	}
	at := fmt.Sprintf("x = %v", l.X)
	if l.Broken == additivity {
		at += fmt.Sprintf(", y = %v", l.Y)
	} else {
		at += fmt.Sprintf(", c = %v", l.C)
	}
	if i := l.Index; i < 0 || i >= len(l.Left) || i >= len(l.Right) {
		return fmt.Sprintf("not linear: %s fails at %s", l.Broken, at)
	}
	return fmt.Sprintf("not linear: %s fails at %s: coordinate %d is %v on the left and %v on the right",
		l.Broken, at, l.Index, l.Left[l.Index], l.Right[l.Index])
}

// CheckLinear searches for a counterexample to the linearity of f: R^d → R^r. f maps the rows of x
// (n×d) to the rows of dst (n×r), as Transform of a map and Project of a projection do, and
// allocates a zero dst. Each trial draws normal x, y and c from src and checks f(x+y) = f(x) + f(y)
// and f(c·x) = c·f(x). The standard deviation of x and y is 1, 2⁻¹⁰ and 2¹⁰ in turn, so that small
// offsets and saturation show. The sides may differ by 8·(d+8)·ε times the sum of the norms in the
// equation, with the ε of T. The tolerance bounds the rounding error of any product with a matrix.
//
// CheckLinear calls f from one goroutine with a new row. A value that is NaN or infinite breaks
// linearity. CheckLinear returns an error for a nil f or src, d or trials below 1, d too large for
// memory, trials above 2⁴⁰, and an f that returns rows of different lengths or more or fewer rows
// than one.
func CheckLinear[T dense.Float](f func(dst, x dense.Matrix[T]) dense.Matrix[T], d, trials int, src rand.Source) (Linearity[T], error) {
	switch {
	case f == nil:
		return Linearity[T]{}, errors.New("validate: f is nil")
	case d < 1:
		return Linearity[T]{}, fmt.Errorf("validate: d = %d, want at least 1", d)
	case trials < 1:
		return Linearity[T]{}, fmt.Errorf("validate: trials = %d, want at least 1", trials)
	case trials > limit.Repeats:
		return Linearity[T]{}, fmt.Errorf("validate: trials = %d, want at most %d", trials, limit.Repeats)
	case src == nil:
		return Linearity[T]{}, errors.New("validate: src is nil")
	}
	if err := limit.Memory[T](d); err != nil {
		return Linearity[T]{}, fmt.Errorf("validate: d = %d: %w", d, err)
	}
	rows := 1
	apply := func(x []T) []T {
		y := f(dense.Matrix[T]{}, dense.Of(1, d, slices.Clone(x)))
		if y.Rows != 1 {
			rows = y.Rows
			return nil
		}
		return slices.Clone(y.Row(0))
	}
	rng := rand.New(src)
	scales := [...]float64{1, 0x1p-10, 0x1p10}
	for trial := range trials {
		x, y, sum, multiple := make([]T, d), make([]T, d), make([]T, d), make([]T, d)
		c := T(rng.NormFloat64())
		for i := range d {
			x[i] = T(scales[trial%3] * rng.NormFloat64())
			y[i] = T(scales[trial%3] * rng.NormFloat64())
			sum[i], multiple[i] = x[i]+y[i], c*x[i]
		}
		fx, fy, fsum, fmultiple := apply(x), apply(y), apply(sum), apply(multiple)
		if rows != 1 {
			return Linearity[T]{}, fmt.Errorf("validate: f returns %d rows for 1", rows)
		}
		if len(fy) != len(fx) || len(fsum) != len(fx) || len(fmultiple) != len(fx) {
			return Linearity[T]{}, fmt.Errorf("validate: f returns %d, %d, %d and %d coordinates, want the same number",
				len(fx), len(fy), len(fsum), len(fmultiple))
		}
		add, scale := make([]T, len(fx)), make([]T, len(fx))
		for i := range fx {
			add[i], scale[i] = fx[i]+fy[i], c*fx[i]
		}
		relative := 8 * float64(d+8) * epsilon[T]()
		l := Linearity[T]{Trials: trial + 1, Broken: additivity, X: x, Y: y, Left: fsum, Right: add}
		if l.differs(relative * (norm(fx) + norm(fy) + norm(fsum))) {
			return l, nil
		}
		l = Linearity[T]{Trials: trial + 1, Broken: homogeneity, X: x, C: c, Left: fmultiple, Right: scale}
		if l.differs(relative * (math.Abs(float64(c))*norm(fx) + norm(fmultiple))) {
			return l, nil
		}
	}
	return Linearity[T]{Trials: trials}, nil
}

// differs sets Index to the first coordinate in which the sides differ by more than tolerance, and
// reports whether there is one. NaN or infinite values make the tolerance NaN or infinite. Then
// every coordinate differs.
func (l *Linearity[T]) differs(tolerance float64) bool {
	for i, v := range l.Left {
		diff := math.Abs(float64(v) - float64(l.Right[i]))
		if !(diff <= tolerance) || math.IsInf(tolerance, 1) {
			l.Index, l.Difference, l.Tolerance = i, diff, tolerance
			return true
		}
	}
	return false
}

// norm returns the Euclidean norm.
func norm[T dense.Float](x []T) float64 {
	v := make([]float64, len(x))
	for i := range x {
		v[i] = float64(x[i])
	}
	return floats.Norm(v, 2)
}
