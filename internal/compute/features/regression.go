package features

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// Regression is the posterior of the functions f_j(x) = b_j + (φ(x) − φ̄)ᵀw_j.
type Regression struct {
	Weights dense.Matrix[float64] // means of w, D×p
	Facts
}

type Facts struct {
	FeatureMean []float64 // φ̄; zeros without an intercept
	TargetMean  []float64 // means of b; zeros without an intercept
	Noise       []float64 // σ² of each output
	Ratio       float64   // λ = σ²/s²
	Base        float64   // variance of b in units of the noise; 0 without an intercept
	Errors      []float64 // at other rows, in ascending order for each output; nil for none
	Relative    bool      // Errors are ratios to standard deviations

	// Logs are the weights of the means of log-errors, D×p, their values at φ̄ and their least
	// values, p numbers each. Nil stands for none. Unless nil, Errors are ratios to exp of these
	// means too.
	Logs []float64
}

func (r *Regression) LogErrors() (logs *Regression, least []float64) {
	if len(r.Logs) == 0 {
		return nil, nil
	}
	n, p := r.Weights.Rows*r.Weights.Cols, r.Weights.Cols
	return &Regression{dense.Of(r.Weights.Rows, p, r.Logs[:n]), Facts{FeatureMean: r.FeatureMean, TargetMean: r.Logs[n : n+p]}}, r.Logs[n+p:]
}

func (r *Regression) Intercepts() []float64 {
	b := slices.Clone(r.TargetMean)
	for i, v := range r.FeatureMean {
		for j, w := range r.Weights.Row(i) {
			b[j] -= v * w
		}
	}
	return b
}

func (r *Regression) Mean(rows *Design) {
	mean := r.About(rows)
	for i := range mean.Rows {
		row := mean.Row(i)
		for j, b := range r.TargetMean {
			row[j] += b
		}
	}
}

// About writes the means of (φ − φ̄)ᵀw into rows.First and returns them.
func (r *Regression) About(rows *Design) dense.Matrix[float64] {
	rows.First.Shape(rows.Phi.Rows, r.Weights.Cols)
	mean := rows.First.Rows(rows.Phi.Rows)
	matmul.Mul(1, rows.Phi, r.Weights, 0, mean)
	return mean
}

// Deviations writes the standard deviations of the functions into rows.Second, for the variances of
// (φ − φ̄)ᵀw in units of the noise. Deviations adds the prior variance of the part of the kernel
// that the features lack, and extra times the noise.
func (r *Regression) Deviations(rows *Design, variances []float64, extra float64) {
	rows.Second.Shape(rows.Phi.Rows, r.Weights.Cols)
	sd := rows.Second.Rows(rows.Phi.Rows)
	for i, v := range variances {
		v += r.Base + rows.Residuals[i]/r.Ratio
		row := sd.Row(i)
		for j, noise := range r.Noise {
			row[j] = math.Sqrt(noise * (v + extra))
		}
	}
}

// Mean writes the means of the functions at the rows of x into dst (n×p) and returns dst. Mean
// allocates a zero dst, and computes size rows at a time.
func Mean[T dense.Float](s Source[T], r *Regression, dst, x dense.Matrix[T], size int) dense.Matrix[T] {
	dst = dense.Ensure(dst, x.Rows, len(r.TargetMean))
	s.Each(size, r.FeatureMean, x, dense.Matrix[T]{}, nil, dst, dense.Matrix[T]{}, r.Mean)
	return dst
}

func Predict[T dense.Float](s Source[T], r *Regression, x dense.Matrix[T], size int, predict func(r *Design)) (mean, sd dense.Matrix[T]) {
	mean, sd = dense.New[T](x.Rows, len(r.TargetMean)), dense.New[T](x.Rows, len(r.TargetMean))
	s.Each(size, r.FeatureMean, x, dense.Matrix[T]{}, nil, mean, sd, predict)
	return mean, sd
}
