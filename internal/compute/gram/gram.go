// Package gram gives the rest of the module the Gram matrices of package kernels against fixed
// points. Package kernels fills it in.
package gram

import "github.com/seed-feabd252/randfeat/dense"

// Kernel has the method of kernels.Kernel.
type Kernel interface {
	Eval(x, y []float64) float64
}

// Fixed is a kernel with one side of its Gram matrices prepared: points y that many others are
// compared with, such as landmarks. It never changes, and goroutines may share it.
type Fixed interface {
	// Points returns y, which must not be written.
	Points() dense.Matrix[float64]

	// Gram writes kernels.Gram(k, x, y), with the same bits, for the rows of x (n×d) into dst
	// (n×p) and returns dst; a zero dst is allocated. dst must not overlap x. It allocates nothing
	// once scratch memory for 64 rows a goroutine is there, unless k is or contains a Pullback,
	// Homogeneous or Convolution, which gain nothing from being prepared. It panics if a shape
	// does not fit.
	Gram(dst, x dense.Matrix[float64]) dense.Matrix[float64]
}

// Against prepares the rows of y (p×d), of which it keeps a copy. The error is the error of
// kernels.Check.
var Against func(k Kernel, y dense.Matrix[float64]) (Fixed, error)
