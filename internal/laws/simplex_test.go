package laws

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"
)

// A simplex helps positive features more than orthogonal rows do, and features that
// do not tell w from −w less.
func TestSimplexAgainstORF(t *testing.T) {
	x, y := pointX, pointY
	for m := 2; m <= 11; m++ {
		assert.Less(t, PositiveSimplex.Softmax(x, y, m), PositiveORF.Softmax(x, y, m), "m=%d", m)
		assert.Less(t, OptimalSimplex(-0.2).Softmax(x, y, m), OptimalORF(-0.2).Softmax(x, y, m), "m=%d", m)
		assert.Greater(t, HyperbolicSimplex.Softmax(x, y, m), HyperbolicORF.Softmax(x, y, m), "m=%d", m)
		assert.Greater(t, TrigSimplex.Softmax(x, y, m), TrigORF.Softmax(x, y, m), "m=%d", m)
		assert.Greater(t, PhaseSimplex.Gaussian(x, y, m), PhaseORF.Gaussian(x, y, m), "m=%d", m)
		assert.Greater(t, DotProductSimplex(x, y, m, Chi), DotProductORF(x, y, m), "m=%d", m)
	}
}

// A whole block of fixed lengths spans a hyperplane evenly: the estimate is
// d/(d−1)·(s − (qᵀx)(qᵀy)) with its normal q, uniform on the sphere. In the plane both rows
// give the same term.
func TestDotProductSimplexOfAWholeBlock(t *testing.T) {
	for d, xy := range enumerated {
		if d == 1 {
			continue
		}
		x, y := xy[0], xy[1]
		n, s := float64(d), floats.Dot(x, y)
		fourth := floats.Dot(x, x)*floats.Dot(y, y) + 2*s*s
		want := n * n / ((n - 1) * (n - 1)) * (fourth/(n*(n+2)) - s*s/(n*n))
		assert.InEpsilon(t, want, DotProductSimplex(x, y, d, Fixed), 1e-13, "d=%d", d)
	}
	x, y := enumerated[2][0], enumerated[2][1]
	assert.InEpsilon(t, DotProductSimplex(x, y, 1, Fixed), DotProductSimplex(x, y, 2, Fixed), 1e-14)
}

func ExamplePositiveSimplex() {
	x, y := []float64{0.5, 0.5, 0, 0}, []float64{0.5, 0.5, 0.5, 0}
	fmt.Printf("%.3f %.3f %.3f\n", PositiveIID.Softmax(x, y, 4), PositiveORF.Softmax(x, y, 4), PositiveSimplex.Softmax(x, y, 4))
	// Output: 5.768 5.275 4.635
}
