package ard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/instance"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// SumResult is what FitSum learns.
type SumResult[T dense.Float] struct {
	// Model is the model of all rows. Its map is rff.Sum of the maps with the Weights.
	Model *ridge.Model[T]

	// Weights are the weights a_k of the maps, with the sum 1. Those that the evidence does not need
	// are 0. For maps with φ_k(x)ᵀφ_k(x) = 1, as Gaussian and Matern, a_k is the share of kernel k in
	// the prior variance of the functions.
	Weights []float64

	// EqualEvidence is the log evidence of equal weights. That of the Weights is Model.LogEvidence.
	EqualEvidence float64

	// Path are the iterations of the search.
	Path []Step
}

// FitSum learns the weights of a sum of kernels from the evidence, and fits a model with the features
//
//	φ(x) = (√a_1·φ_1(x), …, √a_K·φ_K(x)),  k(x, y) = Σ_k a_k·φ_k(x)ᵀφ_k(y),  Σ a_k = 1,
//
// of D features in all: multiple kernel learning by evidence [Gönen & Alpaydın 2011]. Maps of several
// length-scales see smooth and rough parts of one function, and maps of some columns (rff.Compose with
// rff.Affine) functions of these columns. Nothing is asked of maps but their features.
//
// Rows are read once, for the sums of equal weights. All other weights rescale those sums. With
// A = ΦᵀΩΦ + λI, the squares of the weights of map k, and their degrees of freedom Γ_k = D_k −
// λ·tr(A⁻¹)_kk [MacKay 1992], summed over outputs,
//
//	∂L/∂log a_k = ½·( ‖μ_k‖²/s² − Γ_k ).
//
// The evidence depends on a/λ alone, so the search is L-BFGS on log(a_k/λ) [Liu & Nocedal 1989], from
// equal weights and their λ of maximum evidence. It ends after Options.Iterations, or where three
// iterations have gained less than 10⁻³. Then weights become 0, the smallest first, as long as the
// evidence stays within 10⁻³ of that found. The result does not depend on GOMAXPROCS; on other
// processors it differs as that of Fit does.
//
// Cost: one pass, n transforms and n·D²/2 multiply-adds, then 25·D³/6 multiply-adds for equal weights and
// D³/2 for each other weights, one or two for each of some 10 to 25 iterations, and K more. Memory: 4·D²
// numbers of float64.
//
// Of the options Prior and Ratio are 0, because they are learnt with the weights, and so is Sample.
//
// An error reports other options than these and options out of range, maps that rff.Sum refuses, the
// errors of ridge.Sum and Sums.Fit, and the end of ctx, which is noticed within a pass and between
// blocks of a matrix. A nil ctx panics.
func FitSum[T dense.Float](ctx context.Context, maps []rff.Map[T], rows ridge.Rows[T], o Options) (*SumResult[T], error) {
	return instance.Of(&fitSumBoth, FitSum[T])(ctx, maps, rows, o)
}

var fitSumBoth = instance.Both{fitSum[float32], fitSum[float64]}

func fitSum[T dense.Float](ctx context.Context, maps []rff.Map[T], rows ridge.Rows[T], o Options) (*SumResult[T], error) {
	if err := argument.Context("ard", ctx); err != nil {
		return nil, err
	}
	if err := cmp.Or(o.check(), o.checkSum()); err != nil {
		return nil, err
	}
	if o.Iterations == 0 {
		o.Iterations = 60
	}
	s, err := newSumSearch(ctx, maps, rows, o)
	if err != nil {
		return nil, err
	}
	equal, err := s.sums.Fit(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	r := &SumResult[T]{EqualEvidence: equal.LogEvidence()}
	x := make([]float64, len(maps))
	for k := range x {
		// The least λ that rounding allows may be refused when it is rounded itself.
		x[k] = -math.Log(equal.Noise()[0] / equal.Prior()[0] * (1 + 0x1p-10))
	}
	if !s.at(x) {
		return nil, cmp.Or(s.failed, s.refused)
	}
	if err := s.climb(x); err != nil {
		return nil, err
	}
	if err := s.prune(); err != nil {
		return nil, err
	}
	r.Model, r.Path = s.best.model, s.path
	r.Weights, _ = shares(s.best.x)
	return r, nil
}

// checkSum returns an error if options are set that FitSum does not have.
func (o Options) checkSum() error {
	for _, v := range [...]struct {
		name  string
		value float64
	}{{"Prior", o.Prior}, {"Ratio", o.Ratio}, {"Sample", float64(o.Sample)}} {
		if v.value != 0 {
			return fmt.Errorf("ard: %s = %v, want 0 for a sum", v.name, v.value)
		}
	}
	return nil
}

// sumSearch climbs the evidence over x_k = log(a_k/λ).
type sumSearch[T dense.Float] struct {
	ctx  context.Context
	maps []rff.Map[T]
	sums *ridge.Sums[T] // of weights 1
	o    Options

	path    []Step
	now     trial[T] // the last place
	best    trial[T]
	refused error // of the last place that could not be fitted
	failed  error // that ends the search
}

// newSumSearch reads rows.
func newSumSearch[T dense.Float](ctx context.Context, maps []rff.Map[T], rows ridge.Rows[T], o Options) (*sumSearch[T], error) {
	phi, err := rff.Sum(maps, ones(len(maps)))
	if err != nil {
		return nil, err
	}
	sums, err := ridge.Sum(ctx, phi, rows)
	if err != nil {
		return nil, err
	}
	return &sumSearch[T]{ctx: ctx, maps: slices.Clone(maps), sums: sums, o: o, best: trial[T]{value: math.Inf(-1)}}, nil
}

// ones returns n ones.
func ones(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// nothing is the weight, as a share of all, below which a map is left out: its root is a number of
// float32.
const nothing = 0x1p-200

// shares returns the weights of sum 1 at x, and λ for them.
func shares(x []float64) (weights []float64, ratio float64) {
	weights = make([]float64, len(x))
	top := floats.Max(x)
	for k, v := range x {
		weights[k] = math.Exp(v - top)
	}
	total := floats.Sum(weights)
	for k := range weights {
		if weights[k] /= total; weights[k] < nothing {
			weights[k] = 0
		}
	}
	return weights, math.Exp(-top) / total
}

// fit returns the model at x.
func (s *sumSearch[T]) fit(x []float64) (*ridge.Model[T], error) {
	weights, ratio := shares(x)
	phi, err := rff.Sum(s.maps, weights)
	if err != nil {
		return nil, err
	}
	var scales []float64
	for k, m := range s.maps {
		_, width := m.Dims()
		for range width {
			scales = append(scales, math.Sqrt(weights[k]))
		}
	}
	sums, err := s.sums.Rescaled(phi, scales)
	if err != nil {
		return nil, err
	}
	o := s.o.Options
	o.Ratio = ratio
	return sums.Fit(s.ctx, o)
}

// at fits the model at x unless that is the last place, and reports whether it could. Places beyond
// the range of λ are not errors.
func (s *sumSearch[T]) at(x []float64) bool {
	if slices.Equal(s.now.x, x) {
		return s.now.model != nil
	}
	s.now = trial[T]{x: slices.Clone(x)}
	if s.failed = s.ctx.Err(); s.failed != nil {
		return false
	}
	m, err := s.fit(x)
	if s.failed = s.ctx.Err(); err != nil {
		s.refused = err
		return false
	}
	s.now.model, s.now.value = m, m.LogEvidence()
	return true
}

// gradient returns the derivatives of the evidence of m by the logarithms of the weights of maps.
func gradient[T dense.Float](m *ridge.Model[T], maps []rff.Map[T]) []float64 {
	g := make([]float64, len(maps))
	w, _ := m.Weights()
	prior, degrees := m.Prior(), m.FeatureDegrees()
	f := 0
	for k, part := range maps {
		_, width := part.Dims()
		for range width {
			for j, v := range w.Row(f) {
				g[k] += 0.5 * (v*v/prior[j] - degrees[f])
			}
			f++
		}
	}
	return g
}

// sumGain is the evidence that three iterations gain, below which a search ends, and that weights which
// become 0 may cost.
const sumGain = 1e-3

// climb leaves the best place that L-BFGS finds from x on in best.
func (s *sumSearch[T]) climb(x []float64) error {
	iterations := &record{step: func(value float64, iteration int) {
		step := Step{Rows: s.sums.Rows(), Iteration: iteration, LogEvidence: value}
		s.path = append(s.path, step)
		if s.o.Progress != nil {
			s.o.Progress(step)
		}
	}}
	// A line search that finds no better place is the end like any other.
	_, _ = optimize.Minimize(optimize.Problem{
		Func: func(x []float64) float64 {
			if !s.at(x) {
				return math.Inf(1)
			}
			if s.now.value > s.best.value {
				s.best = s.now
			}
			return -s.now.value
		},
		Grad: func(dst, x []float64) {
			clear(dst)
			if s.at(x) {
				floats.Sub(dst, gradient(s.now.model, s.maps))
			}
		},
		Status: func() (optimize.Status, error) {
			if s.failed != nil {
				return optimize.Failure, s.failed
			}
			return optimize.NotTerminated, nil
		},
	}, x, &optimize.Settings{
		MajorIterations: s.o.Iterations, Recorder: iterations,
		Converger: &optimize.FunctionConverge{Absolute: sumGain, Iterations: 3},
	}, &optimize.LBFGS{})
	return s.failed
}

// prune makes the weights 0 that the evidence does not need.
func (s *sumSearch[T]) prune() error {
	least := s.best.value - sumGain
	weights, _ := shares(s.best.x)
	order := make([]int, len(weights))
	floats.Argsort(slices.Clone(weights), order)
	for _, k := range order[:len(order)-1] {
		x := slices.Clone(s.best.x)
		x[k] = math.Inf(-1)
		if s.at(x) && s.now.value >= least {
			s.best = s.now
		}
		if s.failed != nil {
			return s.failed
		}
	}
	return nil
}
