package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// backward returns the gradients that a form gives.
func backward[T dense.Float](form performer.Attention[T], in [3]dense.Matrix[T], dout dense.Matrix[T]) [3]dense.Matrix[T] {
	var none dense.Matrix[T]
	dq, dk, dv := form.(differentiable[T]).Backward(none, none, none, in[0], in[1], in[2], dout)
	return [3]dense.Matrix[T]{dq, dk, dv}
}

// smooth says that a map has derivatives that are not zero.
func smooth(name string) bool { return name != "angular" }

// differentiableMaps returns the maps of rff on R^d.
func differentiableMaps[T dense.Float](d int) []namedMap[T] {
	var all []namedMap[T]
	for _, m := range maps[T](d) {
		if attention(m.Map, performer.LinearOptions{}).CanBackward() == nil {
			all = append(all, m)
		}
	}
	return all
}

// loss returns Σ dout∘out.
func loss(form performer.Attention[float64], in [3]dense.Matrix[float64], dout dense.Matrix[float64]) float64 {
	var none dense.Matrix[float64]
	out, sum := form.Forward(none, in[0], in[1], in[2]), 0.0
	for i := range out.Rows {
		for c, x := range out.Row(i) {
			sum += x * dout.At(i, c)
		}
	}
	return sum
}

// derivative returns the derivative of the loss along a direction in input number at,
// by central differences of sixth order.
func derivative(form performer.Attention[float64], in [3]dense.Matrix[float64], dout dense.Matrix[float64], at int, direction dense.Matrix[float64]) float64 {
	const step = 1e-5
	along := func(t float64) float64 {
		moved := in
		moved[at] = in[at].Clone()
		for i, x := range direction.Data {
			moved[at].Data[i] += t * x
		}
		return loss(form, moved, dout)
	}
	first := (along(step) - along(-step)) / (2 * step)
	second := (along(2*step) - along(-2*step)) / (4 * step)
	third := (along(3*step) - along(-3*step)) / (6 * step)
	return (15*first - 6*second + third) / 10
}

// Some rows of inputs move, -1 being all of them at once. The truth is accurate to 1e-7
// of the gradient times the direction.
func requireDerivatives(t *testing.T, rows []int, form performer.Attention[float64], in [3]dense.Matrix[float64], dout dense.Matrix[float64], format string, args ...any) {
	t.Helper()
	rng := rand.New(densetest.Source(201))
	what := fmt.Sprintf(format, args...)
	for at, g := range backward(form, in, dout) {
		require.Equal(t, [2]int{in[at].Rows, in[at].Cols}, [2]int{g.Rows, g.Cols}, what)
		for _, row := range rows {
			direction := densetest.Normal[float64](rng, g.Rows, g.Cols, 0, 1)
			got, size := 0.0, 0.0
			for i := range g.Rows {
				if row >= 0 && i != row%g.Rows {
					clear(direction.Row(i))
				}
				for j, x := range direction.Row(i) {
					got += x * g.At(i, j)
					size += math.Abs(x * g.At(i, j))
				}
			}
			want := derivative(form, in, dout, at, direction)
			require.InDelta(t, want, got, 1e-6*max(size, 1e-3), "%s: %s, row %d", what, []string{"q", "k", "v"}[at], row)
		}
	}
}

func TestBackwardIsTheDerivative(t *testing.T) {
	const d, dv = 4, 3
	rng := rand.New(densetest.Source(200))
	for _, size := range [][2]int{{3, 3}, {70, 70}, {5, 80}, {80, 5}} {
		in := [3]dense.Matrix[float64]{rowsOf[float64](rng, size[0], d), rowsOf[float64](rng, size[1], d), rowsOf[float64](rng, size[1], dv)}
		dout := densetest.Normal[float64](rng, size[0], dv, 0, 1)
		for _, opts := range forms {
			if opts.Causal && size[0] != size[1] {
				continue
			}
			exact := must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: opts.Causal}, Unnormalised: opts.Unnormalised}))
			rows := []int{0, 2, 34, 69, -1}
			requireDerivatives(t, rows, exact, in, dout, "exact %+v %v", opts, size)
			for _, m := range differentiableMaps[float64](d) {
				rows := rows
				if m.name == "arc-cosine" {
					rows = rows[:4] // all rows move across some kink
				}
				if smooth(m.name) {
					requireDerivatives(t, rows, attention(m.Map, opts), in, dout, "%s %+v %v", m.name, opts, size)
				}
			}
		}
	}
}

// Nothing can be learnt through the features of these maps, but through values.
func TestBackwardOfSteps(t *testing.T) {
	rng := rand.New(densetest.Source(202))
	in := [3]dense.Matrix[float64]{rowsOf[float64](rng, 70, 4), rowsOf[float64](rng, 70, 4), rowsOf[float64](rng, 70, 2)}
	for _, m := range differentiableMaps[float64](4) {
		if smooth(m.name) {
			continue
		}
		for _, opts := range forms {
			a := attention(m.Map, opts)
			g := backward[float64](a, in, rowsOf[float64](rng, 70, 2))
			assert.Zero(t, largest(g[0]), m.name)
			assert.Zero(t, largest(g[1]), m.name)
			assert.NotZero(t, largest(g[2]), m.name)
		}
	}
}
