package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// codesOf returns exact attention whose State has codes of so many bits.
func codesOf(keys, values int) performer.Exact[float32] {
	return must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: 8, KeyBits: keys, ValueBits: values}))
}

// States in codes of every width take one token, one coordinate and means of 1000 spreads: their
// error is a part of the spread, halved by every bit, until the rounding of rotated points of the
// size 1000·√d in float32 remains: 24 units of 2⁻²⁴. NaN in one column of a value reaches that
// column of outputs alone, with a code and without. A window beyond memory is an error.
func TestCodesOfHardInputs(t *testing.T) {
	none := dense.Matrix[float32]{}
	exact := must.Have(performer.NewExact[float32](performer.ExactOptions{}))
	for _, bits := range []int{4, 8, 16} {
		for _, d := range []int{1, 7, 64} {
			for _, n := range []int{1, 64, 300} {
				rng := rand.New(rand.NewPCG(uint64(bits), uint64(100*d+n)))
				q, k, v := densetest.Normal[float32](rng, 3, d, 0, 1), densetest.Normal[float32](rng, n, d, 1000, 1), densetest.Normal[float32](rng, n, d, 1000, 1)
				s := must.Have(codesOf(bits, bits).NewState(d, d))
				s.Append(k, v)
				out, want := s.Attend(none, q), inDouble(exact, q, k, v)
				square := 0.0
				for i, x := range want.Data {
					square += math.Pow(float64(out.Data[i])-x, 2) / float64(len(want.Data))
				}
				bound := math.Pow(2, -float64(bits))/8 + 24*1000*math.Sqrt(float64(d))*0x1p-24
				assert.Less(t, math.Sqrt(square), bound, "%d bits, d = %d, %d tokens", bits, d, n)

				v.Row(n / 2)[d-1] = float32(math.NaN())
				s = must.Have(codesOf(bits, bits).NewState(d, d))
				s.Append(k, v)
				for i := range q.Rows {
					for l, x := range s.Attend(none, q).Row(i) {
						require.Equal(t, l == d-1, x != x, "%d bits, d = %d, %d tokens: column %d is %v", bits, d, n, l, x)
					}
				}
			}
		}
	}
	for _, o := range []performer.ExactOptions{{Bits: 8, Window: math.MaxInt >> 3}, {Bits: 4, Window: 1, Sinks: math.MaxInt >> 3}} {
		_, err := must.Have(performer.NewExact[float32](o)).NewState(64, 64)
		require.ErrorContains(t, err, "Window")
	}
	for _, bits := range []int{0, 8} {
		_, err := must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: bits, Chunk: math.MaxInt >> 3})).NewState(64, 64)
		require.ErrorContains(t, err, fmt.Sprintf("Chunk = %d, for 1 heads", math.MaxInt>>3))
	}
}

// Clones share closed segments with the state that they are of. Goroutines go on with one each,
// also from an earlier token than that of the clone, and have the outputs of their own states.
//
//ci:race
func TestClonesShareSegments(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 4))
	const n = 700
	none, x := dense.Matrix[float32]{}, densetest.Normal[float32](rng, n, 16, 0, 1)
	other := densetest.Normal[float32](rng, 2*n, 16, 0, 1)
	for _, o := range []performer.ExactOptions{{}, {Bits: 8, ValueBits: 4}, {Window: 100, Sinks: 3}, {Bits: 8, Window: 100}} {
		state := func() *performer.State[float32] {
			return must.Have(must.Have(performer.NewExact[float32](o)).NewState(16, 16))
		}
		s := state()
		s.Append(x.RowRange(0, n-50), x.RowRange(0, n-50))
		mark := s.Snapshot(nil)
		s.Append(x.RowRange(n-50, n), x.RowRange(n-50, n))
		clones := []*performer.State[float32]{s.Clone(), s.Clone(), s}
		s.Rollback(mark)
		var all sync.WaitGroup
		outs := make([]dense.Matrix[float32], len(clones))
		for i, c := range clones {
			all.Go(func() { outs[i] = c.Step(none, other.RowRange(i, i+n), other.RowRange(i, i+n), other.RowRange(i, i+n)) })
		}
		all.Wait()
		for i, out := range outs {
			alone, past := state(), n
			if i == 2 {
				past -= 50
			}
			alone.Append(x.RowRange(0, past), x.RowRange(0, past))
			want := alone.Step(none, other.RowRange(i, i+n), other.RowRange(i, i+n), other.RowRange(i, i+n))
			assert.True(t, densetest.Identical(want, out), "%+v, clone %d", o, i)
		}
	}
}
