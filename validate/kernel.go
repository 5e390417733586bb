package validate

import (
	"errors"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Fault names the first property of a kernel (finite, symmetric, positive semi-definite) that a
// function lacks. Fault is zero if CheckKernel returned an error.
type Fault int

const (
	NoFault Fault = iota + 1
	NotFinite
	// NotSymmetric: k(x, y) and k(y, x) differ by more than rounding.
	NotSymmetric
	NotPositive
)

// KernelCheck is the result of CheckKernel for a function k on n points.
type KernelCheck struct {
	// Fault is NoFault, the first property of a kernel that k lacks, or 0 after an error of
	// CheckKernel.
	Fault Fault
	// I and J are the indices of points at which k(x_I, x_J) is not finite or not k(x_J, x_I), and
	// Value is k(x_I, x_J). I, J and Value are zero unless Fault is NotFinite or NotSymmetric.
	I, J  int
	Value float64
	// Asymmetry holds the largest difference between k(x_i, x_j) and k(x_j, x_i) over all pairs of
	// points. Differences of at most SymmetryTolerance between k(x_i, x_j) and k(x_j, x_i) count as
	// rounding. Asymmetry and SymmetryTolerance are zero if Fault is NotFinite.
	Asymmetry         Asymmetry
	SymmetryTolerance float64
	// Spectrum holds the eigenvalues of the Gram matrix of the function k on the points. If Fault
	// is NotPositive, Spectrum.Witness is a vector c with Σ_ij c_i·c_j·k(x_i, x_j) < 0. Spectrum is
	// the zero value if Fault is NotFinite or NotSymmetric.
	Spectrum Spectrum
}

// OK reports whether Fault is NoFault.
func (c KernelCheck) OK() bool { return c.Fault == NoFault }

// String says in words whether the function k is a kernel on the points, and if not, why.
func (c KernelCheck) String() string {
	switch c.Fault {
	case NotFinite:
		return fmt.Sprintf("not a kernel: k(x%d, x%d) = %v", c.I, c.J, c.Value)
	case NotSymmetric:
		return fmt.Sprintf("not a kernel: k(x%d, x%d) = %g but k(x%d, x%d) = %g",
			c.I, c.J, c.Asymmetry.Upper, c.J, c.I, c.Asymmetry.Lower)
	case NotPositive:
		return fmt.Sprintf("not a kernel: the Gram matrix is %v", c.Spectrum)
	case NoFault:
		return fmt.Sprintf("a kernel on these points: the Gram matrix is %v", c.Spectrum)
	}
	return "not known to be a kernel"
}

// CheckKernel checks whether k is finite, symmetric and positive semi-definite on the n rows of x
// (n×d). A fault in the result of CheckKernel is a proof that k is not a kernel. A result without a
// fault proves nothing about points outside x, so choose x like the points of your application.
//
// CheckKernel evaluates k in float64 at all n² ordered pairs of points, from several goroutines at
// once, and takes O(n³) time for eigenvalues. CheckKernel lets k(x, y) and k(y, x) differ by
// (d+8)·ε·max|k|, and counts eigenvalues λ ≥ −n·ε·max|λ| as not negative, with ε = 2⁻⁵².
// CheckKernel returns an error for a k that is nil or that kernels.Check rejects, no points, and
// eigenvalues that do not converge.
func CheckKernel[T dense.Float](k kernels.Kernel, x dense.Matrix[T]) (KernelCheck, error) {
	if k == nil {
		return KernelCheck{}, errors.New("validate: k is nil")
	}
	if err := kernels.Check(k); err != nil {
		return KernelCheck{}, err
	}
	x.Check()
	n := x.Rows
	if n == 0 {
		return KernelCheck{}, errors.New("validate: x has no rows, want at least 1 point")
	}
	if err := limit.Memory[float64](n, n); err != nil {
		return KernelCheck{}, fmt.Errorf("validate: x is %d×%d, for %d×%d values of k: %w", n, x.Cols, n, n, err)
	}
	// kernels.Gram would hide a difference: it computes only one of k(x, y) and k(y, x).
	points := dense.Copy(dense.Matrix[float64]{}, x)
	gram := dense.New[float64](n, n)
	parallel.Rows(n, 16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := gram.Row(i)
			for j := range row {
				row[j] = k.Eval(points.Row(i), points.Row(j))
			}
		}
	})
	return checkGram(gram, x.Cols)
}

func checkGram(gram dense.Matrix[float64], d int) (KernelCheck, error) {
	var largest float64
	for i := range gram.Rows {
		for j, v := range gram.Row(i) {
			if !isFinite(v) {
				return KernelCheck{Fault: NotFinite, I: i, J: j, Value: v}, nil
			}
			largest = math.Max(largest, math.Abs(v))
		}
	}
	asymmetry, err := CheckSymmetric(gram)
	if err != nil {
		return KernelCheck{}, err
	}
	c := KernelCheck{Asymmetry: asymmetry, SymmetryTolerance: float64(d+8) * 2 * vecmath.Roundoff[float64]() * largest}
	if asymmetry.Difference > c.SymmetryTolerance {
		c.Fault, c.I, c.J, c.Value = NotSymmetric, asymmetry.I, asymmetry.J, asymmetry.Upper
		return c, nil
	}
	sym, _ := symmetricPart(gram)
	c.Spectrum, err = spectrum(sym, float64(gram.Rows)*2*vecmath.Roundoff[float64]())
	if err != nil {
		return KernelCheck{}, err
	}
	c.Fault = NoFault
	if c.Spectrum.Verdict == Indefinite {
		c.Fault = NotPositive
	}
	return c, nil
}
