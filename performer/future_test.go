package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// namedAttention is an attention of a table of tests.
type namedAttention[T dense.Float] struct {
	name      string
	attention performer.Attention[T]
}

// causalAttention returns one attention of every kind for points of dimension d, each causal.
func causalAttention[T dense.Float](d int) (all []namedAttention[T]) {
	add := func(name string, a performer.Attention[T]) { all = append(all, namedAttention[T]{name, a}) }
	for _, bits := range []int{0, 4, 8, 16} {
		for _, o := range []performer.ExactOptions{
			{}, {Softcap: 2}, {Window: 70}, {Window: 300, Sinks: 5}, {Window: 20, Sinks: 320}, {Chunk: 150}, {Chunk: 1}, {Slope: 0.02}, {SinkWeight: 3},
			{Window: 90, Sinks: 70, Slope: 0.01, Softcap: 3},
		} {
			if bits != 0 && bits != 8 && (o.Window == 0 || o.Window == 70) != (bits%4 == 0) {
				continue // half of the options for each of these bits
			}
			o.Causal, o.Bits = true, bits
			add(fmt.Sprintf("exact %+v", o), must.Have(performer.NewExact[T](o)))
		}
	}
	w := maptest.Frequencies[T](16, d)
	for _, o := range forms[1:] {
		add(fmt.Sprintf("softmax features %+v", o), attention[T](must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w)), o))
		add(fmt.Sprintf("cosines %+v", o), attention[T](must.Have(rff.Draw(rff.Gaussian{LengthScale: 4}, w)), o))
		add(fmt.Sprintf("elu+1 %+v", o), attention[T](must.Have(rff.Draw[T](rff.ELU{D: d}, nil)), o))
	}
	return all
}

// Whatever one element of a later query, key or value is, or all of them, outputs before it keep
// every bit: of every kind of attention, at the ends of tiles, segments and blocks.
func TestFutureOfEveryKind(t *testing.T) {
	densetest.Both(t, testFutureOfEveryKind[float32], testFutureOfEveryKind[float64])
}

func testFutureOfEveryKind[T dense.Float](t *testing.T) {
	const n, d = 900, 8
	rng := rand.New(rand.NewPCG(7, 8))
	var in [3]dense.Matrix[T]
	for i := range in {
		in[i] = densetest.Normal[T](rng, n, d, 0.3, 1)
	}
	changes := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e30, -1e36, 3e38, 1e5}
	ats := []int{1, 100, 255, 256, 300, 511, 512, 640, 769, 899}
	for number, c := range causalAttention[T](d) {
		want := c.attention.Forward(dense.Matrix[T]{}, in[0], in[1], in[2])
		for which, bad := range changes {
			for place, name := range []string{"a query", "a key", "a value", "everything"} {
				if (number+which+place)%4/2 != parity[T]() {
					continue // each type has a half
				}
				at := ats[(number+3*which+place)%len(ats)]
				changed := in
				for i := range changed {
					if i == place || place == len(in) {
						changed[i] = in[i].Clone()
						for row := at; row < n && (row == at || place == len(in)); row++ {
							changed[i].Row(row)[rng.IntN(d)] = T(bad)
						}
					}
				}
				got := c.attention.Forward(dense.Matrix[T]{}, changed[0], changed[1], changed[2])
				assert.True(t, densetest.Identical(want.RowRange(0, at), got.RowRange(0, at)), "%s: %v in %s, row %d", c.name, bad, name, at)
			}
		}
	}
}

// Sums of the values overflow in codes, so outputs are computed again from smaller values. A later
// value changes no bit of them either, in a call or in a Step of many tokens.
func TestFutureOfLargeValues(t *testing.T) {
	densetest.Both(t, testFutureOfLargeValues[float32], testFutureOfLargeValues[float64])
}

func testFutureOfLargeValues[T dense.Float](t *testing.T) {
	const n, d, at = 300, 2, 280
	none := dense.Matrix[T]{}
	for seed, size := range []float64{1e30, 2.9e38} {
		rng := rand.New(rand.NewPCG(9, uint64(seed)))
		q, k := densetest.Normal[T](rng, n, d, 0.3, 1), densetest.Normal[T](rng, n, d, 0.3, 1)
		v := densetest.Filled(n, 2, T(size*(1-0.01*rng.Float64())))
		for i := range n {
			v.Row(i)[1] *= T(1 - 0.5*rng.Float64())
		}
		for _, bits := range []int{4, 8} {
			e := must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Bits: bits}))
			want, stepped := e.Forward(none, q, k, v), stateOf(e, 1, 1, d, 2).Step(none, q, k, v)
			for _, bad := range []float64{3.4e38, math.Inf(1)} {
				later := v.Clone()
				later.Row(at)[0], later.Row(at + 1)[1] = T(bad), T(bad)
				got := e.Forward(none, q, k, later)
				assert.True(t, densetest.Identical(want.RowRange(0, at), got.RowRange(0, at)), "%d bits, values of %g before %v", bits, size, bad)
				got = stateOf(e, 1, 1, d, 2).Step(none, q, k, later)
				assert.True(t, densetest.Identical(stepped.RowRange(0, at), got.RowRange(0, at)), "a state, %d bits, values of %g before %v", bits, size, bad)
			}
		}
	}
}
