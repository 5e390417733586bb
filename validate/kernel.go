package validate

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
)

// CheckKernel checks whether k is finite, symmetric and positive semi-definite on the n rows of x
// (n×d), and returns the Spectrum of the Gram matrix. An error that names points, and the verdict
// Indefinite, prove that k is not a kernel: with Spectrum.Witness c, Σ_ij c_i·c_j·k(x_i, x_j) < 0.
// Another verdict proves nothing about points outside x, so choose x like the points of your
// application.
//
// CheckKernel evaluates k in float64 at all n² ordered pairs of points, from several goroutines at
// once, and takes O(n³) time for eigenvalues. CheckKernel lets k(x, y) and k(y, x) differ by
// (d+8)·ε·max|k|, and counts eigenvalues λ ≥ −n·ε·max|λ| as not negative, with ε = 2⁻⁵².
// CheckKernel returns an error for a k that is nil or that kernels.Check rejects, no points, a
// value of k that is NaN or infinite, values k(x, y) and k(y, x) that differ by more than rounding,
// and eigenvalues that do not converge.
func CheckKernel[T dense.Float](k kernels.Kernel, x dense.Matrix[T]) (Spectrum, error) {
	if k == nil {
		return Spectrum{}, errors.New("validate: k is nil")
	}
	if err := kernels.Check(k); err != nil {
		return Spectrum{}, err
	}
	x.Check()
	n := x.Rows
	if n == 0 {
		return Spectrum{}, errors.New("validate: x has no rows, want at least 1 point")
	}
	if err := limit.Memory[float64](n, n); err != nil {
		return Spectrum{}, fmt.Errorf("validate: x is %d×%d, for %d×%d values of k: %w", n, x.Cols, n, n, err)
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
	for i := range n {
		for j, v := range gram.Row(i) {
			if !isFinite(v) {
				return Spectrum{}, fmt.Errorf("validate: not a kernel: k(x%d, x%d) = %v", i, j, v)
			}
		}
	}
	a, err := CheckSymmetric(gram)
	if err != nil {
		return Spectrum{}, err
	}
	const eps = 0x1p-52
	sym, largest := symmetricPart(gram)
	if a.Difference > float64(x.Cols+8)*eps*largest {
		return Spectrum{}, fmt.Errorf("validate: not a kernel: k(x%d, x%d) = %g but k(x%d, x%d) = %g", a.I, a.J, a.Upper, a.J, a.I, a.Lower)
	}
	return spectrum(sym, float64(n)*eps)
}
