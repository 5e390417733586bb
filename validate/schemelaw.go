package validate

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/laws"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// lawOfScheme returns the law of a map of rff.New over n frequencies, if m is one and they are
// independent and normal.
func lawOfScheme[T dense.Float](m rff.Map[T], g orf.Ensemble, n int) (estimateLaw, bool) {
	made, ok := m.(interface {
		Scheme() (h func(x []T) T, f []func(t T) T)
	})
	if !ok || g != (orf.IID{}) {
		return estimateLaw{}, false
	}
	h, given := made.Scheme()
	if len(given) == 0 {
		return estimateLaw{}, false
	}
	f := make([]func(t float64) float64, len(given))
	for k, fk := range given {
		f[k] = func(t float64) float64 { return float64(fk(T(t))) }
	}
	factor := func(x []float64) float64 {
		if h == nil {
			return 1
		}
		return float64(h(dense.Convert(dense.Matrix[T]{}, dense.Of(1, len(x), x)).Row(0)))
	}
	kernel := m.Kernel()
	return estimateLaw{
		name: fmt.Sprintf("New, %v frequencies [by quadrature]", g), kernel: kernel,
		at: func(x, y []float64) (mean, mse float64, ok bool) {
			mean, variance, ok := laws.Plane(x, y, f, epsilon[T]())
			c := factor(x) * factor(y)
			mean *= c
			deviation := c * math.Sqrt(variance)
			mse = deviation * deviation / float64(n)
			if kernel != nil {
				bias := mean - kernel.Eval(x, y)
				mse += bias * bias
			}
			return mean, mse, ok
		},
	}, true
}
