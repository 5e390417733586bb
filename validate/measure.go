package validate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/limit"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// Draw makes one random map, drawing all its randomness from src. What is measured is
// its estimate φ(x)ᵀφ(y), or φ(x)ᵀψ(y) with ψ = rff.Keys(φ) where that is another map.
// Bias, Variance and Compare call it from several goroutines at once, each with a source
// of its own.
type Draw[T dense.Float] func(src rand.Source) (rff.Map[T], error)

// measurement accumulates the estimates that many draws of a map give of the
// kernel at the same pairs.
type measurement struct {
	kernel    kernels.Kernel
	draws     int
	scales    []float64 // of the errors of pairs in overall; nil for 1
	truth     []float64
	estimates []running // φ(x_i)ᵀψ(y_i), ψ the map of keys
	sizes     []running // Σ_l |φ_l(x_i)·ψ_l(y_i)|, what rounding is relative to
	squares   []running // squared error of pair i
	overall   running   // mean over the pairs of one draw of the squared error, scaled
}

// drawsAtOnce is how many draws are made before their estimates are
// accumulated, in order: it bounds memory and keeps the sums independent of the
// number of processors.
const drawsAtOnce = 32

// measure makes the draws and compares their estimates with the kernel that the
// first of them names. The overall error is the mean over pairs of squared errors times their
// scales, if there are any. With an error it returns what the draws before gave, nil if there
// are fewer than two. Its errors lack the name of the package, for callers to
// add with what they know.
func measure[T dense.Float](draw Draw[T], x, y dense.Matrix[T], draws int, src rand.Source, c *control, scales []float64) (*measurement, error) {
	if draw == nil {
		return nil, errors.New("draw is nil")
	}
	if err := checkPairs(x, y, draws, src); err != nil {
		return nil, err
	}
	n := x.Rows
	m := &measurement{
		scales: scales, truth: make([]float64, n),
		estimates: make([]running, n), sizes: make([]running, n), squares: make([]running, n),
	}
	batch := make([]sample, min(draws, drawsAtOnce))
	for i := range batch {
		batch[i].estimates, batch[i].sizes = make([]float64, n), make([]float64, n)
	}
	for first := 0; first < draws; first += len(batch) {
		batch = batch[:min(len(batch), draws-first)]
		for i := range batch {
			batch[i].src = rand.NewPCG(src.Uint64(), src.Uint64())
		}
		parallel.Pieces(len(batch), func(i int) {
			if batch[i].err = c.err(); batch[i].err == nil {
				take(&batch[i], draw, x, y, c)
			}
		})
		if err := c.err(); err != nil {
			return m.some(), err
		}
		for i := range batch {
			if err := batch[i].err; err != nil {
				return m.some(), fmt.Errorf("draw %d: %w", first+i, err)
			}
			if m.kernel == nil {
				m.kernel = batch[i].kernel
				m.evaluate(dense.Copy(dense.Matrix[float64]{}, x), dense.Copy(dense.Matrix[float64]{}, y), c)
				if err := c.err(); err != nil {
					return nil, err
				}
			}
			m.add(&batch[i])
		}
		c.made(len(batch))
	}
	return m, nil
}

// some returns m, or nil if it has too few draws for a standard error.
func (m *measurement) some() *measurement {
	if m.draws < 2 {
		return nil
	}
	return m
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

// sample is one draw: its source and what came of it.
type sample struct {
	src              rand.Source
	kernel           kernels.Kernel
	estimates, sizes []float64
	err              error
}

// take draws a map and fills s, unless c ends early.
func take[T dense.Float](s *sample, draw Draw[T], x, y dense.Matrix[T], c *control) {
	m, err := draw(s.src)
	if s.err = err; err != nil {
		return
	}
	if m == nil {
		s.err = errors.New("the map is nil")
		return
	}
	in, out := m.Dims()
	if in != x.Cols {
		s.err = fmt.Errorf("the map takes points of R^%d, x is %d×%d", in, x.Rows, x.Cols)
		return
	}
	if s.kernel = m.Kernel(); s.kernel == nil {
		s.err = errors.New("the map names no kernel to compare with")
		return
	}
	keys := rff.Keys(m)
	if _, width := keys.Dims(); width != out {
		s.err = fmt.Errorf("the map has %d features, that of keys %d", out, width)
		return
	}
	const block = 64
	fx, fy := dense.New[T](min(block, x.Rows), out), dense.New[T](min(block, x.Rows), out)
	for lo := 0; lo < x.Rows; lo += block {
		if s.err = c.err(); s.err != nil {
			return
		}
		hi := min(lo+block, x.Rows)
		px := m.Transform(fx.RowRange(0, hi-lo), x.RowRange(lo, hi))
		py := keys.Transform(fy.RowRange(0, hi-lo), y.RowRange(lo, hi))
		for i := range px.Rows {
			s.estimates[lo+i], s.sizes[lo+i] = inner(px.Row(i), py.Row(i))
		}
	}
}

// inner returns Σ x_l·y_l and Σ |x_l·y_l| in float64.
func inner[T dense.Float](x, y []T) (sum, size float64) {
	y = y[:len(x)]
	for l, v := range x {
		term := float64(v) * float64(y[l])
		sum += term
		size += math.Abs(term)
	}
	return sum, size
}

// evaluate sets the truth at every pair, unless c ends early.
func (m *measurement) evaluate(x, y dense.Matrix[float64], c *control) {
	parallel.Rows(x.Rows, 64, func(lo, hi int) {
		for i := lo; i < hi && c.err() == nil; i++ {
			m.truth[i] = m.kernel.Eval(x.Row(i), y.Row(i))
		}
	})
}

// add accumulates one draw.
func (m *measurement) add(s *sample) {
	m.draws++
	var total float64
	for i, v := range s.estimates {
		e := v - m.truth[i]
		m.estimates[i].add(v)
		m.sizes[i].add(s.sizes[i])
		m.squares[i].add(e * e)
		if m.scales != nil {
			e *= m.scales[i]
		}
		total += e * e / float64(len(s.estimates))
	}
	m.overall.add(total)
}

// running is a mean and a sum of squared deviations, updated one value at a
// time [Welford 1962].
type running struct {
	n    int
	mean float64
	dev  float64
}

func (r *running) add(v float64) {
	r.n++
	if math.IsInf(r.mean, 0) && !math.IsNaN(v) && v != -r.mean {
		return // the mean stays infinite, where Welford's method has Inf − Inf
	}
	delta := v - r.mean
	r.mean += delta / float64(r.n)
	r.dev += delta * (v - r.mean)
}

// stdErr returns the standard error of the mean.
func (r *running) stdErr() float64 {
	n := float64(r.n)
	return math.Sqrt(r.dev / (n - 1) / n)
}
