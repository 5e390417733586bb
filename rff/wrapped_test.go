package rff_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// What is made of a map that is Paired is Paired: its estimate is that of the pair.
func TestMapsOfPairedMaps(t *testing.T) {
	const d = 4
	w := must.Have(orf.Draw[float64](orf.IID{}, 30, d, exprand.NewSource(1)))
	x, y := points[float64](2, 9, d, 1), points[float64](3, 9, d, 0.2)
	pair := must.Have(rff.Draw(must.Have(rff.FitSADERF(x, y, 1)), w))
	alone := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w))
	turned := rff.Affine{A: points[float64](4, d, d, 0.5)}
	for name, wrap := range map[string]func(m rff.Map[float64]) (rff.Map[float64], error){
		"compose": func(m rff.Map[float64]) (rff.Map[float64], error) { return rff.Compose(turned, m) },
		"sum": func(m rff.Map[float64]) (rff.Map[float64], error) {
			return rff.Sum([]rff.Map[float64]{alone, m}, []float64{2, 0.5})
		},
	} {
		wrapped := must.Have(wrap(pair))
		keys := rff.Keys(wrapped)
		assert.Equal(t, wrapped.Kernel(), keys.Kernel(), name)
		want := must.Have(wrap(rff.Keys[float64](pair)))
		assert.Equal(t, want.Transform(dense.Matrix[float64]{}, y), keys.Transform(dense.Matrix[float64]{}, y), name)
		assert.NotEqual(t, wrapped.Transform(dense.Matrix[float64]{}, y), keys.Transform(dense.Matrix[float64]{}, y), name)
		assert.True(t, rff.Keys(keys) == wrapped, name)

		own := must.Have(wrap(alone))
		assert.True(t, rff.Keys(own) == own, name)
	}
}

// holder is a map of a type that can be compared, with a part that cannot.
type holder struct {
	rff.Map[float64]
	part any
}

func TestMapsOfMapsThatCannotBeCompared(t *testing.T) {
	inner := must.Have(rff.Draw[float64](rff.Identity{D: 3}, nil))
	f := must.Have(rff.Sum([]rff.Map[float64]{holder{inner, []int{1}}}, []float64{2}))
	x := points[float64](5, 9, 3, 1)
	assert.Equal(t, f.Transform(dense.Matrix[float64]{}, x), rff.Keys(f).Transform(dense.Matrix[float64]{}, x))
}

// optional has the optional interfaces of a map: LogMap, Differentiable, DifferentiableLog.
func optional(m rff.Map[float64]) (found [3]bool) {
	_, found[0] = m.(rff.LogMap[float64])
	_, found[1] = m.(rff.Differentiable[float64])
	_, found[2] = m.(rff.DifferentiableLog[float64])
	return found
}
