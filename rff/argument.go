package rff

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
)

// positive reports an argument that is not a positive finite number.
func positive(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return fmt.Errorf("rff: %s = %v, want a positive finite number", name, v)
	}
	return nil
}

// inverse returns 1/v in T.
func inverse[T dense.Float](name string, v float64) (T, error) {
	if err := positive(name, v); err != nil {
		return 0, err
	}
	return inRange[T](name, v, 1/v)
}

// root returns √v in T.
func root[T dense.Float](name string, v float64) (T, error) {
	if err := positive(name, v); err != nil {
		return 0, err
	}
	return inRange[T](name, v, math.Sqrt(v))
}

// inRange returns in T the factor that the argument v leads to, unless it
// overflows or underflows there.
func inRange[T dense.Float](name string, v, factor float64) (T, error) {
	f := T(factor)
	if f == 0 || math.IsInf(float64(f), 0) {
		return 0, fmt.Errorf("rff: %s = %v is outside the range of %T", name, v, f)
	}
	return f, nil
}

// atLeastOne reports a dimension below 1.
func atLeastOne(name string, n int) error {
	if n < 1 {
		return fmt.Errorf("rff: %s = %d, want at least 1", name, n)
	}
	return nil
}

// given reports a nil source.
func given(src rand.Source) error {
	if src == nil {
		return fmt.Errorf("rff: src is nil")
	}
	return nil
}
