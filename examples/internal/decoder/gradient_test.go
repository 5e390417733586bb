package decoder

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// tiny has layers whose derivatives are taken element by element.
var tiny = Config{
	Vocabulary: 7, Layers: 2, Width: 8, Heads: 2, KeyHeads: 1, HeadDim: 4, Inner: 6, Epsilon: 1e-5, Base: 100, Tied: true,
}

// exact returns exact attention for the heads of c.
func exact[T dense.Float](c Config) func(int) (Attention[T], error) {
	return func(int) (Attention[T], error) {
		exact, err := performer.NewExact[T](performer.ExactOptions{Causal: true})
		if err != nil {
			return nil, err
		}
		return performer.NewBatch[T](c.Heads, c.KeyHeads, exact)
	}
}

// large makes the parameters of a new model large enough for every term of a gradient to count.
func large[T dense.Float](m *Model[T]) {
	for _, p := range m.Parameters() {
		for i := range p.Value.Data {
			p.Value.Data[i] += T(0.3 * math.Sin(float64(3*i+1)))
		}
	}
}

// TestGradients compares gradients with central differences. The error of these is
// (step²/6)·f”' + 2⁻⁵³·|f|/step, some 1e-10 for the functions here; a term left out of a gradient
// is some 1e-3 or more.
func TestGradients(t *testing.T) {
	untied := tiny
	untied.Tied = false
	for name, c := range map[string]Config{"tied": tiny, "untied": untied} {
		t.Run(name, func(t *testing.T) { testGradients(t, c) })
	}
}

func testGradients(t *testing.T, c Config) {
	b := Batch{Tokens: []int{0, 3, 6, 1, 1, 2, 5}, Next: []int{3, 4, 2, 1, 2, 0, 6}, Lengths: []int{3, 4}}
	m, err := New(c, exact[float64](c), exprand.NewSource(5))
	require.NoError(t, err)
	large(m)
	mean := func() (sum float64) {
		losses := m.Losses(b)
		for _, l := range losses {
			sum += l
		}
		return sum / float64(len(losses))
	}
	loss := m.Gradients(b)
	assert.InDelta(t, loss, mean(), 1e-15)
	assert.Greater(t, loss, 0.5)
	var gradients [][]float64
	for _, p := range m.Parameters() {
		gradients = append(gradients, p.Gradient.Clone().Data)
	}
	const step = 1e-5
	for n, p := range m.Parameters() {
		require.Len(t, gradients[n], len(p.Value.Data))
		for i := 0; i < len(p.Value.Data); i += 3 {
			v := p.Value.Data[i]
			p.Value.Data[i] = v + step
			up := mean()
			p.Value.Data[i] = v - step
			down := mean()
			p.Value.Data[i] = v
			slope := (up - down) / (2 * step)
			assert.InDelta(t, slope, gradients[n][i], 1e-7*(1+math.Abs(slope)), "parameter %d, element %d", n, i)
		}
	}
}

// TestAdamW takes two steps of one number by the formula, with a gradient that is clipped.
func TestAdamW(t *testing.T) {
	p := &Parameter[float64]{Value: dense.Of(1, 1, []float64{2}), Gradient: dense.New[float64](1, 1), Decays: true}
	a := NewAdamW([]*Parameter[float64]{p})
	w, m, v := 2.0, 0.0, 0.0
	for step, g := range []float64{-4, 0.5} {
		p.Gradient.Data[0] = g
		assert.Equal(t, math.Abs(g), a.Step(0.1))
		g /= max(1, math.Abs(g))
		m, v = 0.9*m+0.1*g, 0.95*v+0.05*g*g
		t1 := float64(step + 1)
		w -= 0.1 * (m/(1-math.Pow(0.9, t1))/(math.Sqrt(v/(1-math.Pow(0.95, t1)))+1e-8) + 0.1*w)
		assert.InDelta(t, w, p.Value.Data[0], 1e-15)
	}
}

// TestExps compares with float64 where results are normal numbers. Two units in the last place are
// 2·2⁻²³.
func TestExps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, 100_000)
	for i := range x {
		x[i] = float32(rng.Float64()*175.9 - 87.2)
	}
	y := make([]float32, len(x))
	exps(y, x)
	for i, v := range x {
		want := math.Exp(float64(v))
		require.InDelta(t, want, float64(y[i]), want*0x1p-22, "exp(%v)", v)
	}
	inf := float32(math.Inf(1))
	x = []float32{0, inf, 89, -inf, -88, float32(math.NaN())}
	exps(x, x)
	assert.Equal(t, []float32{1, inf, inf, 0, 0}, x[:5])
	assert.True(t, math.IsNaN(float64(x[5])))
}
