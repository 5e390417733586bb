package performer_test

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// Outputs and bytes of a stream depend on the tokens alone: neither on how the tokens are divided
// into calls of Step, Append and Attend, nor on GOMAXPROCS. There are enough tokens for several
// tiles, segments, blocks and groups of scores, and for windows that drop tokens several times. A
// State that goes on from the bytes has the same outputs, and so has Forward of exact attention in
// T. Linear attention promises less: Step of many tokens has the bits of Step of single ones.
func TestStreamsDependOnTokens(t *testing.T) {
	densetest.Both(t, testStreamsDependOnTokens[float32], testStreamsDependOnTokens[float64])
}

func testStreamsDependOnTokens[T dense.Float](t *testing.T) {
	const n, d, dv, heads, keyHeads = 1200, 4, 3, 4, 2
	rng, none := rand.New(rand.NewPCG(3, 4)), dense.Matrix[T]{}
	q, k, v := densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, keyHeads*d, 0, 1), densetest.Normal[T](rng, n, keyHeads*dv, 0, 1)
	for number, c := range causalAttention[T](d) {
		e, exact := c.attention.(performer.Exact[T])
		if (!exact || e.Options().Bits > 0) && number%2 != parity[T]() {
			continue // the other type has it
		}
		state := func() *performer.State[T] {
			return must.Have(must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, c.attention)).NewState(d, dv))
		}
		all := state()
		want := all.Step(none, q, k, v)
		whole := must.Have(all.MarshalBinary())
		if exact && e.Options().Bits == 0 {
			forward := must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, c.attention)).Forward(none, q, k, v)
			assert.True(t, densetest.Identical(forward, want), "%s: Forward", c.name)
		}
		_, linear := c.attention.(performer.Linear[T])

		rng := rand.New(rand.NewPCG(5, uint64(number)))
		single, cut, prompt := state(), state(), state()
		before := runtime.GOMAXPROCS(1)
		from := 1100 + rng.IntN(30)
		if linear {
			from = 0
		}
		single.Append(k.RowRange(0, from), v.RowRange(0, from))
		for i := from; i < n; i++ {
			if i%13 == 0 || linear {
				got := single.Step(none, q.RowRange(i, i+1), k.RowRange(i, i+1), v.RowRange(i, i+1))
				assert.True(t, densetest.Identical(want.RowRange(i, i+1), got), "%s, token %d", c.name, i)
			} else {
				single.Append(k.RowRange(i, i+1), v.RowRange(i, i+1))
			}
		}
		runtime.GOMAXPROCS(before)
		for lo := 0; lo < n; {
			hi := min(lo+1+rng.IntN([]int{4, 40, 400}[rng.IntN(3)]), n)
			if rng.IntN(3) == 0 { // tokens that are taken back
				mark, ahead := cut.Snapshot(nil), 1+rng.IntN(64)
				cut.Append(k.RowRange(0, ahead), v.RowRange(0, ahead))
				cut.Rollback(mark)
			}
			if rng.IntN(8) == 0 && !linear { // whose sums of the last tokens end with the bytes
				again := state()
				require.NoError(t, again.UnmarshalBinary(must.Have(cut.MarshalBinary())))
				cut = again
			}
			if rng.IntN(3) > 0 || linear {
				got := cut.Step(none, q.RowRange(lo, hi), k.RowRange(lo, hi), v.RowRange(lo, hi))
				assert.True(t, densetest.Identical(want.RowRange(lo, hi), got), "%s, tokens %d to %d", c.name, lo, hi)
			} else {
				cut.Append(k.RowRange(lo, hi), v.RowRange(lo, hi))
			}
			lo = hi
		}
		prompt.Append(k, v)
		for name, s := range map[string]*performer.State[T]{"divided at random": cut, "a token at a time": single, "a prompt": prompt} {
			if !linear || s == cut {
				assert.True(t, bytes.Equal(whole, must.Have(s.MarshalBinary())), "%s: bytes of %s", c.name, name)
			}
		}
		if linear {
			continue
		}
		many := prompt.Attend(none, q.RowRange(n-40, n))
		assert.True(t, densetest.Identical(want.RowRange(n-1, n), many.RowRange(39, 40)), "%s: a prompt", c.name)
		for i := range 5 {
			assert.True(t, densetest.Identical(many.RowRange(7*i, 7*i+1), prompt.Attend(none, q.RowRange(n-40+7*i, n-40+7*i+1))), "%s: query %d by itself", c.name, i)
		}
	}
}
