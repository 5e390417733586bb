package rff

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/orf"
)

func positive(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return fmt.Errorf("rff: %s = %v, want a positive finite number", name, v)
	}
	return nil
}

func inverse[T dense.Float](name string, v float64) (T, error) {
	if err := positive(name, v); err != nil {
		return 0, err
	}
	return inRange[T](name, v, 1/v)
}

func root[T dense.Float](name string, v float64) (T, error) {
	if err := positive(name, v); err != nil {
		return 0, err
	}
	return inRange[T](name, v, math.Sqrt(v))
}

func inRange[T dense.Float](name string, v, factor float64) (T, error) {
	f := T(factor)
	if f == 0 || math.IsInf(float64(f), 0) {
		return 0, fmt.Errorf("rff: %s = %v is outside the range of %T", name, v, f)
	}
	return f, nil
}

func size[T dense.Float](name string, n int) error {
	if n < 1 {
		return fmt.Errorf("rff: %s = %d, want at least 1", name, n)
	}
	if err := limit.Memory[T](n); err != nil {
		return fmt.Errorf("rff: %s = %d: %w", name, n, err)
	}
	return nil
}

func each[T dense.Float](name string, x []T, n int) error {
	if len(x) != n {
		return fmt.Errorf("rff: %d %s, want %d", len(x), name, n)
	}
	return argument.FiniteAll("rff: "+name, x)
}

func square(name string, m dense.Matrix[float64], d int) error {
	if m.Rows != d || m.Cols != d {
		return fmt.Errorf("rff: %s is %d×%d, want %d×%d", name, m.Rows, m.Cols, d, d)
	}
	return argument.Finite("rff: "+name, m)
}

// frequenciesOf limits W, because structured frequencies take less memory than their matrix.
func frequenciesOf[T dense.Float](w orf.Projection[T]) (dense.Matrix[T], error) {
	m, d := w.Shape()
	if err := limit.Memory[T](m, d); err != nil {
		return dense.Matrix[T]{}, fmt.Errorf("rff: the frequencies of w as a matrix, %d×%d: %w", m, d, err)
	}
	return w.Frequencies(), nil
}

func checkPoints[T dense.Float](x dense.Matrix[T], in int) {
	x.Check()
	if x.Cols != in {
		panic(fmt.Sprintf("rff: x is %d×%d, want %d×%d", x.Rows, x.Cols, x.Rows, in))
	}
}

func checkGradient[T dense.Float](name string, x, g dense.Matrix[T], in, out int) {
	checkPoints(x, in)
	g.Check()
	if g.Rows != x.Rows || g.Cols != out {
		panic(fmt.Sprintf("rff: %s is %d×%d, want %d×%d", name, g.Rows, g.Cols, x.Rows, out))
	}
}

func scratchMatrix[T dense.Float](s *[]T, r, c int) dense.Matrix[T] {
	if len(*s) < r*c {
		*s = make([]T, r*c)
	}
	return dense.Of(r, c, (*s)[:r*c])
}
