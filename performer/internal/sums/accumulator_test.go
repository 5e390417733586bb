package sums

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// A key of weight zero is as no key: its log-features, however large, do not take the sums of others
// below the range of the type.
func TestWeightZeroHasNoReference(t *testing.T) {
	e := logarithmsOf[float32](8, 1, false)
	with, without := e.Accumulator(1), e.Accumulator(1)
	logs := densetest.Filled(2, 8, float32(-3))
	layout.Fill(logs.Row(0), 200)
	values := densetest.Filled(2, 1, float32(0.5))
	without.add(logs.RowRange(1, 2).Clone(), values.RowRange(1, 2), []float32{0.25}, make([]float32, 8))
	with.add(logs, values, []float32{0, 0.25}, make([]float32, 8))
	assert.Equal(t, without.Ref.Exponents(), with.Ref.Exponents())
	assert.Equal(t, without.Sums(), with.Sums())
	assert.InDelta(t, math.Exp(-3)/4, float64(with.Sums().At(0, 1))*math.Ldexp(1, int(with.Ref.Exponents()[0])), 1e-7)
}
