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
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// rowOf returns row i as a matrix.
func rowOf[T dense.Float](m dense.Matrix[T], i int) dense.Matrix[T] { return m.RowRange(i, i+1) }

// Single tokens, in float32, add up as well as chunks do: one after another, the same
// ones again and again, they would be off by 10⁻⁴ of their size.
func TestStateLongSums(t *testing.T) {
	const n, d, rounds = 1000, 8, 100
	rng := rand.New(densetest.Source(211))
	q, k, v := densetest.Normal[float64](rng, n, d, 0, 0.5), densetest.Normal[float64](rng, n, d, 0, 0.5), densetest.Normal[float64](rng, n, 2, 1, 1)
	single := func(x dense.Matrix[float64]) dense.Matrix[float32] { return dense.Copy(dense.Matrix[float32]{}, x) }
	exact := must.Have(attention(maptest.Positive[float64](32, d), performer.LinearOptions{}).NewState(d, 2))
	s := must.Have(attention(maptest.Positive[float32](32, d), performer.LinearOptions{}).NewState(d, 2))
	exact.Append(k, v)
	q32, k32, v32, dst := single(q), single(k), single(v), dense.New[float32](n, 2)
	for range rounds {
		s.Step(dst, q32, k32, v32)
	}
	want := exact.Attend(dense.Matrix[float64]{}, q) // the average is that of one round
	densetest.RequireClose(t, want, densetest.Filled(n, 2, 1e-5), s.Attend(dst, q32), "after %d tokens", s.Len())
}

// Norms that keep growing, so that no fixed reference would do: outputs stay within the bound.
func TestStateGrowingNorms(t *testing.T) {
	t.Parallel()
	densetest.Both(t, testStateGrowing[float32], testStateGrowing[float64])
}

func testStateGrowing[T dense.Float](t *testing.T) {
	const n, d, dv = 200, 4, 2
	rng := rand.New(densetest.Source(206))
	k, q, v := densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, dv, 0, 1)
	for i := range n {
		for j := range d {
			k.Row(i)[j] *= T(float64(i) / 8)
		}
	}
	a := attention(maptest.Positive[T](16, d), performer.LinearOptions{Causal: true})
	want, tol := newPairs(a, q, k).attend(dense.Copy(dense.Matrix[float64]{}, v))
	densetest.RequireClose(t, want, tol, must.Have(a.NewState(d, dv)).Step(dense.Matrix[T]{}, q, k, v), "growing")
}

func TestStateErrors(t *testing.T) {
	a := attention(maptest.Positive[float32](8, 4), performer.LinearOptions{})
	_, err := a.NewState(4, 0)
	assert.EqualError(t, err, "performer: d = 4, dv = 0, want at least 1")
	_, err = a.NewState(3, 2)
	assert.EqualError(t, err, "performer: d = 3, but the attention takes points of R^4")
	_, err = must.Have(performer.NewExact[float32](performer.ExactOptions{})).NewState(0, 2)
	assert.EqualError(t, err, "performer: d = 0, dv = 2, want at least 1")
	for _, forms := range [][]performer.Attention[float32]{{forwardOnly{}}, {forwardOnly{}, forwardOnly{}}} {
		_, err = must.Have(performer.NewBatch(performer.BatchOptions{Heads: 2}, forms...)).NewState(4, 3)
		assert.EqualError(t, err, "performer: performer_test.forwardOnly has no state, want Linear or Exact attention")
	}

	s := must.Have(must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: 2}, a)).NewState(4, 3))
	mat := dense.New[float32]
	var none dense.Matrix[float32]
	for want, f := range map[string]func(){
		"performer: k is 5×4, v is 5×6, want n×8 and n×6 for 2 heads of the state": func() { s.Append(mat(5, 4), mat(5, 6)) },
		"performer: k is 5×8, v is 4×6, want n×8 and n×6 for 2 heads of the state": func() { s.Append(mat(5, 8), mat(4, 6)) },
		"performer: k is 5×8, v is 5×3, want n×8 and n×6 for 2 heads of the state": func() { s.Step(none, mat(5, 8), mat(5, 8), mat(5, 3)) },
		"performer: q is 5×4, want n×8 for 2 heads of the state":                   func() { s.Attend(none, mat(5, 4)) },
		"performer: q is 4×8, k is 5×8, want as many queries as keys for a step":   func() { s.Step(none, mat(4, 8), mat(5, 8), mat(5, 6)) },
		"dense: destination is 5×5, want 5×6":                                      func() { s.Attend(mat(5, 5), mat(5, 8)) },
	} {
		assert.PanicsWithValue(t, want, f, fmt.Sprint(want))
	}
	assert.Zero(t, s.Len(), "what panics takes in nothing")

	assert.EqualError(t, s.Merge(nil), "performer: other is nil")
	assert.EqualError(t, s.Merge(must.Have(a.NewState(4, 3))), "performer: other has 1 heads over 1 with d = 4 and dv = 3, the state 2 heads over 2 with d = 4 and dv = 3")
	var zero performer.State[float32]
	const made = "performer: the state belongs to no attention, want one of NewState"
	assert.EqualError(t, s.Merge(&zero), made)
	assert.EqualError(t, zero.Merge(s), made)
	assert.EqualError(t, zero.UnmarshalBinary(nil), made)
	_, err = zero.MarshalBinary()
	assert.EqualError(t, err, made)
	for _, f := range []func(){
		func() { zero.Append(none, none) }, func() { zero.Attend(none, none) }, func() { zero.Step(none, none, none, none) },
		func() { zero.Snapshot(nil) }, func() { zero.Rollback(nil) },
	} {
		assert.PanicsWithValue(t, made, f)
	}
}

// A state refuses what belongs to features that were redrawn, and takes the same
// features made again.
func TestStateRefusesOtherFeatures(t *testing.T) {
	densetest.Both(t, testRefusal[float32], testRefusal[float64])
}

func testRefusal[T dense.Float](t *testing.T) {
	const d, dv = 4, 3
	rng := rand.New(densetest.Source(209))
	drawn := func(seed uint64) rff.Map[T] {
		return must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, must.Have(orf.Draw[T](orf.GramSchmidt{}, 32, d, densetest.Source(seed)))))
	}
	a := must.Have(performer.NewLinear(drawn(1), performer.LinearOptions{Causal: true}))
	s := must.Have(a.NewState(d, dv))
	s.Append(rowsOf[T](rng, 9, d), rowsOf[T](rng, 9, dv))
	data := must.Have(s.MarshalBinary())

	again := must.Have(performer.NewLinear(drawn(1), performer.LinearOptions{}))
	refuses := func(a performer.Linear[T]) error { return s.Merge(must.Have(a.NewState(d, dv))) }
	assert.NoError(t, refuses(again), "the same features, made again")
	assert.NoError(t, must.Have(again.NewState(d, dv)).Merge(s))
	assert.NoError(t, must.Have(again.NewState(d, dv)).UnmarshalBinary(data))

	const differ = "performer: the features differ from those that the state belongs to"
	redrawn := must.Have(performer.NewLinear(drawn(2), performer.LinearOptions{Causal: true}))
	other := must.Have(redrawn.NewState(d, dv))
	assert.EqualError(t, refuses(redrawn), differ)
	assert.EqualError(t, other.Merge(s), differ)
	assert.EqualError(t, other.UnmarshalBinary(data), differ)
	assert.Zero(t, other.Len())

	for name, f := range map[string][2]rff.Map[T]{
		"other queries": {drawn(2), drawn(1)},
		"other keys":    {drawn(1), drawn(2)},
		"other scale": {
			must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1.01}, must.Have(orf.Draw[T](orf.GramSchmidt{}, 32, d, densetest.Source(1))))),
			must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1.01}, must.Have(orf.Draw[T](orf.GramSchmidt{}, 32, d, densetest.Source(1))))),
		},
	} {
		assert.EqualError(t, refuses(must.Have(performer.NewLinearOf(f[0], f[1], performer.LinearOptions{}))), differ, name)
	}
	assert.EqualError(t, refuses(attention(maptest.Positive[T](16, d), performer.LinearOptions{})), `performer: other with "m = 16", want "m = 32"`)
	trig := must.Have(rff.Draw(rff.Angular{}, maptest.Frequencies[T](32, d)))
	assert.EqualError(t, refuses(attention[T](trig, performer.LinearOptions{})), `performer: other with "logarithms = false", want "logarithms = true"`)
}

// Every map is told from itself with other random numbers, and recognises itself when
// each feature is off by rounding.
func TestMarks(t *testing.T) {
	densetest.Both(t, testMarks[float32], testMarks[float64])
}

func testMarks[T dense.Float](t *testing.T) {
	const d = 5
	rng := rand.New(densetest.Source(210))
	for _, m := range maps[T](d) {
		a := attention(m.Map, performer.LinearOptions{})
		marks := append([]float64(nil), performer.InsideOf(a).Engine.Marks()...)
		require.NoError(t, performer.InsideOf(a).Engine.CheckMarks(marks), m.name)
		for f := range marks {
			marks[f] *= 1 + 8*densetest.Roundoff[T]()*rng.NormFloat64()
		}
		require.NoError(t, performer.InsideOf(a).Engine.CheckMarks(marks), m.name)
		for f := range performer.InsideOf(a).M/16 + 1 {
			marks[f] += 0.01
		}
		require.Error(t, performer.InsideOf(a).Engine.CheckMarks(marks), m.name)
		marks = append([]float64(nil), performer.InsideOf(a).Engine.Marks()...)
		marks[0], marks[performer.InsideOf(a).M-1] = math.NaN(), math.NaN()
		if performer.InsideOf(a).M < 32 {
			require.Error(t, performer.InsideOf(a).Engine.CheckMarks(marks), "%s: NaN", m.name)
		}
	}
}
