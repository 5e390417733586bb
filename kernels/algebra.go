package kernels

import (
	"fmt"
	"math"
	"strings"
)

// Sum is the kernel Σ_i k_i(x, y) of at least one kernel [Schölkopf & Smola 2002, §13.1].
type Sum []Kernel

// Eval returns Σ_i k_i(x, y) for the kernels k_i of a Sum, and panics if Check fails for the Sum.
func (k Sum) Eval(x, y []float64) float64 {
	must(k.check())
	var s float64
	for _, term := range k {
		s += term.Eval(x, y)
	}
	return s
}

func (k Sum) check() error { return notEmpty("Sum", k) }

// String returns the kernels of a Sum, joined by " + ".
func (k Sum) String() string { return join(k, " + ") }

// Product is the kernel Π_i k_i(x, y) of at least one kernel [Schölkopf & Smola 2002, §13.1].
type Product []Kernel

// Eval returns Π_i k_i(x, y) for the kernels k_i of a Product, and panics if Check fails.
func (k Product) Eval(x, y []float64) float64 {
	must(k.check())
	p := 1.0
	for _, factor := range k {
		p *= factor.Eval(x, y)
	}
	return p
}

func (k Product) check() error { return notEmpty("Product", k) }

// String returns the kernels of a Product, joined by " · ".
func (k Product) String() string { return join(k, " · ") }

// Scaled is the kernel c·K(x, y), where c is the number By.
type Scaled struct {
	K Kernel
	// By is the factor c > 0 in c·K(x, y); a By of zero is out of range.
	By float64
}

// Eval returns By·K(x, y). Eval panics if Check returns an error for the Scaled kernel.
func (k Scaled) Eval(x, y []float64) float64 {
	must(k.check())
	return k.By * k.K.Eval(x, y)
}

func (k Scaled) check() error {
	if k.K == nil {
		return fmt.Errorf("kernels: Scaled.K is nil")
	}
	if !(k.By > 0) || math.IsInf(k.By, 1) {
		return fmt.Errorf("kernels: Scaled.By = %v, want a positive finite number", k.By)
	}
	return nil
}

// String returns the factor By and the kernel K, joined by " · ".
func (k Scaled) String() string { return fmt.Sprintf("%v · %s", k.By, operand(k.K)) }

func notEmpty(name string, ks []Kernel) error {
	if len(ks) == 0 {
		return fmt.Errorf("kernels: %s is empty, want at least one kernel", name)
	}
	for i, k := range ks {
		if k == nil {
			return fmt.Errorf("kernels: %s[%d] is nil", name, i)
		}
	}
	return nil
}

func join(ks []Kernel, by string) string {
	parts := make([]string, len(ks))
	for i, k := range ks {
		parts[i] = operand(k)
	}
	return strings.Join(parts, by)
}

func operand(k Kernel) string {
	switch k.(type) {
	case Sum, Product, Scaled:
		return fmt.Sprintf("(%v)", k)
	}
	return fmt.Sprint(k)
}
