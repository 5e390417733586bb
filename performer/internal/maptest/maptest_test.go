package maptest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// The same arguments give the same features, and a centred map has other ones.
func TestMaps(t *testing.T) {
	x := densetest.Gapped[float64](1, 5, 3)
	features := func(m rff.Map[float64]) dense.Matrix[float64] { return m.Transform(dense.Matrix[float64]{}, x) }
	got := features(maptest.Positive[float64](4, 3))
	assert.Equal(t, got, features(maptest.Positive[float64](4, 3)))
	for _, phi := range got.Data {
		assert.Positive(t, phi)
	}
	assert.NotEqual(t, got, features(maptest.Centred(maptest.Positive[float64](4, 3))))
}
