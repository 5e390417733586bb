package estimate

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
)

// A summand that is 2^2000 times as large decides the ratio, in either order. A row with the
// denominator zero changes nothing.
func TestExponentsOfRatios(t *testing.T) {
	for _, order := range [][]float64{{-1000, 1000}, {1000, -1000}} {
		var p ratios
		p.reset(1, 1)
		addRow(&p, 0, []float32{0}, 0, 1, 5000)
		for _, e := range order {
			addRow(&p, 0, []float32{float32(e)}, 1, 1.5, e)
		}
		addRow(&p, 0, []float32{0}, 0, 1, 5000)
		got := dense.New[float64](1, 1)
		p.outputs(got)
		assert.Equal(t, 1000.0, got.Data[0])
	}
}
