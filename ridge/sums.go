package ridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/compute/fingerprint"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/rff"
)

// Sums are the sums over rows for ridge regression. For the features φ_i of the point x_i, the
// targets y_i ∈ R^p, the weights ω_i (1 by default), and the weighted means φ̄ and ȳ, the sums are
//
//	n,  Σω_i,  Σ log ω_i,  φ̄,  ȳ,  Σω_i·(y_ij − ȳ_j)²,
//	Σω_i·(φ_i − φ̄)(y_i − ȳ)ᵀ,  Σω_i·(φ_i − φ̄)(φ_i − φ̄)ᵀ (one triangle).
//
// For D features and p targets, Sums take D²/2 + D·p numbers of float64 for any number of rows, and
// Merge adds Sums [Chan et al. 1983]. Sums are float64 for both element types, with products about
// the mean of each block of rows, so that a large mean costs no accuracy. The order and the
// grouping of n rows change Sums by rounding only, at most (272 + n/4080)·2⁻⁵³ times the sum of the
// absolute values of the terms about the means. A Sums belongs to one goroutine.
type Sums[T dense.Float] struct {
	phi    rff.Map[T]
	source features.Source[T]
	d      int // dimension of points
	moments

	prints *fingerprint.Print
	adder  adder
}

// NewSums returns Sums without rows, for the features of the map phi and the number outputs of
// targets per row, or 0 for package components; Sums.Fit needs at least one output. NewSums returns
// an error for outputs below 0.
func NewSums[T dense.Float](phi rff.Map[T], outputs int) (*Sums[T], error) {
	s, err := newSums(phi, outputs)
	if err != nil {
		return nil, err
	}
	width := len(s.mean)
	if err := limit.Memory[float64](width, width/2+tile); err != nil {
		return nil, fmt.Errorf("ridge: sums of %d features: %w", width, err)
	}
	s.square = newTriangle[float64](width)
	return s, nil
}

func newSums[T dense.Float](phi rff.Map[T], outputs int) (*Sums[T], error) {
	if phi == nil {
		return nil, errNoMap
	}
	d, width := phi.Dims()
	if d < 1 || width < 1 {
		return nil, fmt.Errorf("ridge: phi maps R^%d to R^%d, want at least 1 and 1", d, width)
	}
	if outputs < 0 {
		return nil, fmt.Errorf("ridge: outputs = %d, want at least 0", outputs)
	}
	if err := limit.Memory[float64](width, max(outputs, 1)); err != nil {
		return nil, fmt.Errorf("ridge: sums of %d features and %d outputs: %w", width, outputs, err)
	}
	return &Sums[T]{
		phi: phi, source: features.New(phi), d: d, moments: newMoments(width, outputs), prints: new(fingerprint.Print),
	}, nil
}

// Rows returns the number of rows with a weight above 0 in the sums.
func (s *Sums[T]) Rows() int { return s.n }

// Scale multiplies the number of rows that each row stands for, at first 1, by factor: after
// Scale(3) every row counts as three rows. With γ < 1, Scale(γ) before each Add makes the Sums
// forget: a row that k calls of Scale have followed counts γᵏ times in the number of rows, sums,
// evidence and noise, and needs γᵏ times its weight in LeaveOneOut. Before Merge, call Scale(γᵏ) on
// Sums that lag k calls of Scale(γ) behind. Scale returns an error and keeps the Sums if factor is
// not positive and finite, or if the number of rows or the weights would become 0 or infinite.
func (s *Sums[T]) Scale(factor float64) error {
	if !(factor > 0) || math.IsInf(factor, 0) {
		return fmt.Errorf("ridge: factor = %v, want a positive number", factor)
	}
	rows, weight := factor*s.rows, factor*s.weight
	if s.n > 0 && !(min(rows, weight) > 0 && max(rows, weight) <= math.MaxFloat64) {
		return fmt.Errorf("ridge: factor = %v leaves %v effective rows of weight %v, want positive numbers", factor, rows, weight)
	}
	s.scale(factor)
	return nil
}

// Map returns the feature map of the sums.
func (s *Sums[T]) Map() rff.Map[T] { return s.phi }

// Features returns copies of the sum Σω of weights, the mean φ̄ of the D features, and the D×D
// matrix scatter = Σω(φ − φ̄)(φ − φ̄)ᵀ with zeros above the diagonal.
func (s *Sums[T]) Features() (weight float64, mean []float64, scatter dense.Matrix[float64]) {
	scatter = dense.New[float64](len(s.mean), len(s.mean))
	for i := range len(s.mean) {
		copy(scatter.Row(i), s.square.row(i))
	}
	return s.weight, slices.Clone(s.mean), scatter
}

// Add adds rows to the Sums: row i has the point x.Row(i), the targets y.Row(i) and weights[i]. For
// Sums without targets, y is the zero Matrix. Nil weights are 1. With the noise variance σ², the
// noise of a row of weight ω has the variance σ²/ω. A row of weight 0 has no effect. For n rows
// with D features, Add costs n feature transforms, n·D²/2 multiply-adds in float64, and memory for
// D²/2 numbers per goroutine. The Sums after Add do not depend on GOMAXPROCS.
//
// Add returns an error for shapes that do not fit, and one that names a row with a NaN or infinite
// point or target, or with a negative, NaN or infinite weight. If Add returns an error, the Sums
// are unchanged. Features that overflow make the Sums infinite or NaN, which Sums.Fit reports.
func (s *Sums[T]) Add(x, y dense.Matrix[T], weights []T) error {
	return s.add(context.Background(), Block[T]{x, y, weights})
}

// If ctx ends, s may contain some of the rows.
func (s *Sums[T]) add(ctx context.Context, b Block[T]) error {
	b = b.complete()
	if err := s.check(b.X, b.Y, b.Weights); err != nil {
		return err
	}
	return s.adder.add(ctx, &s.moments, s.source.Centring(b.X, b.Y, b.Weights))
}

func (s *Sums[T]) check(x, y dense.Matrix[T], weights []T) error {
	if err := checkRows(x, y, weights, s.d, len(s.targets)); err != nil {
		return err
	}
	return wrap(limit.CheckAppend(s.n, x.Rows))
}

func checkRows[T dense.Float](x, y dense.Matrix[T], weights []T, d, outputs int) error {
	x.Check()
	y.Check()
	switch {
	case x.Cols != d:
		return fmt.Errorf("ridge: x is %d×%d, want %d columns", x.Rows, x.Cols, d)
	case y.Rows != x.Rows || y.Cols != outputs:
		return fmt.Errorf("ridge: y is %d×%d, want %d×%d", y.Rows, y.Cols, x.Rows, outputs)
	case weights != nil && len(weights) != x.Rows:
		return fmt.Errorf("ridge: %d weights for %d rows", len(weights), x.Rows)
	}
	if err := argument.Finite("ridge: x", x); err != nil {
		return err
	}
	if err := argument.Finite("ridge: y", y); err != nil {
		return err
	}
	for i, v := range weights {
		if !(v >= 0) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("ridge: weights[%d] = %v, want a finite number from 0 on", i, v)
		}
	}
	return nil
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ridge: %w", err)
}

func resize[T dense.Float](x dense.Matrix[T], r, c int) dense.Matrix[T] {
	if x.Rows == r && x.Cols == c {
		return x
	}
	return dense.New[T](r, c)
}

// Merge adds the rows of the argument other to the receiver, and changes only the receiver. If s
// and other differ in features or outputs, Merge returns an error and keeps s.
func (s *Sums[T]) Merge(other *Sums[T]) error {
	if err := s.checkSame(other); err != nil {
		return err
	}
	return s.merge(&other.moments)
}

func (s *Sums[T]) checkSame(other *Sums[T]) error {
	switch {
	case other == nil:
		return errors.New("ridge: other is nil, want sums")
	case len(other.mean) != len(s.mean) || other.d != s.d:
		return fmt.Errorf("ridge: other has features R^%d → R^%d, want R^%d → R^%d", other.d, len(other.mean), s.d, len(s.mean))
	case len(other.targets) != len(s.targets):
		return fmt.Errorf("ridge: other has %d outputs, want %d", len(other.targets), len(s.targets))
	case other.prints == s.prints:
		return nil
	}
	return wrap(fingerprint.Check[T](s.marks(), other.marks()))
}

func (s *Sums[T]) marks() []float64 {
	return fingerprint.Marks(s.prints, s.d, len(s.mean), s.phi.Transform)
}
