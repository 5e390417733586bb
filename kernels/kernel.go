package kernels

// Kernel is a symmetric function of two points of R^d. Eval panics if x and y
// differ in length. Implementations never change and may be shared.
type Kernel interface {
	Eval(x, y []float64) float64
}
