package nystroem

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// Sums below the normal numbers keep their size: the factor to their reference is out of range, and
// the product is not.
func TestBelowNormalNumbers(t *testing.T) {
	acc, m := sums.New(sums.Operator[float64]{M: 1, Logs: true}).Accumulator(1), mixer[float64]{top: 1691}
	m.sums.Shape(1, 2)
	copy(m.sums.Rows(1).Row(0), []float64{0x1p-1060, 0x1p-1060})
	m.place(acc, 0, nil, false)
	for _, x := range acc.Sums().Row(0) {
		assert.Equal(t, 0x1p631, math.Ldexp(x, int(acc.Ref.Exponents()[0])))
	}
}
