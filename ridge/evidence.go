package ridge

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
)

type problem struct {
	ctx      context.Context
	opts     Options
	rows     float64   // effective number n of rows, or n − 1 with an intercept
	constant float64   // terms of the evidence that depend on the weights alone
	trace    float64   // of ΦᵀΦ
	single   bool      // products of features were summed in float32
	rounding float64   // norm of the rounding of ΦᵀΦ and its factorisation
	squares  []float64 // yᵀy
	cross    dense.Matrix[float64]
	square   dense.Matrix[float64] // upper triangle of ΦᵀΦ
	work     dense.Matrix[float64] // memory of the factorisation
}

const (
	unit = 0x1p-53 // unit roundoff of float64

	// margin is the least λ in units of the rounding of ΦᵀΦ; the error of a fit is about 1/margin.
	margin = 1 << 10

	// Outside of these bounds of yᵀy and the trace of ΦᵀΦ products underflow or overflow.
	least, most = 0x1p-900, 0x1p900
)

func newProblem(ctx context.Context, m *moments, o Options) (*problem, error) {
	if err := m.checkFit(); err != nil {
		return nil, err
	}
	p := &problem{ctx: ctx, opts: o}
	p.rows, p.constant = m.evidenceTerms(o)
	p.squares, p.cross = m.about(!o.NoIntercept)
	var err error
	if p.square, err = m.products(ctx, !o.NoIntercept); err != nil {
		return nil, err
	}
	for i := range p.square.Rows {
		for j, v := range p.square.Row(i)[i:] {
			if v-v != 0 {
				return nil, fmt.Errorf("ridge: the sum of products of features %d and %d is %v, want a finite number", i, i+j, v)
			}
		}
		for j, v := range p.cross.Row(i) {
			if v-v != 0 {
				return nil, fmt.Errorf("ridge: the sum of products of feature %d and output %d is %v, want a finite number", i, j, v)
			}
		}
	}
	for j, v := range p.squares {
		if !(v == 0 || v >= least && v <= most) {
			return nil, fmt.Errorf("ridge: the sum of squares of output %d is %.3g, want 0 or a number from %.0e to %.0e: scale the targets", j, v, least, most)
		}
	}
	largest := 0.0
	for i := range p.square.Rows {
		p.trace += p.square.At(i, i)
		largest = max(largest, p.square.At(i, i))
	}
	if !(p.trace == 0 || p.trace >= least && p.trace <= most) {
		return nil, fmt.Errorf("ridge: the squares of the features have the sum %.3g, want 0 or a number from %.0e to %.0e: scale the features", p.trace, least, most)
	}
	// Element (i, j) has an error of about 4·u·√(s_ii·s_jj), and a random D×D matrix the norm 2√D.
	p.rounding = 8 * unit * math.Sqrt(largest*p.trace)
	if p.single = m.single != nil; p.single {
		p.rounding = max(p.rounding, singleMargin/margin*m.single.norm(&m.square))
	}
	return p, nil
}

func (m *moments) checkFit() error {
	if m.n == 0 || !(m.weight > 0) {
		return errNoRows
	}
	if len(m.targets) == 0 {
		return errors.New("ridge: the sums have no targets, want at least 1 to fit")
	}
	return nil
}

// evidenceTerms returns the number of contrasts of the targets, and terms of the weights alone.
func (m *moments) evidenceTerms(o Options) (n, constant float64) {
	if o.NoIntercept {
		return m.rows, -m.logWeight
	}
	return m.rows - 1, math.Log(m.weight) - m.logWeight
}

type evidenceFit struct {
	factor       *cholesky.Factor
	weights      dense.Matrix[float64]
	noise, prior []float64
	evidence     float64
	hidden       bool // the residual is below the rounding of yᵀy
}

// at returns the solution for λ = ratio. The next call overwrites its factor, which is in p.work.
func (p *problem) at(ratio float64) (f evidenceFit, err error) {
	p.work = resize(p.work, p.square.Rows, p.square.Rows)
	a := p.work
	for i := range a.Rows {
		copy(a.Row(i)[i:], p.square.Row(i)[i:])
		a.Row(i)[i] += ratio
	}
	if f.factor, err = cholesky.New(p.ctx, a); err != nil {
		return evidenceFit{}, err
	}
	f.weights = p.cross.Clone()
	for lo, hi := range interrupt.Ranges(p.ctx, f.weights.Cols, tile) {
		f.factor.Solve(f.weights.ColRange(lo, hi))
	}
	outputs := len(p.squares)
	f.noise, f.prior = make([]float64, outputs), make([]float64, outputs)
	for j := range outputs {
		rest := p.squares[j]
		for i := range f.weights.Rows {
			rest -= p.cross.At(i, j) * f.weights.At(i, j)
		}
		// rest has a rounding of about 10·u·yᵀy, and the evidence multiplies it by ½·rows/rest.
		if !(rest > 1024*unit*p.rows*p.squares[j]) {
			f.hidden = true
			rest = max(rest, 0)
		}
		f.noise[j], f.prior[j] = p.opts.variances(ratio, rest/p.rows)
		f.evidence -= 0.5 * (rest/f.noise[j] + f.factor.LogDet - float64(a.Rows)*math.Log(ratio) +
			p.rows*math.Log(2*math.Pi*f.noise[j]) + p.constant)
	}
	return f, nil
}

func (p *problem) chooseRatio() (float64, error) {
	low := margin * p.rounding
	if ratio, given := p.opts.ratio(); given {
		if !(ratio > low) || math.IsInf(ratio, 0) {
			return 0, fmt.Errorf("ridge: Noise/Prior = %.3g, want more than %.3g, below which the rounding of the sums is felt", ratio, low)
		}
		return ratio, nil
	}
	if err := p.opts.checkNoise(p.rows, p.squares); err != nil {
		return 0, err
	}
	if !(p.trace > 0) {
		return 0, fmt.Errorf("ridge: the features do not vary, which tells nothing of the signal: want Noise and Prior")
	}
	var failed error
	at, value := maximise(math.Log(low), math.Log(10*p.trace), 1e-3, func(log float64) float64 {
		if failed != nil {
			return math.Inf(-1)
		}
		f, err := p.at(math.Exp(log))
		if failed = p.ctx.Err(); err != nil || f.hidden && p.opts.Noise == 0 || f.evidence != f.evidence {
			return math.Inf(-1)
		}
		return f.evidence
	})
	if failed != nil {
		return 0, failed
	}
	if p.single && at-math.Log(low) < math.Log(10*p.trace/low)/gridSteps {
		return 0, errSingle // the maximum may be below low
	}
	if math.IsInf(value, -1) {
		return 0, fmt.Errorf("ridge: the sums are singular to rounding for every noise")
	}
	return math.Exp(at), nil
}

func (o Options) checkNoise(n float64, squares []float64) error {
	if n < 1 {
		least := 2.0
		if o.NoIntercept {
			least = 1
		}
		return fmt.Errorf("ridge: %.3g effective rows tell nothing of the noise, want at least %v, or Noise and Prior", n+least-1, least)
	}
	if o.Noise == 0 && o.Prior == 0 {
		for j, v := range squares {
			if v == 0 {
				return fmt.Errorf("ridge: output %d does not vary, which tells nothing of its noise: want Noise or Prior", j)
			}
		}
	}
	return nil
}

const gridSteps = 10

// maximise searches from the best point of a grid by golden sections and parabolas [Brent 1973].
func maximise(low, high, tolerance float64, f func(x float64) float64) (at, value float64) {
	const most = 40
	step := (high - low) / gridSteps
	value = math.Inf(-1)
	at = low
	for i := range gridSteps + 1 {
		if v := f(low + float64(i)*step); v > value {
			at, value = low+float64(i)*step, v
		}
	}
	a, b := max(low, at-step), min(high, at+step)
	second, third := at, at
	secondValue, thirdValue := value, value
	golden := (3 - math.Sqrt(5)) / 2
	var last, before float64 // the previous two steps
	for range most {
		middle := (a + b) / 2
		if math.Abs(at-middle)+(b-a)/2 <= 2*tolerance {
			break
		}
		// The vertex of the parabola through the three best points, if inside and steps decrease.
		r := (at - second) * (value - thirdValue)
		q := (at - third) * (value - secondValue)
		p := (at-third)*q - (at-second)*r
		q = 2 * (q - r)
		if q > 0 {
			p = -p
		}
		q = math.Abs(q)
		former := before
		before = last
		if math.Abs(p) < math.Abs(q*former/2) && p > q*(a-at) && p < q*(b-at) {
			last = p / q
		} else {
			before = a - at
			if at < middle {
				before = b - at
			}
			last = golden * before
		}
		x := at + last
		if math.Abs(last) < tolerance {
			x = at + math.Copysign(tolerance, last)
		}
		v := f(x)
		if v >= value {
			if x >= at {
				a = at
			} else {
				b = at
			}
			third, thirdValue, second, secondValue, at, value = second, secondValue, at, value, x, v
			continue
		}
		if x < at {
			a = x
		} else {
			b = x
		}
		if v >= secondValue || second == at {
			third, thirdValue, second, secondValue = second, secondValue, x, v
		} else if v >= thirdValue || third == at || third == second {
			third, thirdValue = x, v
		}
	}
	return at, value
}
