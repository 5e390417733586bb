package estimate

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/limittest"
)

// The errors of sizes that exceed the memory name the argument and the value.
func TestSizes(t *testing.T) {
	densetest.Both(t, testSizes[float32], testSizes[float64])
}

func testSizes[T dense.Float](t *testing.T) {
	const most = math.MaxInt/2 + 1
	memory := limittest.Memory(t, "estimate")
	for _, n := range []int{math.MaxInt, most, most / 2} {
		memory("Dim = %d, Features = 0: ", n)(NewUnbiased[T](UnbiasedOptions{Dim: n}, densetest.Source(1)))
		memory("Dim = 3, Features = %d: ", n)(NewUnbiased[T](UnbiasedOptions{Dim: 3, Features: n}, densetest.Source(1)))
	}
	if math.MaxInt > math.MaxInt32 {
		_, err := NewUnbiased[T](UnbiasedOptions{Dim: 3, Features: 2, Replicates: math.MaxInt}, densetest.Source(1))
		assert.EqualError(t, err, fmt.Sprintf("estimate: Replicates = %d, want at most 1099511627775", math.MaxInt))
	}
}

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
