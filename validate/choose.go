package validate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/limit"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/kernels"
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

// ErrInaccurate is the error of Choose if no candidate has an error up to ChooseOptions.Error within
// the budget. errors.Is finds ErrInaccurate in it.
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

	// Options has the Context, and the Progress in candidates.
	Options
}

// Ranked is what Choose found about a candidate.
type Ranked[T dense.Float] struct {
	Candidate[T]

	// Frequencies is the largest m within the budget, or the number that ChooseOptions.Error needs,
	// and Features the number of features of that map.
	Frequencies, Features int

	// MSE is the mean over the pairs of the squared error of the estimate, or of the squared
	// relative error. If Law, as Theory names it, is not "", MSE is exact and StdErr is 0.
	// Otherwise MSE is measured, and StdErr is its standard error over the draws, to first order
	// for a ratio.
	MSE, StdErr float64
	Law         string

	// Time is how long Transform of the samples took; 0 unless Time is limited.
	Time time.Duration
}

// bound returns the number that ranks a candidate. A measured error counts with a margin on top,
// because the least of several noisy measurements is too low, and a heavy tail that no draw has met
// makes it lower still.
func (r Ranked[T]) bound() float64 {
	v := r.MSE + r.margin()
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

// margin returns four standard errors.
func (r Ranked[T]) margin() float64 { return 4 * r.StdErr }

// Choice is the result of Choose, the best candidate first.
type Choice[T dense.Float] struct {
	Relative bool
	Pairs    int
	Ranking  []Ranked[T]
	// Enough is the number of candidates whose error is good enough, which come first in the Ranking.
	Enough int
	// Rejected has the errors of candidates that could not be drawn, or whose error is not a
	// number.
	Rejected []error

	x, y dense.Matrix[T]
}

// Best returns the first of the ranking.
func (c Choice[T]) Best() Ranked[T] { return c.Ranking[0] }

// Draw draws a map of the best candidate, with its number of frequencies, fitted to the samples
// that it was chosen for.
func (c Choice[T]) Draw(src rand.Source) (rff.Map[T], error) {
	return c.Best().Draw(c.Best().Frequencies, c.x, c.y, src)
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
// Choose judges maps by their kernel, for queries and keys without values. Where values are at hand,
// performer.Audit measures errors of outputs of attention, of landmarks and windows too, and
// performer.Within chooses attention to a tolerance.
//
// It costs a law at each pair, or Draws maps, for every candidate, on GOMAXPROCS goroutines.
// Without a Time the same source gives the same choice. x and y are kept for the Draw of the choice
// and must not change.
//
// An error reports no candidate, no limit, x or y without rows or of different dimensions, a
// coordinate that is NaN or infinite, a nil src, a negative option, Pairs too many for memory,
// Draws above 2⁴⁰, a Context that is done, and that no candidate can be ranked. ErrInaccurate comes
// with the choice: its candidates have the largest number of frequencies within the budget.
func Choose[T dense.Float](x, y dense.Matrix[T], candidates []Candidate[T], o ChooseOptions, src rand.Source) (Choice[T], error) {
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
	px, py := dense.New[T](o.Pairs, x.Cols), dense.New[T](o.Pairs, x.Cols)
	for i := range o.Pairs {
		copy(px.Row(i), x.Row(rng.IntN(x.Rows)))
		copy(py.Row(i), y.Row(rng.IntN(y.Rows)))
	}
	c := Choice[T]{Relative: o.Relative, Pairs: o.Pairs, x: x, y: y}
	run := &control{Options: o.Options, total: len(candidates)}
	for _, candidate := range candidates {
		if err := run.err(); err != nil {
			return Choice[T]{}, fmt.Errorf("validate: %w", err)
		}
		r := Ranked[T]{Candidate: candidate}
		err := r.assess(run, c, px, py, o, rand.NewPCG(src.Uint64(), src.Uint64()))
		if err == nil && math.IsNaN(r.MSE) {
			err = errors.New("the mean squared error is NaN: features, or the kernel, are NaN or infinite at a pair")
		}
		if done := run.err(); done != nil {
			return Choice[T]{}, fmt.Errorf("validate: %w", done)
		}
		if err != nil {
			c.Rejected = append(c.Rejected, fmt.Errorf("validate: candidate %s: %w", candidate.Name, err))
		} else {
			c.Ranking = append(c.Ranking, r)
		}
		run.made(1)
	}
	if len(c.Ranking) == 0 {
		return Choice[T]{}, errors.Join(c.Rejected...)
	}
	slices.SortStableFunc(c.Ranking, func(a, b Ranked[T]) int { return cmp.Compare(a.bound(), b.bound()) })
	if o.Error == 0 {
		c.Enough = len(c.Ranking)
		return c, nil
	}
	for c.Enough < len(c.Ranking) && c.Ranking[c.Enough].bound() <= o.Error*o.Error {
		c.Enough++
	}
	slices.SortStableFunc(c.Ranking[:c.Enough], func(a, b Ranked[T]) int { return cmp.Compare(a.Features, b.Features) })
	if c.Enough == 0 {
		best := c.Best()
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

// assess sets the fields of r except its candidate.
func (r *Ranked[T]) assess(run *control, c Choice[T], px, py dense.Matrix[T], o ChooseOptions, src rand.Source) error {
	if r.Candidate.Draw == nil {
		return errors.New("Draw is nil")
	}
	if o.Error > 0 {
		return r.reach(run, c, px, py, o, src)
	}
	m, err := r.fit(run, c, o, src)
	if err != nil {
		return err
	}
	return r.judge(run, m, c, px, py, o, src)
}

// judge sets the error of r, whose map is m.
func (r *Ranked[T]) judge(run *control, m rff.Map[T], c Choice[T], px, py dense.Matrix[T], o ChooseOptions, src rand.Source) error {
	k := m.Kernel()
	if k == nil {
		return errors.New("the map names no kernel to compare with")
	}
	x, y := dense.Copy(dense.Matrix[float64]{}, px), dense.Copy(dense.Matrix[float64]{}, py)
	r.StdErr = 0
	if r.MSE, r.Law = predicted(run, m, x, y, c.Relative); r.Law != "" {
		return nil
	}
	var scales []float64
	var err error
	if c.Relative {
		if scales, err = reciprocals(k, x, y); err != nil {
			return err
		}
	}
	if r.MSE, r.StdErr, err = r.measure(run, r.Draw, c, px, py, scales, o.Draws, src); err != nil || r.Control == nil {
		return err
	}
	control, err := r.Control(r.Frequencies, c.x, c.y, src)
	if err != nil {
		return fmt.Errorf("the control: %w", err)
	}
	exact, law := predicted(run, control, x, y, c.Relative)
	if law == "" {
		return nil
	}
	mean, stdErr, err := r.measure(run, r.Control, c, px, py, scales, o.Draws, src)
	if err != nil {
		return fmt.Errorf("the control: %w", err)
	}
	r.MSE, r.StdErr = exact*r.MSE/mean, exact/mean*math.Hypot(r.StdErr, stdErr*r.MSE/mean)
	return nil
}

// reciprocals returns 1/k at every pair.
func reciprocals(k kernels.Kernel, x, y dense.Matrix[float64]) ([]float64, error) {
	scales := make([]float64, x.Rows)
	for i := range scales {
		v := k.Eval(x.Row(i), y.Row(i))
		scales[i] = 1 / v
		if v == 0 || math.IsInf(v, 0) {
			return nil, fmt.Errorf("the kernel is %v at a pair, want a number other than 0 to measure relative errors by", v)
		}
	}
	return scales, nil
}

// mostFeatures bounds a map if only its time has a limit.
const mostFeatures = 1 << 20

// fit sets the number of frequencies to the largest within the budget and returns a map with them.
func (r *Ranked[T]) fit(run *control, c Choice[T], o ChooseOptions, src rand.Source) (rff.Map[T], error) {
	m, err := r.at(1, c, src)
	if err != nil {
		return nil, err
	}
	_, per := m.Dims()
	limit := max(mostFeatures/per, 1)
	if o.Features > 0 {
		if limit = o.Features / per; limit < 1 {
			return nil, fmt.Errorf("one frequency makes %d features, the budget is %d", per, o.Features)
		}
	}
	if o.Time > 0 {
		m, err = r.within(run, o.Time, limit, m, c, src)
	} else {
		r.Frequencies = limit
		m, err = r.at(limit, c, src)
	}
	if err != nil {
		return nil, err
	}
	if _, r.Features = m.Dims(); o.Features > 0 && r.Features > o.Features {
		return nil, fmt.Errorf("%d frequencies make %d features, the budget is %d", r.Frequencies, r.Features, o.Features)
	}
	return m, nil
}

// at draws the map with m frequencies.
func (r *Ranked[T]) at(m int, c Choice[T], src rand.Source) (rff.Map[T], error) {
	drawn, err := r.Draw(m, c.x, c.y, src)
	if err != nil {
		return nil, err
	}
	if drawn == nil {
		return nil, errors.New("the map is nil")
	}
	if in, out := drawn.Dims(); in != c.x.Cols || out < 1 {
		return nil, fmt.Errorf("the map takes points of R^%d to %d features, x is %d×%d", in, out, c.x.Rows, c.x.Cols)
	}
	return drawn, nil
}

// within draws the map with the most frequencies, at most most, that keeps within the time limit.
// It finds their number to one part in eight. one is the map with one frequency.
func (r *Ranked[T]) within(run *control, limit time.Duration, most int, one rff.Map[T], c Choice[T], src rand.Source) (rff.Map[T], error) {
	best, fits := one, timed(one, c.x, c.y)
	if fits > limit {
		return nil, fmt.Errorf("one frequency takes %v, the budget is %v", fits, limit)
	}
	lo, hi := 1, 0 // lo fits; hi does not, unless it is 0
	for lo < most && (hi == 0 || hi-lo > max(1, lo/8)) {
		if err := run.err(); err != nil {
			return nil, err
		}
		next := min(2*lo, most)
		if hi > 0 {
			next = lo + (hi-lo)/2
		}
		m, err := r.at(next, c, src)
		if err != nil {
			return nil, err
		}
		if t := timed(m, c.x, c.y); t > limit {
			hi = next
		} else {
			lo, best, fits = next, m, t
		}
	}
	r.Frequencies, r.Time = lo, fits
	return best, nil
}

// timed returns the least time of three for the features of x and y.
func timed[T dense.Float](m rff.Map[T], x, y dense.Matrix[T]) time.Duration {
	keys := rff.Keys(m)
	_, out := m.Dims()
	const block = 256
	phi := dense.New[T](min(block, max(x.Rows, y.Rows)), out)
	transform := func(m rff.Map[T], x dense.Matrix[T]) {
		for lo := 0; lo < x.Rows; lo += block {
			hi := min(lo+block, x.Rows)
			m.Transform(phi.RowRange(0, hi-lo), x.RowRange(lo, hi))
		}
	}
	least := time.Duration(math.MaxInt64)
	for range 3 {
		start := time.Now()
		transform(m, x)
		transform(keys, y)
		least = min(least, time.Since(start))
	}
	return least
}

// predicted returns the mean error or relative error of m by theory, and the law. The law is "" if
// none is known or if run ends early.
func predicted[T dense.Float](run *control, m rff.Map[T], x, y dense.Matrix[float64], relative bool) (mse float64, law string) {
	l, ok := lawOf(m, nil)
	if !ok {
		return 0, ""
	}
	all := make([]float64, x.Rows)
	var unknown atomic.Bool
	parallel.Rows(x.Rows, 8, func(lo, hi int) {
		for i := lo; i < hi && run.err() == nil && !unknown.Load(); i++ {
			mse, ok := l.mse(x.Row(i), y.Row(i), relative)
			if all[i] = mse; !ok {
				unknown.Store(true)
			}
		}
	})
	if run.err() != nil || unknown.Load() {
		return 0, ""
	}
	for _, v := range all {
		mse += v / float64(len(all))
	}
	return mse, l.Name
}

// measure returns the mean squared error of maps that draw makes, and its standard error. Errors
// are multiplied by the scales.
func (r *Ranked[T]) measure(run *control, draw func(m int, x, y dense.Matrix[T], src rand.Source) (rff.Map[T], error),
	c Choice[T], px, py dense.Matrix[T], scales []float64, draws int, src rand.Source) (mse, stdErr float64, err error) {
	m, err := measure(func(src rand.Source) (rff.Map[T], error) {
		return draw(r.Frequencies, c.x, c.y, src)
	}, px, py, draws, src, &control{Options: Options{Context: run.Context}}, scales)
	if err != nil {
		return 0, 0, err
	}
	return m.overall.mean, m.overall.stdErr(), nil
}

// Table returns the ranking. It is ordered by the sum of the columns with the keys mse and margin.
// The margin is four standard errors if the error is measured, and empty if it comes from a law,
// which Ranking names. Margins and times have a column only if there are any. The table of
// candidates of this module prints within 100 columns.
func (c Choice[T]) Table() Table {
	name := "MSE"
	if c.Relative {
		name = "relative MSE"
	}
	columns := []struct {
		Column
		cell func(r Ranked[T]) any
	}{
		{Column{Name: "candidate", Key: "candidate"}, func(r Ranked[T]) any { return r.Name }},
		{Column{Name: "m", Key: "m"}, func(r Ranked[T]) any { return r.Frequencies }},
		{Column{Name: "features", Key: "features"}, func(r Ranked[T]) any { return r.Features }},
		{Column{Name: name, Key: "mse", Format: "%.4g"}, func(r Ranked[T]) any { return r.MSE }},
		{Column{Name: "±", Key: "margin", Format: "%.3g"}, func(r Ranked[T]) any { return unlessZero(r.margin()) }},
		{Column{Name: "seconds", Key: "seconds", Format: "%.2g"}, func(r Ranked[T]) any { return unlessZero(r.Time.Seconds()) }},
		{Column{Name: "by", Key: "by"}, func(r Ranked[T]) any {
			if r.Law == "" {
				return "draws"
			}
			return "law"
		}},
	}
	t := Table{
		Title: fmt.Sprintf("%d candidates at %d pairs, best first", len(c.Ranking), c.Pairs),
		Rows:  make([][]any, len(c.Ranking)),
	}
	for _, column := range columns {
		cells, some := make([]any, len(c.Ranking)), false
		for i, r := range c.Ranking {
			cells[i] = column.cell(r)
			some = some || cells[i] != nil
		}
		if !some {
			continue
		}
		if column.Key == "margin" {
			t.Title += fmt.Sprintf(" by %s and ±, 4 standard errors", name)
		}
		t.Columns = append(t.Columns, column.Column)
		for i, cell := range cells {
			t.Rows[i] = append(t.Rows[i], cell)
		}
	}
	return t
}

// unlessZero returns v, or nil for 0.
func unlessZero(v float64) any {
	if v == 0 {
		return nil
	}
	return v
}
