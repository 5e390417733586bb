package ridge

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/stream"
)

// problem is the regression for some sums, for any λ.
type problem struct {
	opts      Options
	precision float64   // unit of rounding of the features
	rows      float64   // degrees of freedom of the targets: n, or n − 1 with an intercept
	constant  float64   // what the bracket of the evidence has beyond a term for each row
	mean      []float64 // φ̄
	intercept []float64 // ȳ
	squares   []float64 // yᵀy
	cross     dense.Matrix[float64]
	square    dense.Matrix[float64] // upper triangle of ΦᵀΦ
	work      dense.Matrix[float64] // of a search, and then of the solution
}

// newProblem returns the problem of the centred sums, or of the sums about zero without an
// intercept.
func newProblem[T dense.Float](s *Sums[T], o Options) (*problem, error) {
	if s.n == 0 || !(s.weight > 0) {
		return nil, errNoRows
	}
	p := &problem{
		opts: o, precision: 0x1p-53, rows: float64(s.n), constant: -s.logWeight,
		mean: make([]float64, s.width), intercept: make([]float64, s.outputs), squares: make([]float64, s.outputs),
		cross: s.cross.Clone(), square: dense.New[float64](s.width, s.width),
	}
	if stream.ElementSize[T]() == 4 {
		p.precision = 0x1p-24
	}
	for j, origin := range s.origin {
		about := origin // where the targets of the sums are zero, relative to where they should be
		if !o.NoIntercept {
			about = -s.targets[j] / s.weight
			p.intercept[j] = origin - about
		}
		p.squares[j] = max(0, s.squares[j]+about*(2*s.targets[j]+about*s.weight))
		for i, v := range s.features {
			p.cross.Row(i)[j] += about * v
		}
	}
	if !o.NoIntercept {
		p.rows--
		p.constant += math.Log(s.weight)
		for i, v := range s.features {
			p.mean[i] = v / s.weight
		}
	}
	for i := range s.width {
		for j, v := range s.square.row(i) {
			v -= p.mean[i] * s.features[j]
			if v-v != 0 {
				return nil, fmt.Errorf("ridge: the sum of products of features %d and %d is %v, want a finite number", j, i, v)
			}
			p.square.Set(j, i, v)
		}
	}
	for j, v := range p.squares {
		if v-v != 0 {
			return nil, fmt.Errorf("ridge: the sum of squares of output %d is %v, want a finite number", j, v)
		}
	}
	return p, nil
}

// fit is the solution for one λ.
type fit struct {
	factor        *cholesky
	weights       dense.Matrix[float64]
	noise, signal []float64
	evidence      float64
}

// at returns the solution for λ = ratio. Its factor is in the memory of work until the next call.
func (p *problem) at(ratio float64) (f fit, err error) {
	p.work = resize(p.work, p.square.Rows, p.square.Rows)
	a := p.work
	for i := range a.Rows {
		copy(a.Row(i)[i:], p.square.Row(i)[i:])
		a.Row(i)[i] += ratio
	}
	if f.factor, err = newCholesky(a); err != nil {
		return fit{}, err
	}
	f.weights = p.cross.Clone()
	f.factor.solve(f.weights)
	outputs := len(p.squares)
	f.noise, f.signal = make([]float64, outputs), make([]float64, outputs)
	for j := range outputs {
		rest := p.squares[j]
		for i := range f.weights.Rows {
			rest -= p.cross.At(i, j) * f.weights.At(i, j)
		}
		// A difference below its rounding says nothing.
		rest = max(rest, p.precision*p.squares[j])
		switch {
		case p.opts.Noise > 0:
			f.noise[j] = p.opts.Noise
		case p.opts.Signal > 0:
			f.noise[j] = ratio * p.opts.Signal
		default:
			f.noise[j] = rest / p.rows
		}
		f.signal[j] = f.noise[j] / ratio
		f.evidence -= 0.5 * (rest/f.noise[j] + f.factor.size - float64(a.Rows)*math.Log(ratio) +
			p.rows*math.Log(2*math.Pi*f.noise[j]) + p.constant)
	}
	return f, nil
}

// chooseRatio returns λ: the one that is given, or the one of maximum evidence.
func (p *problem) chooseRatio() (float64, error) {
	if p.opts.Noise > 0 && p.opts.Signal > 0 {
		return p.opts.Noise / p.opts.Signal, nil
	}
	if p.rows < 1 {
		return 0, fmt.Errorf("ridge: 1 row tells nothing of the noise, want at least 2, or Noise and Signal")
	}
	if p.opts.Noise == 0 && p.opts.Signal == 0 {
		for j, v := range p.squares {
			if v == 0 {
				return 0, fmt.Errorf("ridge: output %d does not vary, which tells nothing of its noise: want Noise or Signal", j)
			}
		}
	}
	trace := 0.0
	for i := range p.square.Rows {
		trace += p.square.At(i, i)
	}
	if !(trace > 0) {
		return 0, fmt.Errorf("ridge: the features do not vary, which tells nothing of the signal: want Noise and Signal")
	}
	low, high := math.Log(4*p.precision*trace/math.Sqrt(float64(p.square.Rows))), math.Log(10*trace)
	at, value := maximise(low, high, func(log float64) float64 {
		f, err := p.at(math.Exp(log))
		if err != nil || f.evidence != f.evidence {
			return math.Inf(-1)
		}
		return f.evidence
	})
	if math.IsInf(value, -1) {
		return 0, fmt.Errorf("ridge: the sums are singular to rounding for every noise")
	}
	return math.Exp(at), nil
}

// maximise returns the place and the value of the maximum of f between low and high: the best of
// a grid, refined by golden sections and parabolas [Brent 1973] up to 0.001 around.
func maximise(low, high float64, f func(x float64) float64) (at, value float64) {
	const (
		steps     = 10
		tolerance = 1e-3
		most      = 40
	)
	step := (high - low) / steps
	value = math.Inf(-1)
	at = low
	for i := range steps + 1 {
		if v := f(low + float64(i)*step); v > value {
			at, value = low+float64(i)*step, v
		}
	}
	a, b := max(low, at-step), min(high, at+step)
	second, third := at, at
	secondValue, thirdValue := value, value
	golden := (3 - math.Sqrt(5)) / 2
	var last, before float64 // steps
	for range most {
		middle := (a + b) / 2
		if math.Abs(at-middle)+(b-a)/2 <= 2*tolerance {
			break
		}
		// The parabola through the three best places, if its vertex is inside and steps get smaller.
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
