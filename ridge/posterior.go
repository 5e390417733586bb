package ridge

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// posterior is the part of a Model that does not depend on T.
type posterior struct {
	regression features.Regression
	prior      []float64
	centred    bool
	weight     float64 // Σω
	factor     factor
	evidence   float64
	single     bool // products of features were summed in float32

	inverse func() []float64 // diagonal of A⁻¹
}

// factor is a *cholesky.Factor. The interface keeps importers from compiling the type.
type factor interface {
	Half(ctx context.Context, w dense.Matrix[float64])
	OtherHalf(w dense.Matrix[float64])
	Solve(w dense.Matrix[float64])
	InverseDiagonal(ctx context.Context) ([]float64, error)
	Invert(ctx context.Context, f func(lo int, columns dense.Matrix[float64])) error
	Packed() []float64
}

// newPosterior returns the posterior of the rows with the moments m.
func newPosterior(ctx context.Context, m *moments, o Options) (*posterior, error) {
	if err := argument.Context("ridge", ctx); err != nil {
		return nil, err
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	p, err := newProblem(ctx, m, o)
	if err != nil {
		return nil, err
	}
	ratio, err := p.chooseRatio()
	if err != nil {
		return nil, err
	}
	at, err := p.at(ratio)
	if stop := ctx.Err(); stop != nil {
		return nil, stop
	}
	if err != nil {
		return nil, fmt.Errorf("ridge: Noise/Prior = %.3g is too small for the rounding of the sums: %w", ratio, err)
	}
	if at.hidden && o.Noise == 0 && o.Prior == 0 {
		return nil, fmt.Errorf("ridge: Noise/Prior = %.3g explains the targets to rounding, which tells nothing of their noise", ratio)
	}
	found := &posterior{
		regression: features.Regression{
			Weights: at.weights,
			Facts:   features.Facts{FeatureMean: slices.Clone(m.mean), TargetMean: slices.Clone(m.targets), Noise: at.noise, Ratio: ratio, Base: 1 / m.weight},
		},
		prior: at.prior, centred: !o.NoIntercept, weight: m.weight, factor: at.factor, evidence: at.evidence, single: p.single,
	}
	if o.NoIntercept {
		clear(found.regression.FeatureMean)
		clear(found.regression.TargetMean)
		found.regression.Base = 0
	}
	if err := found.check(ctx, float64(m.n)); err != nil {
		return nil, err
	}
	return found, nil
}

// check returns an error if exact sums cannot lead to the posterior.
func (p *posterior) check(ctx context.Context, rows float64) error {
	inverse, err := p.factor.InverseDiagonal(ctx)
	if err != nil {
		return err
	}
	p.inverse = func() []float64 { return inverse }
	width := float64(p.regression.Weights.Rows)
	if degrees := width - p.regression.Ratio*floats.Sum(inverse); !(degrees >= -width*0x1p-40 && degrees <= min(width, rows)+width/margin) {
		return fmt.Errorf("ridge: %.4g degrees of freedom of %.0f features and %.0f rows for Noise/Prior = %.3g, which is too small for the rounding of the sums",
			degrees, width, rows, p.regression.Ratio)
	}
	for j, v := range p.regression.Noise {
		if s := p.prior[j]; !(v > 0 && s > 0) || math.IsInf(v, 0) || math.IsInf(s, 0) {
			return fmt.Errorf("ridge: output %d has the noise %.3g and the prior %.3g, want positive numbers: scale the targets or the features", j, v, s)
		}
	}
	if e := p.evidence; e-e != 0 {
		return fmt.Errorf("ridge: the log evidence is %v, want a finite number", e)
	}
	return nil
}

// predict writes means into r.First and standard deviations into r.Second. predict adds extra times
// the noise to the variance of the functions.
func (p *posterior) predict(r *features.Rows, extra float64) {
	p.regression.Mean(r)
	p.regression.Deviations(r, p.variances(r.Phi), extra)
}

var halvesSpaces pool.Of[scratch.Buffer[float64]]

// variances returns ‖R⁻ᵀ(φ_i − φ̄)‖² for the rows φ_i − φ̄ of phi.
func (p *posterior) variances(phi dense.Matrix[float64]) []float64 {
	space := halvesSpaces.Get()
	defer halvesSpaces.Put(space)
	space.Shape(phi.Cols, phi.Rows)
	v := space.Rows(phi.Cols)
	p.halves(v, phi)
	variances := make([]float64, phi.Rows)
	for f := range v.Rows {
		for i, e := range v.Row(f) {
			variances[i] += e * e
		}
	}
	return variances
}

// leaveOut writes leave-one-out errors into r.First, in float64. Rounding targets and means to T
// before their subtraction would lose small errors.
func (p *posterior) leaveOut(r *features.Rows) {
	errs := p.regression.About(r)
	for i, h := range p.variances(r.Phi) {
		h = (h + p.regression.Base) * r.Weights[i]
		row := errs.Row(i)
		for j, y := range r.Y.Row(i) {
			row[j] = (y - p.regression.TargetMean[j] - row[j]) / (1 - h)
			if !(h < 1) {
				row[j] = math.NaN()
			}
		}
	}
}

// halves writes R⁻ᵀ(φ_i − φ̄) into column i of v (D×n) for the rows φ_i − φ̄ of phi.
func (p *posterior) halves(v, phi dense.Matrix[float64]) {
	dense.Transpose(v, phi)
	p.factor.Half(context.Background(), v)
}
