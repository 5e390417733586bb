package recurrence_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
)

// matricesOf are the matrices of x, with names.
func matricesOf[T dense.Float](x recurrence.Tokens[T]) map[string]dense.Matrix[T] {
	return map[string]dense.Matrix[T]{"q": x.Q, "k": x.K, "v": x.V, "decay": x.Decay, "beta": x.Beta}
}

// Every rule, kind of decay, grouping of heads and length has the gradients of the recurrence
// token by token, and past has one.
func TestRecurrenceBackwardIsTheAdjoint(t *testing.T) {
	densetest.Both(t, testRecurrenceBackward[float32], testRecurrenceBackward[float64])
}

func testRecurrenceBackward[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(330))
	tolerance := 30 * recurrenceTolerance[T]()
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		for _, shape := range []recurrenceShape{
			{heads: 1, keyHeads: 1, d: 5, dv: 3},
			{heads: 4, keyHeads: 2, d: 18, dv: 7, shared: true},
		} {
			shape.wide = wide
			for _, lengths := range [][]int{{0}, {1}, {7}, {64}, {73}, {5, 0, 130, 1}} {
				for _, strong := range []bool{false, true} {
					x := shape.tokens(rng, rule, sum(lengths))
					if strong {
						for i := range x.Decay.Data {
							x.Decay.Data[i] *= 50
						}
					}
					x.Lengths = lengths
					single := convertTokens[T](x)
					rows := len(lengths) * shape.keyHeads * shape.d
					start := densetest.Normal[T](rng, rows, shape.dv, 0, 1)
					dout, last := densetest.Normal[T](rng, x.K.Rows, shape.heads*shape.dv, 0, 1), densetest.Normal[T](rng, rows, shape.dv, 0, 1)
					double := func(m dense.Matrix[T]) dense.Matrix[float64] {
						return dense.Copy(dense.Matrix[float64]{}, m)
					}
					m := naive{rule: rule, heads: shape.heads, keyHeads: shape.keyHeads, normalise: strong}
					want, wantPast := m.backward(convertTokens[float64](single), double(start), double(dout), double(last))
					r := must.Have(recurrence.New[T](shape.heads, shape.keyHeads, recurrence.Options{Rule: rule, NormaliseKeys: strong}))
					dpast := densetest.Filled[T](rows, shape.dv, 7)
					got := r.Backward(recurrence.Tokens[T]{}, dpast, single, start, dout, last)
					for name, g := range matricesOf(got) {
						if name == "decay" {
							// A difference of sums of this size.
							size := math.Sqrt(float64(shape.d*shape.dv)) * 10
							densetest.RequireClose(t, want.Decay, densetest.Filled(g.Rows, g.Cols, tolerance*size), g, "%v %+v %v: decay", rule, shape, lengths)
							continue
						}
						requireNear(t, matricesOf(want)[name], g, tolerance, "%v %+v %v: %s", rule, shape, lengths, name)
					}
					requireNear(t, wantPast, dpast, tolerance, "%v %+v %v: past", rule, shape, lengths)
				}
			}
		}
	})
}

// Gradients are those of differences of Forward.
func TestRecurrenceBackwardIsTheDerivative(t *testing.T) {
	const n, step = 50, 1e-5
	rng := rand.New(densetest.Source(331))
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		shape := recurrenceShape{heads: 2, keyHeads: 1, d: 3, dv: 2, wide: wide}
		x := shape.tokens(rng, rule, n)
		opts := recurrence.Options{Rule: rule, NormaliseKeys: true, Scale: 1}
		const dk = 3
		r := must.Have(recurrence.New[float64](2, 1, opts))
		past, dout, last := densetest.Normal[float64](rng, dk, 2, 0, 1), densetest.Normal[float64](rng, n, 4, 0, 1), densetest.Normal[float64](rng, dk, 2, 0, 1)
		loss := func() float64 {
			sums, total := dense.New[float64](dk, 2), 0.0
			for i, v := range r.Forward(dense.Matrix[float64]{}, x, past, sums).Data {
				total += v * dout.Data[i]
			}
			for i, v := range sums.Data {
				total += v * last.Data[i]
			}
			return total
		}
		dpast := dense.New[float64](dk, 2)
		got := matricesOf(r.Backward(recurrence.Tokens[float64]{}, dpast, x, past, dout, last))
		inputs := matricesOf(x)
		inputs["past"], got["past"] = past, dpast
		for name, m := range inputs {
			for range min(12, len(m.Data)) {
				at := rng.IntN(len(m.Data))
				was := m.Data[at]
				m.Data[at] = was + step
				above := loss()
				m.Data[at] = was - step
				below := loss()
				m.Data[at] = was
				require.InDelta(t, (above-below)/(2*step), got[name].Data[at], 1e-5, "%v wide=%v: %s at %d", rule, wide, name, at)
			}
		}
	})
}

// Bits do not depend on the number of processors, and nothing is allocated.
func TestRecurrenceBackwardProcessors(t *testing.T) {
	rng := rand.New(densetest.Source(332))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		shape := recurrenceShape{heads: 3, keyHeads: 3, d: 8, dv: 8, wide: wide, shared: true}
		x := convertTokens[float32](shape.tokens(rng, rule, 150))
		x.Lengths = []int{100, 50}
		dout := densetest.Normal[float32](rng, 150, 24, 0, 1)
		r := must.Have(recurrence.New[float32](3, 3, recurrence.Options{Rule: rule, NormaliseKeys: true}))
		var none dense.Matrix[float32]
		first := r.Backward(recurrence.Tokens[float32]{}, none, x, none, dout, none)
		for _, processors := range []int{1, 2, 5} {
			before := runtime.GOMAXPROCS(processors)
			again := matricesOf(r.Backward(recurrence.Tokens[float32]{}, none, x, none, dout, none))
			runtime.GOMAXPROCS(before)
			for name, m := range matricesOf(first) {
				require.True(t, densetest.Identical(m, again[name]), "%v: %s, %d processors", rule, name, processors)
			}
		}
		if !race.Detector {
			for _, processors := range []int{1, 2} {
				require.Zero(t, allocs.Settled(processors, func() { r.Backward(first, none, x, none, dout, none) }), "%v: %d processors", rule, processors)
			}
		}
	})
}

func TestRecurrenceBackwardErrors(t *testing.T) {
	mat := dense.New[float64]
	var none dense.Matrix[float64]
	x := recurrence.Tokens[float64]{Q: mat(5, 4), K: mat(5, 2), V: mat(5, 3)}
	r := must.Have(recurrence.New[float64](2, 1, recurrence.Options{}))
	for want, f := range map[string]func(){
		"recurrence: dout is 5×3, q is 5×4, v is 5×3, want 5×6, a gradient for each output":        func() { r.Backward(x, none, x, none, mat(5, 3), none) },
		"recurrence: dpresent is 1×3, want 2×3: 1 sequences, 1 heads of keys and 2×3 sums of each": func() { r.Backward(x, none, x, none, mat(5, 6), mat(1, 3)) },
		"recurrence: dpast is 1×3, want 2×3: 1 sequences, 1 heads of keys and 2×3 sums of each":    func() { r.Backward(x, mat(1, 3), x, none, mat(5, 6), none) },
		"dense: destination is 5×3, want 5×2": func() {
			r.Backward(recurrence.Tokens[float64]{K: mat(5, 3)}, none, x, none, mat(5, 6), none)
		},
	} {
		assert.PanicsWithValue(t, want, f)
	}
}
