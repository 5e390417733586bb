package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/performer"
)

// backward returns the gradients that a form gives.
func backward[T dense.Float](form performer.Attention[T], in [3]dense.Matrix[T], dout dense.Matrix[T]) [3]dense.Matrix[T] {
	var none dense.Matrix[T]
	dq, dk, dv := form.(differentiable[T]).Backward(none, none, none, in[0], in[1], in[2], dout)
	return [3]dense.Matrix[T]{dq, dk, dv}
}

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
