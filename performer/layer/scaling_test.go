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

// TestRotaryYaRNUnrounded compares with the formula of the program of gpt-oss: a ramp over pairs
// between fractions of pairs. Rounding of its limits makes ω_17 larger by 76 %.
func TestRotaryYaRNUnrounded(t *testing.T) {
	const d, base, factor, context = 64, 150000.0, 32.0, 4096
	yarn := layer.RotaryYaRN{Factor: factor, Context: context, Unrounded: true}
	got := scaled(d, base, yarn)
	low := d / 2 * math.Log(context/(32*2*math.Pi)) / math.Log(base)
	high := d / 2 * math.Log(context/(1*2*math.Pi)) / math.Log(base)
	for i, w := range got {
		frequency := math.Pow(base, 2*float64(i)/d)
		keep := 1 - min(max((float64(i)-low)/(high-low), 0), 1)
		want := 1/(factor*frequency)*(1-keep) + 1/frequency*keep
		assert.InEpsilon(t, want, w, 1e-13, "pair %d", i)
	}
	yarn.Unrounded = false
	assert.InDelta(t, 1.76, scaled(d, base, yarn)[17]/got[17], 0.005)
}

// TestRotaryNTKDynamic: the base is that of the number of tokens, and that of training up to the
// tokens of training.
func TestRotaryNTKDynamic(t *testing.T) {
	const d, base, factor, context = 64, 10000.0, 2.0, 4096
	for _, tokens := range []int{1, context, context + 1, 3 * context, 100_000} {
		grown := max(tokens, context)
		longer := base * math.Pow(factor*float64(grown)/context-(factor-1), d/(d-2.0))
		got := scaled(d, base, layer.RotaryNTK{Factor: factor, Context: context, Tokens: tokens})
		for i, w := range got {
			assert.InEpsilon(t, math.Pow(longer, -2*float64(i)/d), w, 1e-13, "%d tokens, pair %d", tokens, i)
		}
	}
}

// TestRotaryLongRoPE compares with the formulas of the paper: each pair has a divisor of its own, and
// rows are √(1 + ln s/ln L) times as long, or as given.
func TestRotaryLongRoPE(t *testing.T) {
	const d, base, context, most = 8, 10000.0, 4096, 131072
	s := layer.RotaryLongRoPE{
		Short: []float64{1, 1.1, 1.5, 2}, Long: []float64{1.05, 3, 20, 32.5},
		Factor: most / context, Context: context,
	}
	for _, c := range []struct {
		tokens   int
		length   float64
		divisors []float64
		want     float64
	}{
		{1, 0, s.Short, math.Sqrt(1 + math.Log(32)/math.Log(4096))},
		{context, 1.25, s.Short, 1.25},
		{context + 1, 1, s.Long, 1},
		{most, 0, s.Long, math.Sqrt(17.0 / 12)},
	} {
		s.Tokens, s.Length = c.tokens, c.length
		r := must.Have(layer.NewRotary[float64](d, layer.RotaryOptions{Scaling: s}))
		for i, w := range r.Frequencies() {
			assert.InEpsilon(t, math.Pow(base, -2*float64(i)/d)/c.divisors[i], w, 1e-14, "%d tokens, pair %d", c.tokens, i)
		}
		x := sines[float64](1, d, 0.2)
		y := x.Clone()
		r.Angles(layer.Angles[float64]{}, []int{9}).Turn(y)
		assert.InDelta(t, c.want*math.Sqrt(lossOf(x, x)), math.Sqrt(lossOf(y, y)), 1e-14)
	}
	s.Factor, s.Tokens, s.Length = 1, 1, 0
	r := must.Have(layer.NewRotary[float64](d, layer.RotaryOptions{Scaling: s}))
	x := sines[float64](1, d, 0.2)
	y := x.Clone()
	r.Angles(layer.Angles[float64]{}, []int{9}).Turn(y)
	assert.InDelta(t, lossOf(x, x), lossOf(y, y), 1e-14, "a Factor of 1 changes no length")
}
