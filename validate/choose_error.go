package validate

import (
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
)

// mostForError bounds a map if only its error has a limit.
const mostForError = 1 << 14

// reach sets the fields of r, with as few frequencies as the error needs, or else with the largest
// number within the budget.
func (r *Ranked[T]) reach(run *control, c Choice[T], px, py dense.Matrix[T], o ChooseOptions, src rand.Source) error {
	one, err := r.at(1, c, src)
	if err != nil {
		return err
	}
	_, per := one.Dims()
	most := max(mostForError/per, 1)
	if o.Features > 0 || o.Time > 0 {
		if _, err := r.fit(run, c, o, src); err != nil {
			return err
		}
		most = r.Frequencies
	}
	enough := *r
	enough.Frequencies = 0
	// Errors are about proportional to 1/m, so that a few steps are enough.
	target := o.Error * o.Error
	for m, step := min(32, most), 0; step < 6 && run.err() == nil; step++ {
		drawn, err := r.at(m, c, src)
		if err != nil {
			return err
		}
		r.Frequencies = m
		_, r.Features = drawn.Dims()
		if o.Time > 0 {
			r.Time = timed(drawn, c.x, c.y)
		}
		if err := r.judge(run, drawn, c, px, py, o, src); err != nil {
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
