package layer_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

func scaled(d int, base float64, s layer.RotaryScaling) []float64 {
	return must.Have(layer.NewRotary[float64](d, layer.RotaryOptions{Base: base, Scaling: s})).Frequencies()
}

// TestRotaryScalings compares with the formulas of the papers.
func TestRotaryScalings(t *testing.T) {
	const d, base, factor, context = 64, 10000.0, 8.0, 2048
	plain := scaled(d, base, nil)
	for i, w := range plain {
		assert.InDelta(t, math.Exp(-2*float64(i)/d*math.Log(base)), w, 1e-15)
	}

	for i, w := range scaled(d, base, layer.RotaryLinear{Factor: factor}) {
		assert.InDelta(t, plain[i]/factor, w, 1e-16)
	}

	ntk := scaled(d, base, layer.RotaryNTK{Factor: factor})
	longer := scaled(d, base*math.Pow(factor, d/(d-2.0)), nil)
	for i, w := range ntk {
		assert.InDelta(t, longer[i], w, 1e-15)
	}
	assert.Equal(t, plain[0], ntk[0])
	assert.InDelta(t, plain[d/2-1]/factor, ntk[d/2-1], 1e-18)

	// Llama 3 by wavelengths, as its authors' program has it.
	for i, w := range scaled(d, 500000, layer.RotaryLlama3{Factor: factor, LowFrequency: 1, HighFrequency: 4, Context: context}) {
		f := math.Pow(500000, -2*float64(i)/d)
		wavelength := 2 * math.Pi / f
		want := f
		switch {
		case wavelength > context/1.0:
			want = f / factor
		case wavelength >= context/4.0:
			smooth := (context/wavelength - 1) / (4 - 1)
			want = (1-smooth)*f/factor + smooth*f
		}
		assert.InDelta(t, want, w, 1e-15, "pair %d", i)
	}

	// YaRN with the ramp between the pairs of 32 turns and of one.
	pair := func(turns float64) float64 { return d * math.Log(context/(2*math.Pi*turns)) / (2 * math.Log(base)) }
	low, high := math.Floor(pair(32)), math.Ceil(pair(1))
	assert.Greater(t, high, low+2)
	for i, w := range scaled(d, base, layer.RotaryYaRN{Factor: factor, Context: context}) {
		ramp := (float64(i) - low) / (high - low)
		switch {
		case float64(i) <= low:
			ramp = 0
		case float64(i) >= high:
			ramp = 1
		}
		assert.InDelta(t, plain[i]/factor*ramp+plain[i]*(1-ramp), w, 1e-15, "pair %d", i)
	}
}

// TestRotaryYaRNLength: turned rows are 0.1·log Factor + 1 times as long, or as given.
func TestRotaryYaRNLength(t *testing.T) {
	for _, c := range []struct{ length, want float64 }{{0, 0.1*math.Log(4) + 1}, {1.5, 1.5}} {
		r := must.Have(layer.NewRotary[float64](8, layer.RotaryOptions{Scaling: layer.RotaryYaRN{Factor: 4, Context: 32, Length: c.length}}))
		x := sines[float64](1, 8, 0.2)
		y := x.Clone()
		r.Angles(layer.Angles[float64]{}, []int{9}).Turn(y)
		assert.InDelta(t, c.want*math.Sqrt(lossOf(x, x)), math.Sqrt(lossOf(y, y)), 1e-14)
	}
}
