package layer_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// angles returns the angles of one position, by which the pairs of (1, 0) turn.
func angles(d int, base float64, s layer.RotaryScaling) (omega []float64) {
	x := dense.New[float64](1, d)
	layout.Fill(x.Data[:d/2], 1)
	must.Have(layer.NewRotary[float64](d, layer.RotaryOptions{Base: base, Scaling: s})).Angles(layer.Angles[float64]{}, []int{1}).Turn(x)
	for i, cos := range x.Data[:d/2] {
		omega = append(omega, math.Atan2(x.Data[d/2+i], cos))
	}
	return omega
}

// TestRotaryLengths: the divisors of LongRoPE depend on the number of tokens, and turned rows are
// as many times as long as the papers say, or as given.
func TestRotaryLengths(t *testing.T) {
	long := layer.RotaryLongRoPE{Short: []float64{1, 1.1, 1.5, 2}, Long: []float64{1.05, 3, 20, 32.5}, Factor: 32, Context: 4096}
	of := func(tokens int, factor, length float64) layer.RotaryLongRoPE {
		s := long
		s.Tokens, s.Factor, s.Length = tokens, factor, length
		return s
	}
	for _, c := range []struct {
		scaling  layer.RotaryScaling
		divisors []float64
		want     float64
	}{
		{layer.RotaryYaRN{Factor: 4, Context: 32}, nil, 0.1*math.Log(4) + 1},
		{layer.RotaryYaRN{Factor: 4, Context: 32, Length: 1.5}, nil, 1.5},
		{of(1, 32, 0), long.Short, math.Sqrt(17.0 / 12)},
		{of(4096, 32, 1.25), long.Short, 1.25},
		{of(4097, 32, 1), long.Long, 1},
		{of(131072, 32, 0), long.Long, math.Sqrt(17.0 / 12)},
		{of(1, 1, 0), long.Short, 1},
	} {
		r := must.Have(layer.NewRotary[float64](8, layer.RotaryOptions{Scaling: c.scaling}))
		for i, divisor := range c.divisors {
			assert.InEpsilon(t, math.Pow(10000, -float64(i)/4)/divisor, angles(8, 0, c.scaling)[i], 1e-14, "%+v, pair %d", c.scaling, i)
		}
		x := sines[float64](1, 8, 0.2)
		y := x.Clone()
		r.Angles(layer.Angles[float64]{}, []int{9}).Turn(y)
		assert.InDelta(t, c.want*math.Sqrt(lossOf(x, x)), math.Sqrt(lossOf(y, y)), 1e-14, "%+v", c.scaling)
	}
}
