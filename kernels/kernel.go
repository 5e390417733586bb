package kernels

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Kernel is a symmetric function of two points of R^d, which must never change, so that goroutines
// may share a Kernel. Eval panics if x and y differ in length.
type Kernel interface {
	Eval(x, y []float64) float64
}

// Check returns an error for a nil k, and for a parameter of k, or of a kernel inside k such as a
// term of a Sum, that is out of range; the error names the parameter and its value. If Check
// returns an error for a kernel, Gram and Eval panic with the text of the error; Eval of a Pullback
// ignores NaN and ±Inf in fields. For a Kernel type of your own Check returns nil.
func Check(k Kernel) error {
	if k == nil {
		return fmt.Errorf("kernels: k is nil")
	}
	if c, ok := k.(interface{ check() error }); ok {
		if err := c.check(); err != nil {
			return err
		}
	}
	for _, part := range parts(k) {
		if err := Check(part); err != nil {
			return err
		}
	}
	return nil
}

func parts(k Kernel) []Kernel {
	switch k := k.(type) {
	case Sum:
		return k
	case Product:
		return k
	case Scaled:
		return []Kernel{k.K}
	case Pullback:
		return []Kernel{k.K}
	}
	return nil
}

func must(err error) {
	if err != nil {
		panic(err.Error())
	}
}

func positive(name string, v float64) error {
	if v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return fmt.Errorf("kernels: %s = %v, want a positive finite number, or 0 for 1", name, v)
	}
	return nil
}

func orOne(v float64) float64 {
	return cmp.Or(v, 1)
}

func checkLengths(x, y []float64) {
	if len(x) != len(y) {
		panic(fmt.Sprintf("kernels: x has length %d, y has length %d", len(x), len(y)))
	}
}

func finite(x, y []float64) bool {
	bad := func(v float64) bool { return math.IsNaN(v - v) }
	return !slices.ContainsFunc(x, bad) && !slices.ContainsFunc(y, bad)
}
