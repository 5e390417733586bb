package kernelridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Options are the parameters of Fit, of which only Ratio and Src have no default.
type Options struct {
	// Ratio is the penalty λ = σ²/s² > 0: the noise variance σ² of a row of weight 1, over the
	// factor s² of the prior covariance s²·k of a Gaussian process.
	Ratio float64
	// NoIntercept leaves out the constant b of the prediction b + Σ_i a_i·k(x, x_i).
	NoIntercept bool

	// Rank is the number of landmarks of the preconditioner, at most the number n of rows; 0 stands
	// for 8√n, or min(n, 1000) if that is more, or 4000 if that is less. The preconditioner takes
	// about n·Rank² multiply-adds and 8·n·Rank bytes. A larger Rank saves time if Fit needs many
	// iterations, as for a small λ.
	Rank int
	// Tolerance is the norm of the residual of a linear system, relative to the norm of the
	// right-hand side, at which Fit stops. At the rows, the error of predictions by stopping is at
	// most about Tolerance times the targets without their mean, or, with NoIntercept, times the
	// targets, both as root mean squares. If Tolerance is 0, Fit stops for each target when an
	// estimate of the sum of its squared leave-one-out errors will change by less than a tenth of
	// its standard error, or at the latest with a relative residual of 10⁻⁶, or of 10⁻⁴ if rounding
	// prevents a smaller one.
	Tolerance float64
	// MaxIterations is the largest number of products with the kernel matrix; 0 stands for 500.
	MaxIterations int
	// Memory is the largest number of bytes that Fit uses to keep the kernel matrix of n rows,
	// which takes 2·n² bytes; if Memory is less, every product computes the matrix anew.
	Memory int64
	// Probes is the number of vectors of random signs from which Fit estimates leave-one-out
	// errors, up to a relative error of about √(2/Probes) times the share of the diagonal of (K +
	// λΩ⁻¹)⁻¹ that the preconditioner leaves, for the kernel matrix K and the weights Ω. Fit solves
	// the linear systems of these vectors to ten times Tolerance, or to a residual of 2⁻¹⁰ if
	// Tolerance is 0. If Probes is 0, Fit computes neither Result.LeftOut nor bands for Model.Band.
	Probes int

	// Product, unless Product is nil, multiplies the kernel matrix K by vectors in place of Fit,
	// for example on many machines. Product returns the product K·V of the kernel matrix K and a
	// matrix V of the model m: row i of K·V is the mean that m predicts at the i-th row of positive
	// weight given to Fit.
	Product func(ctx context.Context, m *ridge.Model[float64]) (dense.Matrix[float64], error)

	// Fit calls Progress, unless Progress is nil, after each product with the kernel matrix, on the
	// goroutine of the caller.
	Progress func(Progress)

	// Src is the random source of the landmarks of the preconditioner and of the signs of Probes.
	Src rand.Source
}

const mostProbes = 1 << 16

// Progress tells how far the iterations of Fit have come.
type Progress struct {
	Iterations int           // products with K
	Residual   float64       // of the target or the probe that is farthest from its Tolerance
	Tolerance  float64       // Options.Tolerance, or the relative residual that suffices so far
	Elapsed    time.Duration // since the first product
	Left       time.Duration // at the rate of the steps so far
}

func (o Options) sized(n int) (Options, error) {
	switch {
	case !(o.Ratio > 0 && o.Ratio < 1e300):
		return o, fmt.Errorf("kernelridge: Options.Ratio = %v, want a positive number", o.Ratio)
	case o.Rank < 0:
		return o, fmt.Errorf("kernelridge: Options.Rank = %d, want at least 0", o.Rank)
	case !(o.Tolerance >= 0 && o.Tolerance < 1):
		return o, fmt.Errorf("kernelridge: Options.Tolerance = %v, want from 0 to 1", o.Tolerance)
	case o.MaxIterations < 0:
		return o, fmt.Errorf("kernelridge: Options.MaxIterations = %d, want at least 0", o.MaxIterations)
	case o.Memory < 0:
		return o, fmt.Errorf("kernelridge: Options.Memory = %d, want at least 0 bytes", o.Memory)
	case o.Probes < 0 || o.Probes > mostProbes:
		return o, fmt.Errorf("kernelridge: Options.Probes = %d, want 0 to %d", o.Probes, mostProbes)
	case o.Src == nil:
		return o, errors.New("kernelridge: Options.Src is nil, want a source of randomness")
	}
	if o.Rank == 0 {
		o.Rank = min(max(1000, int(8*math.Sqrt(float64(n)))), 4000)
	}
	o.Rank = min(o.Rank, n)
	if o.MaxIterations == 0 {
		o.MaxIterations = 500
	}
	return o, nil
}
