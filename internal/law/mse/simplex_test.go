package mse

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/orf"
)

// A simplex helps positive features more than orthogonal rows do, and features that
// do not tell w from −w less.
func TestSimplexAgainstORF(t *testing.T) {
	x, y := pointX, pointY
	for m := 2; m <= 11; m++ {
		assert.Less(t, Positive.Simplex.Softmax(x, y, m), Positive.Haar.Softmax(x, y, m), "m=%d", m)
		assert.Less(t, Optimal(-0.2).Simplex.Softmax(x, y, m), Optimal(-0.2).Haar.Softmax(x, y, m), "m=%d", m)
		assert.Greater(t, Hyperbolic.Simplex.Softmax(x, y, m), Hyperbolic.Haar.Softmax(x, y, m), "m=%d", m)
		assert.Greater(t, Trig.Simplex.Softmax(x, y, m), Trig.Haar.Softmax(x, y, m), "m=%d", m)
		assert.Greater(t, DotProduct(orf.Simplex{})(x, y, m), DotProduct(orf.GramSchmidt{})(x, y, m), "m=%d", m)
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
		assert.InEpsilon(t, want, DotProduct(orf.Simplex{FixedLength: true})(x, y, d), 1e-13, "d=%d", d)
	}
	x, y := enumerated[2][0], enumerated[2][1]
	assert.InEpsilon(t, DotProduct(orf.Simplex{FixedLength: true})(x, y, 1), DotProduct(orf.Simplex{FixedLength: true})(x, y, 2), 1e-14)
}

func ExamplePositive() {
	x, y := []float64{0.5, 0.5, 0, 0}, []float64{0.5, 0.5, 0.5, 0}
	fmt.Printf("%.3f %.3f %.3f\n", Positive.IID.Softmax(x, y, 4), Positive.Haar.Softmax(x, y, 4), Positive.Simplex.Softmax(x, y, 4))
	// Output: 5.768 5.275 4.635
}
