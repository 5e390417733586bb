package validate_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
)

// sigmoid is often called a kernel. With a negative scale it is not a kernel.
type sigmoid struct{ scale, offset float64 }

func (k sigmoid) Eval(x, y []float64) float64 {
	return math.Tanh(k.scale*kernels.DotProduct{}.Eval(x, y) + k.offset)
}

func ExampleCheckKernel() {
	x := dense.Of(3, 1, []float64{0, 1, 2})
	good, err := validate.CheckKernel(kernels.Gaussian{}, x)
	if err != nil {
		fmt.Println(err)
		return
	}
	bad, err := validate.CheckKernel(sigmoid{scale: -1, offset: 0.5}, x)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(good)
	fmt.Println(bad)
	// Output:
	// positive definite: eigenvalues from 0.207 to 1.93, rank 3 of 3 (tolerance 1.28e-15)
	// indefinite: eigenvalues from -1.86 to 0.661, rank 3 of 3 (tolerance 1.24e-15); witness v with vᵀAv = -1.86
}

// Are orthogonal frequencies better than independent frequencies for attention? The ratio of their
// mean squared errors has a standard error.
func ExampleCompare() {
	const m, d, pairs = 8, 8, 10
	rng := rand.New(exprand.NewSource(1))
	x, y := dense.New[float64](pairs, d), dense.New[float64](pairs, d)
	for i := range x.Data {
		x.Data[i], y.Data[i] = rng.NormFloat64()/4, rng.NormFloat64()/4
	}
	positive := func(e orf.Ensemble) validate.Draw[float64] {
		return func(src rand.Source) (rff.Map[float64], error) {
			w, err := orf.Draw[float64](e, m, d, src)
			if err != nil {
				return nil, err
			}
			return rff.Draw(rff.SoftmaxPositive{Scale: 1}, w)
		}
	}
	c, err := validate.Compare(context.Background(), []validate.Method[float64]{
		{Name: "iid", Draw: positive(orf.IID{})},
		{Name: "orthogonal", Draw: positive(orf.GramSchmidt{})},
	}, x, y, 2000, exprand.NewSource(2))
	if err != nil {
		fmt.Println(err)
		return
	}
	orthogonal := c.Methods[1]
	fmt.Println("unbiased:", orthogonal.Unbiased(4))
	fmt.Println("better than iid by more than 4 standard errors:", 1-orthogonal.Ratio > 4*orthogonal.RatioStdErr)
	fmt.Printf("ratio about %.1f\n", orthogonal.Ratio)
	// Output:
	// unbiased: true
	// better than iid by more than 4 standard errors: true
	// ratio about 0.7
}
