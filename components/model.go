package components

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Model is the feature map of the first r principal components of features φ,
//
//	z(x) = V(φ(x) − φ̄),  or diag(1/σ)·V(φ(x) − φ̄) if it whitens.
//
// It never changes, and goroutines may share it. It is a map as any other: of ridge.Fit,
// kmeans.Cluster by its Transform, rff.Write.
type Model[T dense.Float] struct {
	phi    rff.Map[T]
	source features.Source[T]
	principal
}

// principal is what a Model knows beside φ.
type principal struct {
	vectors   dense.Matrix[float64] // V, r×D
	mean      []float64             // φ̄
	variances []float64             // σ²
	total     float64               // variance of all components
	whiten    bool

	scaled dense.Matrix[float64] // V, or diag(1/σ)·V
}

var _ rff.Map[float32] = (*Model[float32])(nil)

// Fit finds the first r = components principal components of the features phi of rows, which are
// read once. Their targets are not looked at; their weights count.
//
// An error reports what ridge.Sum and FromSums report. A nil ctx panics. Cost: that of ridge.Sum, n
// transforms and n·D²/2 multiply-adds, and of FromSums.
func Fit[T dense.Float](ctx context.Context, phi rff.Map[T], rows ridge.Rows[T], components int, whiten bool) (*Model[T], error) {
	if err := argument.Context("components", ctx); err != nil {
		return nil, err
	}
	if rows != nil {
		rows = pointsOf[T]{rows}
	}
	sums, err := ridge.Sum(ctx, phi, rows)
	if err != nil {
		return nil, fmt.Errorf("components: %w", err)
	}
	return FromSums(ctx, sums, components, whiten)
}

// pointsOf are rows without their targets.
type pointsOf[T dense.Float] struct{ rows ridge.Rows[T] }

func (p pointsOf[T]) Blocks() iter.Seq2[ridge.Block[T], error] {
	return func(yield func(ridge.Block[T], error) bool) {
		for b, err := range p.rows.Blocks() {
			b.Y = dense.Matrix[T]{}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// FromSums finds the first r = components principal components of the features of sums, of which merged
// ones are as good: the eigenvectors v_k of the covariance, the largest variance σ_k² first,
//
//	C = n/(n − 1)·Σω(φ − φ̄)(φ − φ̄)ᵀ/Σω,  Cv_k = σ_k²·v_k,  ‖v_k‖ = 1.
//
// Without weights the divisor is n − 1. The unit of weights does not count. Each v_k has its
// element of largest absolute value positive, as svd_flip of scikit-learn has for components.
// Components of equal variance are unique up to a rotation. With whiten z has variance 1.
//
// Pairs have residuals ‖Cv − σ²v‖ of some D·2⁻⁵²·σ₁². For D ≥ 200 and r ≤ D/16 they come from a
// block Krylov space, by some ten products of C with r + 8 vectors; this begins with random vectors
// of a fixed seed. For a larger r, or if the space does not suffice, all eigenvectors are computed
// by gonum, some 10·D³ operations.
//
// An error reports nil sums, fewer than two rows, components outside 1 … min(n, D), sums that are
// not finite, features that do not vary, eigenvalues that did not converge, the end of ctx, and
// with whiten a component whose variance is zero to rounding, σ_k² ≤ 8·D·2⁻⁵²·σ₁². ctx is looked at
// between products of matrices. FromSums does not wait for the end of gonum's decomposition, which goes on
// alone until it is done. A nil ctx panics.
func FromSums[T dense.Float](ctx context.Context, sums *ridge.Sums[T], components int, whiten bool) (*Model[T], error) {
	if err := argument.Context("components", ctx); err != nil {
		return nil, err
	}
	if sums == nil || sums.Map() == nil {
		return nil, errors.New("components: sums is nil or zero, want those of ridge.NewSums or ridge.Sum")
	}
	weight, mean, scatter := sums.Features()
	p, err := newPrincipal(ctx, sums.Rows(), weight, mean, scatter, components, whiten)
	if err != nil {
		return nil, err
	}
	return &Model[T]{sums.Map(), features.New(sums.Map()), *p}, nil
}

// newPrincipal returns the components of n rows with the given sums.
func newPrincipal(ctx context.Context, n int, weight float64, mean []float64, scatter dense.Matrix[float64], components int, whiten bool) (*principal, error) {
	width := len(mean)
	if n < 2 {
		return nil, fmt.Errorf("components: %d rows with a weight above 0, want at least 2", n)
	}
	if components < 1 || components > min(n, width) {
		return nil, fmt.Errorf("components: components = %d, want 1 to %d for %d features of %d rows", components, min(n, width), width, n)
	}
	if err := argument.FiniteAll("components: mean of features", mean); err != nil {
		return nil, err
	}
	c, e, err := symmetric(scatter)
	if err != nil {
		return nil, err
	}
	total := 0.0
	for i := range width {
		total += c.At(i, i)
	}
	values, vectors, err := leading(ctx, c, components)
	if err != nil {
		return nil, err
	}
	share := float64(n) / float64(n-1) / weight
	p := &principal{vectors: vectors, mean: mean, total: math.Ldexp(total*share, e), whiten: whiten}
	for k, v := range values {
		if whiten && !(v > 8*float64(width)*unit*values[0]) {
			return nil, fmt.Errorf("components: component %d has the variance %.3g, zero to rounding, and cannot be whitened: want at most %d components",
				k, math.Ldexp(v*share, e), k)
		}
		p.variances = append(p.variances, math.Ldexp(v*share, e))
	}
	return p, p.prepare()
}

// prepare makes scaled.
func (p *principal) prepare() error {
	p.scaled = p.vectors
	if !p.whiten {
		return nil
	}
	p.scaled = p.vectors.Clone()
	for k, v := range p.variances {
		scale := 1 / math.Sqrt(v)
		if !(scale > 0) || math.IsInf(scale, 0) {
			return fmt.Errorf("components: component %d has the variance %.3g and cannot be whitened: scale the features", k, v)
		}
		row := p.scaled.Row(k)
		for j := range row {
			row[j] *= scale
		}
	}
	return nil
}

// none reports whether m is nil or zero.
func (m *Model[T]) none() bool { return m == nil || m.phi == nil }

// Dims returns the dimension d of points and the number r of components; 0 and 0 for a nil or zero
// Model.
func (m *Model[T]) Dims() (in, out int) {
	if m.none() {
		return 0, 0
	}
	in, _ = m.phi.Dims()
	return in, m.vectors.Rows
}

// Kernel returns nil: kernels of package kernels have no centre among rows.
func (m *Model[T]) Kernel() kernels.Kernel { return nil }

// Fitted returns "principal components".
func (m *Model[T]) Fitted() string { return "principal components" }

// String says what z is made of.
func (m *Model[T]) String() string {
	if m.none() {
		return "Components of nothing"
	}
	return fmt.Sprintf("Components(%v, components=%d, whiten=%v)", m.phi, m.vectors.Rows, m.whiten)
}

// Map returns φ.
func (m *Model[T]) Map() rff.Map[T] { return m.phi }

// ExplainedVariance returns σ_k², the variances of the components, the largest first, with the
// divisor n − 1. The eigenvalues of the centred n×n Gram matrix, the eigenvalues_ of scikit-learn's
// KernelPCA, are (n − 1)·σ_k². The slice is the caller's.
func (m *Model[T]) ExplainedVariance() []float64 { return slices.Clone(m.variances) }

// ExplainedVarianceRatio returns the shares of the components in the variance of all D components.
// The slice is the caller's.
func (m *Model[T]) ExplainedVarianceRatio() []float64 {
	ratios := slices.Clone(m.variances)
	for k := range ratios {
		ratios[k] /= m.total
	}
	return ratios
}

// Components returns V, r×D: row k is the unit vector v_k. The matrix is the caller's.
func (m *Model[T]) Components() dense.Matrix[float64] { return m.vectors.Clone() }

// Mean returns φ̄. The slice is the caller's.
func (m *Model[T]) Mean() []float64 { return slices.Clone(m.mean) }

// blockRows is the number of rows of a block.
const blockRows = 256

// Transform writes z of every row of x (n×d) into dst (n×r) and returns it; a zero dst is
// allocated. dst must not overlap x. Features are numbers of T, the rest is float64, whose results
// are rounded to T. Transform panics if a shape does not fit, and for the zero Model. Cost: n
// transforms and n·D·r multiply-adds.
func (m *Model[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	if m.none() {
		panic("components: the Model is zero, want one of Fit, FromSums or Read")
	}
	in, r := m.Dims()
	x.Check()
	if x.Cols != in {
		panic(fmt.Sprintf("components: x is %d×%d, want %d×%d", x.Rows, x.Cols, x.Rows, in))
	}
	dst = dense.Ensure(dst, x.Rows, r)
	m.source.Each(blockRows, m.mean, x, dense.Matrix[T]{}, nil, dst, dense.Matrix[T]{}, m.project)
	return dst
}

// project leaves z in r.
func (p *principal) project(r *features.Rows) {
	r.First.Shape(r.Phi.Rows, p.scaled.Rows)
	matmul.MulT(1, r.Phi, p.scaled, 0, r.First.Rows(r.Phi.Rows))
}
