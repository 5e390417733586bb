package validate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// judge sets the error of r, whose map is m.
func (s *selection[T]) judge(r *Trial[T], m rff.Map[T], src rand.Source) error {
	k := m.Kernel()
	if k == nil {
		return errors.New("the map names no kernel to compare with")
	}
	x, y := dense.Copy(dense.Matrix[float64]{}, s.px), dense.Copy(dense.Matrix[float64]{}, s.py)
	r.MSEStdErr = 0
	if r.MSE, r.Law = predicted(s.control, m, x, y, s.Relative); r.Law != "" {
		return nil
	}
	var scales []float64
	var err error
	if s.Relative {
		if scales, err = reciprocals(k, x, y); err != nil {
			return err
		}
	}
	if r.MSE, r.MSEStdErr, err = s.measure(r.Draw, r.Frequencies, scales, src); err != nil || r.Control == nil {
		return err
	}
	control, err := r.Control(r.Frequencies, s.x, s.y, src)
	if err != nil {
		return fmt.Errorf("the control: %w", err)
	}
	exact, law := predicted(s.control, control, x, y, s.Relative)
	if law == "" {
		return nil
	}
	mean, stdErr, err := s.measure(r.Control, r.Frequencies, scales, src)
	if err != nil {
		return fmt.Errorf("the control: %w", err)
	}
	r.MSE, r.MSEStdErr = exact*r.MSE/mean, exact/mean*math.Hypot(r.MSEStdErr, stdErr*r.MSE/mean)
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

// measure returns the mean squared error of maps that draw makes with m frequencies, and its standard
// error. Errors are multiplied by the scales.
func (s *selection[T]) measure(draw drawing[T], m int, scales []float64, src rand.Source) (mse, stdErr float64, err error) {
	of := func(src rand.Source) (rff.Map[T], error) { return draw(m, s.x, s.y, src) }
	total, err := measure(of, s.px, s.py, s.Draws, src, newControl(s.control.ctx, nil, 0), scales)
	if err != nil {
		return 0, 0, err
	}
	return total.overall.mean, total.overall.stdErr(), nil
}
