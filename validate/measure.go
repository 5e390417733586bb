package validate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/compute/welford"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// Draw makes one random feature map φ with random numbers from src. The map φ of a Draw estimates
// the kernel k(x, y) by φ(x)ᵀψ(y) with ψ = rff.Keys(φ), which is φ unless φ is an rff.Paired map.
// Measure and Compare call a Draw from several goroutines, and give each call its own source.
type Draw[T dense.Float] func(src rand.Source) (rff.Map[T], error)

// PairErrors holds statistics of many random maps' estimates of the kernel at one pair of points.
type PairErrors struct {
	// Truth is the kernel at the pair of points, Mean the mean of the estimates of the kernel over
	// the drawn maps, and StdErr the standard error of Mean.
	Truth, Mean, StdErr float64
	// Rounding bounds the rounding error of Mean: the mean of 4ε·Σ_l|φ_l(x)ψ_l(y)| over draws, for
	// features φ_l(x), ψ_l(y) and the machine epsilon ε of T.
	Rounding float64
	// Z is (Mean − Truth)/√(StdErr² + Rounding²), or 0 if Mean is Truth. For unbiased maps and many
	// draws Z is nearly standard normal, and |Z| > 4 at about one of 16,000 pairs of points.
	Z float64
	// MSE is the mean over draws of the squared error of the estimate of the kernel, and MSEStdErr
	// the standard error of MSE. For unbiased maps MSE estimates the variance of estimates.
	MSE, MSEStdErr float64
}

// Measurement is the result of Measure: the errors of random feature maps at pairs of points.
type Measurement struct {
	Kernel kernels.Kernel
	Draws  int
	Pairs  []PairErrors
	// MSE is the mean of squared errors of kernel estimates over all Pairs, and MSEStdErr the
	// standard error of MSE.
	MSE, MSEStdErr float64
}

// Measure estimates the kernel at the pairs (x_i, y_i), the rows of x and y (both n×d), with draws
// ≥ 2 random maps. Measure compares the estimates with the kernel that method Kernel of the first
// map returns. With 30 draws or more, Z is nearly normally distributed. Measure gives each draw a
// PCG source whose seeds are the next two numbers of src, and sums in the order of draws, so that
// the result does not depend on GOMAXPROCS.
//
// Measure returns an error for x and y that differ in shape or have no row, draws below 2 or above
// 2⁴⁰, a draw that fails or makes a map of another dimension or without Kernel, a nil draw or src,
// and the end of ctx. Measure panics if ctx is nil. NaN or infinite features make the field Z of
// the PairErrors at the pair of points NaN or infinite.
func Measure[T dense.Float](ctx context.Context, draw Draw[T], x, y dense.Matrix[T], draws int, src rand.Source) (Measurement, error) {
	m, err := measure(ctx, draw, x, y, draws, src)
	if err != nil {
		return Measurement{MSE: math.NaN(), MSEStdErr: math.NaN()}, fmt.Errorf("validate: %w", err)
	}
	return m, nil
}

// Worst returns index and Z of the pair of points with the largest |Z|; NaN counts as largest.
func (m Measurement) Worst() (pair int, z float64) {
	for i, p := range m.Pairs {
		if math.IsNaN(p.Z) {
			return i, p.Z
		}
		if math.Abs(p.Z) > math.Abs(z) {
			pair, z = i, p.Z
		}
	}
	return pair, z
}

// Unbiased reports whether there are pairs of points and |Z| ≤ limit at each, where Z is the bias
// in standard errors. For an unbiased map, |Z| > 4 at a pair with a probability of about 1/16,000.
func (m Measurement) Unbiased(limit float64) bool {
	_, z := m.Worst()
	return len(m.Pairs) > 0 && math.Abs(z) <= limit
}

type statistics struct {
	kernel    kernels.Kernel
	truth     []float64
	estimates []running // φ(x_i)ᵀψ(y_i)
	sizes     []running // Σ_l |φ_l(x_i)·ψ_l(y_i)|, the scale of rounding errors
	squares   []running // the squared error of pair i
	overall   running   // the mean over pairs of the squared error
}

const drawsAtOnce = 32

func measure[T dense.Float](ctx context.Context, draw Draw[T], x, y dense.Matrix[T], draws int, src rand.Source) (Measurement, error) {
	_ = argument.Context("validate", ctx) // panics for a nil ctx
	if draw == nil {
		return Measurement{}, errors.New("draw is nil")
	}
	if err := checkPairs(x, y, draws, src); err != nil {
		return Measurement{}, err
	}
	n := x.Rows
	m := &statistics{truth: make([]float64, n), estimates: make([]running, n), sizes: make([]running, n), squares: make([]running, n)}
	batch := make([]kernelEstimates, min(draws, drawsAtOnce))
	for i := range batch {
		batch[i].estimates, batch[i].sizes = make([]float64, n), make([]float64, n)
	}
	for first := 0; first < draws; first += len(batch) {
		batch = batch[:min(len(batch), draws-first)]
		for i := range batch {
			batch[i].src = rand.NewPCG(src.Uint64(), src.Uint64())
		}
		parallel.Pieces(len(batch), func(i int) {
			if batch[i].err = ctx.Err(); batch[i].err == nil {
				batch[i].err = take(ctx, &batch[i], draw, x, y)
			}
		})
		if err := ctx.Err(); err != nil {
			return Measurement{}, err
		}
		for i := range batch {
			if err := batch[i].err; err != nil {
				return Measurement{}, fmt.Errorf("draw %d: %w", first+i, err)
			}
			if m.kernel == nil {
				m.kernel = batch[i].kernel
				m.evaluate(ctx, dense.Copy(dense.Matrix[float64]{}, x), dense.Copy(dense.Matrix[float64]{}, y))
				if err := ctx.Err(); err != nil {
					return Measurement{}, err
				}
			}
			m.add(&batch[i])
		}
	}
	return m.result(draws, 2*vecmath.Roundoff[T]()), nil
}

func (m *statistics) result(draws int, eps float64) Measurement {
	r := Measurement{Kernel: m.kernel, Draws: draws, Pairs: make([]PairErrors, len(m.truth)), MSE: m.overall.mean, MSEStdErr: m.overall.stdErr()}
	for i, truth := range m.truth {
		p := PairErrors{
			Truth: truth, Mean: m.estimates[i].mean, StdErr: m.estimates[i].stdErr(), Rounding: 4 * eps * m.sizes[i].mean,
			MSE: m.squares[i].mean, MSEStdErr: m.squares[i].stdErr(),
		}
		if p.Mean != p.Truth {
			p.Z = (p.Mean - p.Truth) / math.Hypot(p.StdErr, p.Rounding)
		}
		r.Pairs[i] = p
	}
	return r
}

func checkPairs[T dense.Float](x, y dense.Matrix[T], draws int, src rand.Source) error {
	x.Check()
	y.Check()
	switch {
	case x.Rows != y.Rows || x.Cols != y.Cols:
		return fmt.Errorf("x is %d×%d, y is %d×%d, want the same shape: row i of both is pair i", x.Rows, x.Cols, y.Rows, y.Cols)
	case x.Rows == 0:
		return errors.New("x and y have no rows, want at least 1 pair")
	case draws < 2:
		return fmt.Errorf("draws = %d, want at least 2", draws)
	case draws > limit.Repeats:
		return fmt.Errorf("draws = %d, want at most %d", draws, limit.Repeats)
	case src == nil:
		return errors.New("src is nil")
	}
	return nil
}

type kernelEstimates struct {
	src              rand.Source
	kernel           kernels.Kernel
	estimates, sizes []float64
	err              error
}

func take[T dense.Float](ctx context.Context, s *kernelEstimates, draw Draw[T], x, y dense.Matrix[T]) error {
	m, err := draw(s.src)
	if err != nil {
		return err
	}
	if m == nil {
		return errors.New("the map is nil")
	}
	in, out := m.Dims()
	if in != x.Cols {
		return fmt.Errorf("the map takes points of R^%d, x is %d×%d", in, x.Rows, x.Cols)
	}
	if s.kernel = m.Kernel(); s.kernel == nil {
		return errors.New("the map names no kernel to compare with")
	}
	keys := rff.Keys(m)
	if _, width := keys.Dims(); width != out {
		return fmt.Errorf("the map has %d features, that of keys %d", out, width)
	}
	const block = 64
	fx, fy := dense.New[T](min(block, x.Rows), out), dense.New[T](min(block, x.Rows), out)
	for lo := 0; lo < x.Rows; lo += block {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+block, x.Rows)
		px := m.Transform(fx.RowRange(0, hi-lo), x.RowRange(lo, hi))
		py := keys.Transform(fy.RowRange(0, hi-lo), y.RowRange(lo, hi))
		for i := range px.Rows {
			s.estimates[lo+i], s.sizes[lo+i] = inner(px.Row(i), py.Row(i))
		}
	}
	return nil
}

func inner[T dense.Float](x, y []T) (sum, size float64) {
	y = y[:len(x)]
	for l, v := range x {
		term := float64(v) * float64(y[l])
		sum += term
		size += math.Abs(term)
	}
	return sum, size
}

func (m *statistics) evaluate(ctx context.Context, x, y dense.Matrix[float64]) {
	parallel.Rows(x.Rows, 64, func(lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			m.truth[i] = m.kernel.Eval(x.Row(i), y.Row(i))
		}
	})
}

func (m *statistics) add(s *kernelEstimates) {
	var total float64
	for i, v := range s.estimates {
		e := v - m.truth[i]
		m.estimates[i].add(v)
		m.sizes[i].add(s.sizes[i])
		m.squares[i].add(e * e)
		total += e * e / float64(len(s.estimates))
	}
	m.overall.add(total)
}

type running struct{ n, mean, rest, squares float64 }

func (r *running) add(v float64) {
	r.n++
	welford.Add(r.n, v, &r.mean, &r.rest, &r.squares)
}

func (r *running) stdErr() float64 { return welford.StdErr(r.n, r.squares) }
