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

// Model is the feature map z onto the first r principal components of features φ(x) ∈ R^D of mean
// φ̄, for the r×D matrix V of components and the standard deviations σ of components:
//
//	z(x) = V(φ(x) − φ̄),  or diag(1/σ)·V(φ(x) − φ̄) with whitening.
//
// A Model never changes, and goroutines may share a Model.
type Model[T dense.Float] struct {
	phi    rff.Map[T]
	source features.Source[T]
	principal
}

type principal struct {
	vectors   dense.Matrix[float64] // V, r×D
	mean      []float64             // φ̄
	variances []float64             // σ²
	total     float64               // variance of all components
	whiten    bool

	scaled dense.Matrix[float64] // V, or diag(1/σ)·V
}

var _ rff.Map[float32] = (*Model[float32])(nil)

// Fit finds the first r principal components of the features that the map phi computes from rows,
// where r is the argument components. Fit reads rows once, uses weights and ignores targets.
//
// Fit returns the errors of ridge.Sum and FromSums. Fit panics if ctx is nil. For n rows and D
// features, Fit takes n transforms by phi, n·D²/2 multiply-adds and the time of FromSums.
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

// FromSums finds the first r principal components of the features φ in sums, where r is the
// argument components: the eigenvectors v_k of the covariance C for n rows with the weights ω, the
// largest variance σ_k² first:
//
//	C = n/(n − 1)·Σω(φ − φ̄)(φ − φ̄)ᵀ/Σω,  Cv_k = σ_k²·v_k,  ‖v_k‖ = 1.
//
// Without weights, the divisor of the covariance of n rows is n − 1. In each component v_k, the
// element of largest absolute value is positive, as with svd_flip of scikit-learn. Components of
// equal variance are unique up to a rotation. If the argument whiten is true, every output of
// Model.Transform has variance 1 over the rows.
//
// For the D×D covariance C, the residuals ‖Cv_k − σ_k²·v_k‖ of components v_k are about D·2⁻⁵²
// times the largest variance σ₁². For D ≥ 200 features and r ≤ D/16 components, FromSums mostly
// takes about ten products of the covariance with r + 8 vectors, and about 10·D³ operations for
// other sizes. FromSums returns an error for fewer than two rows, components outside 1 … min(n, D),
// constant features, and with whiten a component k with σ_k² ≤ 8·D·2⁻⁵²·σ₁².
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

func (m *Model[T]) none() bool { return m == nil || m.phi == nil }

// Dims returns the dimension of points and the number of components, or zeros for a zero Model.
func (m *Model[T]) Dims() (in, out int) {
	if m.none() {
		return 0, 0
	}
	in, _ = m.phi.Dims()
	return in, m.vectors.Rows
}

// Kernel returns nil, because package kernels has no kernel of features minus a mean.
func (m *Model[T]) Kernel() kernels.Kernel { return nil }

// String describes the feature map, the number of components, and whether outputs have variance 1.
func (m *Model[T]) String() string {
	if m.none() {
		return "Components of nothing"
	}
	return fmt.Sprintf("Components(%v, components=%d, whiten=%v)", m.phi, m.vectors.Rows, m.whiten)
}

// Map returns the feature map whose features the Model projects.
func (m *Model[T]) Map() rff.Map[T] { return m.phi }

// ExplainedVariance returns a copy of the variances σ_k² of the components over the n rows of the
// fit, the largest first, with the divisor n − 1. For variances σ_k² of the components over n rows,
// the eigenvalues of the n×n Gram matrix of centred features are (n − 1)·σ_k².
func (m *Model[T]) ExplainedVariance() []float64 { return slices.Clone(m.variances) }

// ExplainedVarianceRatio returns the share of each component in the variance of all features.
func (m *Model[T]) ExplainedVarianceRatio() []float64 {
	ratios := slices.Clone(m.variances)
	for k := range ratios {
		ratios[k] /= m.total
	}
	return ratios
}

// Components returns a copy of the r×D matrix of r components of D features, rows of norm 1.
func (m *Model[T]) Components() dense.Matrix[float64] { return m.vectors.Clone() }

// Mean returns a copy of the mean of the features over the rows of the fit.
func (m *Model[T]) Mean() []float64 { return slices.Clone(m.mean) }

const blockRows = 256

// Transform writes the r principal components of the features of each row of x (n×d) into dst (n×r)
// and returns dst. Transform allocates dst if dst is zero; dst must not overlap x. Transform
// computes features in the type T, and principal components from the features in float64. Transform
// panics if x or dst has a wrong shape, and for the zero Model. For n rows, D features and r
// components, Transform takes n transforms of the map φ and n·D·r multiply-adds.
func (m *Model[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	if m.none() {
		panic("components: the Model is zero, want one of Fit, FromSums or rff.Read")
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

func (p *principal) project(r *features.Design) {
	r.First.Shape(r.Phi.Rows, p.scaled.Rows)
	matmul.MulT(1, r.Phi, p.scaled, 0, r.First.Rows(r.Phi.Rows))
}
