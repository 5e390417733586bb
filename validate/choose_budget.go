package validate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
)

// mostFeatures bounds a map if only its time has a limit.
const mostFeatures = 1 << 20

// fit sets the number of frequencies to the largest within the budget and returns a map with them.
func (s *selection[T]) fit(r *Trial[T], src rand.Source) (rff.Map[T], error) {
	m, err := s.at(r, 1, src)
	if err != nil {
		return nil, err
	}
	_, per := m.Dims()
	limit := max(mostFeatures/per, 1)
	if s.Features > 0 {
		if limit = s.Features / per; limit < 1 {
			return nil, fmt.Errorf("one frequency makes %d features, the budget is %d", per, s.Features)
		}
	}
	if s.Time > 0 {
		m, err = s.within(r, limit, m, src)
	} else {
		r.Frequencies = limit
		m, err = s.at(r, limit, src)
	}
	if err != nil {
		return nil, err
	}
	if _, r.Features = m.Dims(); s.Features > 0 && r.Features > s.Features {
		return nil, fmt.Errorf("%d frequencies make %d features, the budget is %d", r.Frequencies, r.Features, s.Features)
	}
	return m, nil
}

// at draws the map with m frequencies.
func (s *selection[T]) at(r *Trial[T], m int, src rand.Source) (rff.Map[T], error) {
	drawn, err := r.Draw(m, s.x, s.y, src)
	if err != nil {
		return nil, err
	}
	if drawn == nil {
		return nil, errors.New("the map is nil")
	}
	if in, out := drawn.Dims(); in != s.x.Cols || out < 1 {
		return nil, fmt.Errorf("the map takes points of R^%d to %d features, x is %d×%d", in, out, s.x.Rows, s.x.Cols)
	}
	return drawn, nil
}

// within draws the map with the most frequencies, at most most, that keeps within the time limit.
// It finds their number to one part in eight. one is the map with one frequency.
func (s *selection[T]) within(r *Trial[T], most int, one rff.Map[T], src rand.Source) (rff.Map[T], error) {
	best, fits := one, timed(one, s.x, s.y)
	if fits > s.Time {
		return nil, fmt.Errorf("one frequency takes %v, the budget is %v", fits, s.Time)
	}
	lo, hi := 1, 0 // lo fits; hi does not, unless it is 0
	for lo < most && (hi == 0 || hi-lo > max(1, lo/8)) {
		if err := s.control.err(); err != nil {
			return nil, err
		}
		next := min(2*lo, most)
		if hi > 0 {
			next = lo + (hi-lo)/2
		}
		m, err := s.at(r, next, src)
		if err != nil {
			return nil, err
		}
		if t := timed(m, s.x, s.y); t > s.Time {
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

// mostForError bounds a map if only its error has a limit.
const mostForError = 1 << 14

// reach sets the fields of r, with as few frequencies as the error needs, or else with the largest
// number within the budget.
func (s *selection[T]) reach(r *Trial[T], src rand.Source) error {
	one, err := s.at(r, 1, src)
	if err != nil {
		return err
	}
	_, per := one.Dims()
	most := max(mostForError/per, 1)
	if s.Features > 0 || s.Time > 0 {
		if _, err := s.fit(r, src); err != nil {
			return err
		}
		most = r.Frequencies
	}
	enough := *r
	enough.Frequencies = 0
	// Errors are about proportional to 1/m, so that a few steps are enough.
	target := s.Error * s.Error
	for m, step := min(32, most), 0; step < 6 && s.control.err() == nil; step++ {
		drawn, err := s.at(r, m, src)
		if err != nil {
			return err
		}
		r.Frequencies = m
		_, r.Features = drawn.Dims()
		if s.Time > 0 {
			r.Time = timed(drawn, s.x, s.y)
		}
		if err := s.judge(r, drawn, src); err != nil {
			return err
		}
		bound := r.bound()
		if bound <= target && (enough.Frequencies == 0 || m < enough.Frequencies) {
			enough = *r
		}
		next := float64(m) * 1.03 * bound / target
		if !(next < float64(most)) {
			next = float64(most)
		}
		n := max(int(math.Ceil(next)), 1)
		if n == m || bound <= target && n > m-m/8 {
			break
		}
		m = n
	}
	if enough.Frequencies > 0 {
		*r = enough
	}
	return nil
}
