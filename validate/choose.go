package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/rff"
)

// Candidate is a way to draw maps that Choose may pick.
type Candidate[T dense.Float] struct {
	Name string

	// Draw makes a map with m frequencies from src. It may fit the map to the samples x and y,
	// which it must not change or keep.
	Draw func(m int, x, y dense.Matrix[T], src rand.Source) (rff.Map[T], error)

	// Control, if not nil, is Draw with independent frequencies, whose law is known. If an error
	// must be measured, Choose measures its ratio to the error of Control over the same number of
	// draws, and multiplies the ratio by the law of Control. If each frequency is Gaussian, both
	// errors have the same tails, and what the measurement misses of the tails cancels.
	Control func(m int, x, y dense.Matrix[T], src rand.Source) (rff.Map[T], error)
}

// ErrInaccurate is the error of Choose if no candidate has an error up to ChooseOptions.Error
// within the budget. errors.Is finds ErrInaccurate in it.
var ErrInaccurate = errors.New("no candidate is accurate enough")

// ChooseOptions says what a map may cost, and adjusts Choose. Set Features, Time or Error. The zero
// values of all other fields are a good choice.
type ChooseOptions struct {
	// Features is the largest number of features; 0 is no limit.
	Features int

	// Time is how long Transform may take for the samples x and y together, measured on this
	// machine during Choose; 0 is no limit. With Time the choice is not reproducible. Without
	// Features, a map has at most 2²⁰ features.
	Time time.Duration

	// Error is the largest root of the mean squared error that is good enough; 0 is any. A map then
	// has no more frequencies than it needs for that, to about one part in eight, with the margin of
	// a measured error. The best candidate has the fewest features.
	Error float64

	// Relative divides the error at a pair by the kernel there, so that small values count as much
	// as large ones. Laws of exponential features give this error also if the kernel is beyond the
	// range of float64. For other features, if the kernel is 0 or infinite at a pair, the error by
	// a law is infinite, and a candidate whose error must be measured is rejected.
	Relative bool

	// Pairs is the number of pairs of points, drawn at random from the samples. Errors are means
	// over these pairs. 0 means 256.
	Pairs int

	// Draws is the number of maps for an error that must be measured; 0 means 64.
	Draws int

	// Progress, if not nil, is called with the number of candidates that are judged and their
	// number. The calls come in order from the goroutine that chooses.
	Progress func(done, total int)
}

// Trial is the result of Choose for one candidate.
type Trial[T dense.Float] struct {
	Candidate[T]

	// Frequencies is the largest m within the budget, or the number that ChooseOptions.Error needs,
	// and Features the number of features of that map.
	Frequencies, Features int

	// MSE is the mean over the pairs of the squared error of the estimate, or of the squared
	// relative error. If Law, as Theory names it, is not "", MSE is exact and MSEStdErr is 0.
	// Otherwise MSE is measured, and MSEStdErr is its standard error over the draws, to first order
	// for a ratio.
	MSE, MSEStdErr float64
	Law            string

	// Time is how long Transform of the samples took; 0 unless Time is limited.
	Time time.Duration
}

// bound returns the number that ranks a candidate: its error plus a margin if the error is
// measured. The least of several noisy measurements is too low, and lower still if no draw has met
// a heavy tail.
func (r Trial[T]) bound() float64 {
	v := r.MSE + r.margin()
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

// margin returns four standard errors.
func (r Trial[T]) margin() float64 { return 4 * r.MSEStdErr }

// Choice is the result of Choose, the best candidate first.
type Choice[T dense.Float] struct {
	Relative bool
	Pairs    int
	Trials   []Trial[T]
	// Enough is the number of candidates whose error is good enough, which come first in Trials.
	Enough int
	// Rejected has the errors of candidates that could not be drawn, or whose error is not a
	// number.
	Rejected []error

	x, y dense.Matrix[T]
}

// Draw draws a map of the best candidate, with its number of frequencies, fitted to the samples
// that it was chosen for. An error reports a Choice without trials, and what the candidate reports.
func (c Choice[T]) Draw(src rand.Source) (rff.Map[T], error) {
	if len(c.Trials) == 0 || c.Trials[0].Candidate.Draw == nil {
		return nil, errors.New("validate: the Choice has no trials, want one of Choose")
	}
	best := c.Trials[0]
	return best.Draw(best.Frequencies, c.x, c.y, src)
}

// Choose tells which candidate estimates its kernel best within the budget, at points like the rows
// of x (n×d) and y (n'×d), which are queries and keys for softmax attention. SoftmaxCandidates and
// GaussianCandidates have the maps of this module.
//
// Each candidate gets the largest number of frequencies within the budget. Its error is a mean over
// the same random pairs (x_i, y_j), exact if Theory knows a law, and measured otherwise, by its
// Control if it has one. Then Choose ranks by the error plus four standard errors, or by the number
// of features if an Error is given. All candidates should name the same kernel.
//
// Choose judges maps by their kernel, for queries and keys without values. Where values are at
// hand, audit.Measure of performer measures errors of outputs of attention, of landmarks and
// windows too, and audit.Choose chooses attention to a tolerance.
//
// It costs a law at each pair, or Draws maps, for every candidate, on GOMAXPROCS goroutines.
// Without a Time the same source gives the same choice. x and y are kept for the Draw of the choice
// and must not change.
//
// An error reports no candidate, no limit, x or y without rows or of different dimensions, a
// coordinate that is NaN or infinite, a nil src, a negative option, Pairs too many for memory,
// Draws above 2⁴⁰, the end of ctx, and that no candidate can be ranked. ErrInaccurate
// comes with the choice: its candidates have the largest number of frequencies within the budget.
// Choose checks ctx between draws, and between values of kernels and laws. A nil ctx panics.
func Choose[T dense.Float](ctx context.Context, candidates []Candidate[T], x, y dense.Matrix[T], o ChooseOptions, src rand.Source) (Choice[T], error) {
	run := newControl(ctx, o.Progress, len(candidates))
	if err := checkChoice(x, y, candidates, o, src); err != nil {
		return Choice[T]{}, fmt.Errorf("validate: %w", err)
	}
	if o.Pairs == 0 {
		o.Pairs = 256
	}
	if o.Draws == 0 {
		o.Draws = 64
	}
	rng := rand.New(src)
	s := &selection[T]{ChooseOptions: o, control: run, x: x, y: y, px: dense.New[T](o.Pairs, x.Cols), py: dense.New[T](o.Pairs, x.Cols)}
	for i := range o.Pairs {
		copy(s.px.Row(i), x.Row(rng.IntN(x.Rows)))
		copy(s.py.Row(i), y.Row(rng.IntN(y.Rows)))
	}
	c := Choice[T]{Relative: o.Relative, Pairs: o.Pairs, x: x, y: y}
	for _, candidate := range candidates {
		if err := run.err(); err != nil {
			return Choice[T]{}, fmt.Errorf("validate: %w", err)
		}
		r := Trial[T]{Candidate: candidate}
		err := s.assess(&r, rand.NewPCG(src.Uint64(), src.Uint64()))
		if err == nil && math.IsNaN(r.MSE) {
			err = errors.New("the mean squared error is NaN: features, or the kernel, are NaN or infinite at a pair")
		}
		if done := run.err(); done != nil {
			return Choice[T]{}, fmt.Errorf("validate: %w", done)
		}
		if err != nil {
			c.Rejected = append(c.Rejected, fmt.Errorf("validate: candidate %s: %w", candidate.Name, err))
		} else {
			c.Trials = append(c.Trials, r)
		}
		run.made(1)
	}
	if len(c.Trials) == 0 {
		return Choice[T]{}, errors.Join(c.Rejected...)
	}
	slices.SortStableFunc(c.Trials, func(a, b Trial[T]) int { return cmp.Compare(a.bound(), b.bound()) })
	if o.Error == 0 {
		c.Enough = len(c.Trials)
		return c, nil
	}
	for c.Enough < len(c.Trials) && c.Trials[c.Enough].bound() <= o.Error*o.Error {
		c.Enough++
	}
	slices.SortStableFunc(c.Trials[:c.Enough], func(a, b Trial[T]) int { return cmp.Compare(a.Features, b.Features) })
	if c.Enough == 0 {
		best := c.Trials[0]
		return c, fmt.Errorf("validate: %w: candidate %s has the error %.3g with %d features, want at most %v", ErrInaccurate, best.Name, math.Sqrt(best.bound()), best.Features, o.Error)
	}
	return c, nil
}

func checkChoice[T dense.Float](x, y dense.Matrix[T], candidates []Candidate[T], o ChooseOptions, src rand.Source) error {
	x.Check()
	y.Check()
	switch {
	case len(candidates) == 0:
		return errors.New("no candidates, want at least 1")
	case x.Rows < 1 || y.Rows < 1 || x.Cols < 1 || x.Cols != y.Cols:
		return fmt.Errorf("x is %d×%d, y is %d×%d, want points of one dimension", x.Rows, x.Cols, y.Rows, y.Cols)
	case o.Features < 0:
		return fmt.Errorf("ChooseOptions.Features = %d, want at least 0", o.Features)
	case o.Time < 0:
		return fmt.Errorf("ChooseOptions.Time = %v, want at least 0", o.Time)
	case !(o.Error >= 0):
		return fmt.Errorf("ChooseOptions.Error = %v, want at least 0", o.Error)
	case o.Features == 0 && o.Time == 0 && o.Error == 0:
		return errors.New("ChooseOptions has no limit, want Features, Time or Error")
	case o.Pairs < 0:
		return fmt.Errorf("ChooseOptions.Pairs = %d, want at least 0", o.Pairs)
	case o.Draws < 0 || o.Draws == 1:
		return fmt.Errorf("ChooseOptions.Draws = %d, want at least 2, or 0 for 64", o.Draws)
	case o.Draws > limit.Repeats:
		return fmt.Errorf("ChooseOptions.Draws = %d, want at most %d", o.Draws, limit.Repeats)
	case src == nil:
		return errors.New("src is nil")
	}
	if err := limit.Memory[float64](o.Pairs, x.Cols); err != nil {
		return fmt.Errorf("ChooseOptions.Pairs = %d, of points of R^%d: %w", o.Pairs, x.Cols, err)
	}
	if err := checkNumbers("x", x); err != nil {
		return err
	}
	return checkNumbers("y", y)
}

// checkNumbers returns an error that names the first row of points with NaN or ±Inf.
func checkNumbers[T dense.Float](name string, points dense.Matrix[T]) error {
	for i := range points.Rows {
		for j, v := range points.Row(i) {
			if v-v != 0 {
				return fmt.Errorf("row %d of %s has %v in column %d, want finite numbers", i, name, v, j)
			}
		}
	}
	return nil
}

// selection holds what one call of Choose works with: its arguments, and the pairs of points at
// which it compares the candidates.
type selection[T dense.Float] struct {
	ChooseOptions
	control      *control
	x, y, px, py dense.Matrix[T]
}

// assess sets the fields of r except its candidate.
func (s *selection[T]) assess(r *Trial[T], src rand.Source) error {
	if r.Candidate.Draw == nil {
		return errors.New("Draw is nil")
	}
	if s.Error > 0 {
		return s.reach(r, src)
	}
	m, err := s.fit(r, src)
	if err != nil {
		return err
	}
	return s.judge(r, m, src)
}
