package orf

import (
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
)

// Cauchy is the law of frequencies whose coordinates are independent standard Cauchy variables, the
// spectral law of the Laplacian kernel exp(−‖x−y‖₁) [Rahimi and Recht 2007]. Cauchy frequencies
// have no moments and are not isotropic, so that rff.Laplacian is the only Spec of a feature map
// that rff.Draw accepts with Cauchy frequencies.
type Cauchy struct{}

func (Cauchy) ensemble() {}

// String returns Cauchy.
func (Cauchy) String() string { return "Cauchy" }

func cauchy[T dense.Float](e Cauchy, m, d int, src rand.Source) (Projection[T], error) {
	w, err := unrounded(m, d)
	if err != nil {
		return nil, err
	}
	rng := rand.New(src)
	for i := range w.Data {
		w.Data[i] = math.Tan(math.Pi * (rng.Float64() - 0.5))
	}
	return rounded[T](w, e), nil
}
