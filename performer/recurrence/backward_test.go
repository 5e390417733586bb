package recurrence_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

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

// Bits do not depend on the number of processors, and nothing is allocated.
func TestRecurrenceBackwardProcessors(t *testing.T) {
	rng := rand.New(densetest.Source(332))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		shape := recurrenceShape{heads: 3, keyHeads: 3, d: 8, dv: 8, wide: wide, shared: true}
		x := convertTokens[float32](shape.tokens(rng, rule, 150))
		x.Lengths = []int{100, 50}
		dout := densetest.Normal[float32](rng, 150, 24, 0, 1)
		r := must.Have(recurrence.New[float32](recurrence.Options{Heads: 3, Rule: rule, NormaliseKeys: true}))
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
	r := must.Have(recurrence.New[float64](recurrence.Options{Heads: 2, KeyHeads: 1}))
	for want, f := range map[string]func(){
		"recurrence: dout is 5×3, q is 5×4, v is 5×3, want 5×6, a gradient for each output":          func() { r.Backward(x, none, x, none, mat(5, 3), none) },
		"recurrence: dpresent is 1×3, want 2×3: 1 sequences, 1 heads of values and 2×3 sums of each": func() { r.Backward(x, none, x, none, mat(5, 6), mat(1, 3)) },
		"recurrence: dpast is 1×3, want 2×3: 1 sequences, 1 heads of values and 2×3 sums of each":    func() { r.Backward(x, mat(1, 3), x, none, mat(5, 6), none) },
		"dense: destination is 5×3, want 5×2": func() {
			r.Backward(recurrence.Tokens[float64]{K: mat(5, 3)}, none, x, none, mat(5, 6), none)
		},
	} {
		assert.PanicsWithValue(t, want, f)
	}
}

// Every rule, kind of decay, grouping of heads and length has the gradients of differences of
// Forward, and past has one. Gradients in float32 are those in float64 to rounding.
func TestRecurrenceBackwardIsTheDerivative(t *testing.T) {
	rng := rand.New(densetest.Source(330))
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		for _, shape := range []recurrenceShape{
			{heads: 1, keyHeads: 1, d: 5, dv: 3, wide: wide},
			{heads: 4, keyHeads: 2, d: 18, dv: 7, wide: wide, shared: true},
		} {
			for _, lengths := range [][]int{{0}, {1}, {7}, {64}, {73}, {5, 0, 130, 1}} {
				for _, strong := range []bool{false, true} {
					single := convertTokens[float32](shape.tokens(rng, rule, sum(lengths)))
					for i := range single.Decay.Data {
						if strong {
							single.Decay.Data[i] *= 50
						}
					}
					single.Lengths = lengths
					testDerivative(t, rng, single, shape, recurrence.Options{Rule: rule, NormaliseKeys: strong})
				}
			}
		}
	})
}

func testDerivative(t *testing.T, rng *rand.Rand, single recurrence.Tokens[float32], shape recurrenceShape, opts recurrence.Options) {
	const step = 1e-4
	x, n, dv := convertTokens[float64](single), single.K.Rows, shape.dv
	rows := max(len(x.Lengths), 1) * shape.keyHeads * shape.d
	start, dout, last := densetest.Normal[float32](rng, rows, dv, 0, 1), densetest.Normal[float32](rng, n, shape.heads*dv, 0, 1), densetest.Normal[float32](rng, rows, dv, 0, 1)
	double := func(m dense.Matrix[float32]) dense.Matrix[float64] { return dense.Copy(dense.Matrix[float64]{}, m) }
	past, weights, lastWeights := double(start), double(dout), double(last)
	opts.Heads, opts.KeyHeads = shape.heads, shape.keyHeads
	r := must.Have(recurrence.New[float64](opts))
	dpast := densetest.Filled[float64](rows, dv, 7)
	got, inputs := matricesOf(r.Backward(recurrence.Tokens[float64]{}, dpast, x, past, weights, lastWeights)), matricesOf(x)
	inputs["past"], got["past"] = past, dpast
	sums := dense.New[float64](rows, dv)
	loss := func() float64 {
		return floats.Dot(weights.Data, r.Forward(dense.Matrix[float64]{}, x, past, sums).Data) + floats.Dot(lastWeights.Data, sums.Data)
	}
	for name, m := range inputs {
		size := 0.0
		for _, v := range got[name].Data {
			size = max(size, math.Abs(v))
		}
		for range min(4, len(m.Data)) {
			at := rng.IntN(len(m.Data))
			was := m.Data[at]
			along := func(t float64) float64 {
				m.Data[at] = was + t
				defer func() { m.Data[at] = was }()
				return loss()
			}
			want := (8*(along(step)-along(-step)) - (along(2*step) - along(-2*step))) / (12 * step)
			require.InDelta(t, want, got[name].Data[at], 1e-7*size+1e-8, "%+v %+v %v: %s at %d", opts, shape, x.Lengths, name, at)
		}
	}

	narrow := densetest.Filled[float32](rows, dv, 7)
	in32 := must.Have(recurrence.New[float32](opts)).Backward(recurrence.Tokens[float32]{}, narrow, single, start, dout, last)
	all := matricesOf(in32)
	all["past"] = narrow
	for name, g := range all {
		tolerance := 30 * recurrenceTolerance[float32]()
		if name == "decay" { // a difference of sums of this size
			tolerance *= math.Sqrt(float64(shape.d*dv)) * 10
			densetest.RequireClose(t, got[name], densetest.Filled(g.Rows, g.Cols, tolerance), g, "%+v %+v %v: decay", opts, shape, x.Lengths)
			continue
		}
		requireNear(t, got[name], g, tolerance, "%+v %+v %v: %s", opts, shape, x.Lengths, name)
	}
}
