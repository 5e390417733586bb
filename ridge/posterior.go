package ridge

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
)

type posterior struct {
	regression features.Regression
	prior      []float64
	centred    bool
	weight     float64 // Σω
	root       root
	evidence   float64
	accuracy   Accuracy
}

func newPosterior(ctx context.Context, m *moments, o Options) (*posterior, error) {
	if err := argument.Context("ridge", ctx); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
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
		return nil, errHidden(ratio)
	}
	found := &posterior{
		regression: features.Regression{
			Weights: at.weights,
			Facts:   m.facts(o, ratio, at.noise),
		},
		prior: at.prior, centred: !o.NoIntercept, weight: m.weight, evidence: at.evidence, accuracy: Accuracy{SinglePrecision: p.single},
	}
	if found.root, err = newRoot(ctx, at.factor, at.weights.Rows); err != nil {
		return nil, err
	}
	return found, found.check(float64(m.n))
}

func (m *moments) facts(o Options, ratio float64, noise []float64) features.Facts {
	f := features.Facts{FeatureMean: slices.Clone(m.mean), TargetMean: slices.Clone(m.targets), Noise: noise, Ratio: ratio, Base: 1 / m.weight}
	if o.NoIntercept {
		clear(f.FeatureMean)
		clear(f.TargetMean)
		f.Base = 0
	}
	return f
}

func errHidden(ratio float64) error {
	return fmt.Errorf("ridge: Noise/Prior = %.3g explains the targets to rounding, which tells nothing of their noise", ratio)
}

func (p *posterior) check(rows float64) error {
	width := float64(p.regression.Weights.Rows)
	if degrees := width - p.regression.Ratio*floats.Sum(p.root.diagonal()); !(degrees >= -width*0x1p-40 && degrees <= min(width, rows)+width/margin) {
		return fmt.Errorf("ridge: %.4g degrees of freedom of %.0f features and %.0f rows for Noise/Prior = %.3g, which is too small for the rounding of the sums",
			degrees, width, rows, p.regression.Ratio)
	}
	return p.checkVariances()
}

func (p *posterior) checkVariances() error {
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

func (p *posterior) predict(r *features.Design, extra float64) {
	p.regression.Mean(r)
	p.regression.Deviations(r, p.root.variances(r.Phi), extra)
}

// Rounding targets and means to T before their subtraction would lose small errors.
func (p *posterior) leaveOut(r *features.Design) {
	leaveOut(r, &p.regression, p.root.variances(r.Phi))
}

func leaveOut(r *features.Design, g *features.Regression, variances []float64) {
	errs := g.About(r)
	for i, h := range variances {
		h = (h + g.Base) * r.Weights[i]
		row := errs.Row(i)
		for j, y := range r.Y.Row(i) {
			row[j] = (y - g.TargetMean[j] - row[j]) / (1 - h)
			if !(h < 1) {
				row[j] = math.NaN()
			}
		}
	}
}
