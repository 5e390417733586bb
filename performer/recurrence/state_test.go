package recurrence_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
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

// A stream, token by token and in parts cut anywhere, gives the rows of Forward.
func TestStateIsForward(t *testing.T) {
	densetest.Both(t, testState[float32], testState[float64])
}

func testState[T dense.Float](t *testing.T) {
	const n = 150
	rng := rand.New(densetest.Source(320))
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		shape := recurrenceShape{heads: 4, keyHeads: 2, d: 5, dv: 3, wide: wide}
		opts := recurrence.Options{Rule: rule, NormaliseKeys: true}
		x := convertTokens[T](shape.tokens(rng, rule, n))
		const dk = 5
		r := must.Have(recurrence.New[T](4, 2, opts))
		sums := dense.New[T](2*dk, 3)
		want := dense.Copy(dense.Matrix[float64]{}, r.Forward(dense.Matrix[T]{}, x, dense.Matrix[T]{}, sums))
		wantSums := dense.Copy(dense.Matrix[float64]{}, sums)

		s := must.Have(r.NewState(5, 3))
		requireNear(t, want, s.Step(dense.Matrix[T]{}, x), recurrenceTolerance[T](), "%v: step", rule)
		requireNear(t, wantSums, s.Matrix(), recurrenceTolerance[T](), "%v: sums after steps", rule)
		require.Equal(t, n, s.Len())

		s.Reset()
		assert.Zero(t, s.Len())
		for lo := 0; lo < n; {
			hi := min(lo+rng.IntN(90), n) // 0 tokens among them
			s.Append(rowsOf(x, lo, hi))
			if hi > lo {
				requireNear(t, want.RowRange(hi-1, hi), s.Attend(dense.Matrix[T]{}, x.Q.RowRange(hi-1, hi)), 100*recurrenceTolerance[T](), "%v: up to %d", rule, hi)
			}
			lo = hi
		}
		require.Equal(t, n, s.Len())
		requireNear(t, wantSums, s.Matrix(), recurrenceTolerance[T](), "%v: sums", rule)
	})
}

// Append and Attend of one token have the bits of Step, whose output may go into an input;
// what is cloned, or written and read, goes on with the same bits; nothing is allocated.
func TestStateCalls(t *testing.T) {
	densetest.Both(t, testStateCalls[float32], testStateCalls[float64])
}

func testStateCalls[T dense.Float](t *testing.T) {
	const n = 20
	rng := rand.New(densetest.Source(321))
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		shape := recurrenceShape{heads: 2, keyHeads: 2, d: 4, dv: 4, wide: wide}
		x := convertTokens[T](shape.tokens(rng, rule, n))
		r := must.Have(recurrence.New[T](2, 2, recurrence.Options{Rule: rule}))
		whole, parts := must.Have(r.NewState(4, 4)), must.Have(r.NewState(4, 4))
		want := whole.Step(dense.Matrix[T]{}, x)
		for i := range n {
			parts.Append(rowsOf(x, i, i+1))
			require.True(t, densetest.Identical(want.RowRange(i, i+1), parts.Attend(dense.Matrix[T]{}, x.Q.RowRange(i, i+1))), "%v token %d", rule, i)
		}
		for which := range 3 {
			y := convertTokens[T](convertTokens[float64](x))
			dst := []dense.Matrix[T]{y.Q, y.K, y.V}[which]
			require.True(t, densetest.Identical(want, must.Have(r.NewState(4, 4)).Step(dst, y)), "%v: into input %d", rule, which)
		}

		data := must.Have(whole.MarshalBinary())
		again, clone := must.Have(r.NewState(4, 4)), whole.Clone()
		again.Append(x) // which is to be forgotten
		require.NoError(t, again.UnmarshalBinary(data))
		require.Equal(t, data, must.Have(again.MarshalBinary()))
		require.Equal(t, data, must.Have(clone.MarshalBinary()))
		require.Equal(t, n, again.Len())
		next := whole.Step(dense.Matrix[T]{}, x)
		require.True(t, densetest.Identical(next, again.Step(dense.Matrix[T]{}, x)))
		require.True(t, densetest.Identical(next, clone.Step(dense.Matrix[T]{}, x)))

		if !race.Detector {
			one := rowsOf(x, 0, 1)
			require.Zero(t, allocs.Settled(1, func() {
				whole.Step(next.RowRange(0, 1), one)
				whole.Append(one)
				whole.Append(x)
				whole.Attend(next, x.Q)
			}), "%v", rule)
		}
	})
}

// Parts of a stream that are merged in order are the stream, where that has a meaning.
//
//ci:portable
func TestStateMerge(t *testing.T) {
	const n = 60
	rng := rand.New(densetest.Source(322))
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		shape := recurrenceShape{heads: 2, keyHeads: 2, d: 4, dv: 3, wide: wide}
		x := shape.tokens(rng, rule, n)
		r, same := must.Have(recurrence.New[float64](2, 2, recurrence.Options{Rule: rule})), must.Have(recurrence.New[float64](2, 2, recurrence.Options{Rule: rule, Scale: 3}))
		whole := must.Have(r.NewState(4, 3))
		whole.Append(x)
		merged, from := must.Have(r.NewState(4, 3)), 0
		for _, to := range []int{1, 20, 20, n} {
			part := must.Have(same.NewState(4, 3))
			part.Append(rowsOf(x, from, to))
			err := merged.Merge(part)
			if hasBeta(rule) {
				require.EqualError(t, err, "recurrence: states of the "+rule.String()+" rule cannot be merged, as what a token writes depends on all before")
				return
			}
			require.NoError(t, err)
			from = to
		}
		require.Equal(t, n, merged.Len())
		requireNear(t, whole.Matrix(), merged.Matrix(), 1e-12, "%v", rule)
	})
}

func TestStateErrors(t *testing.T) {
	of := func(opts recurrence.Options, heads int) recurrence.Recurrence[float32] {
		return must.Have(recurrence.New[float32](heads, heads, opts))
	}
	r := of(recurrence.Options{}, 1)
	s := must.Have(r.NewState(4, 3))
	other := func(r recurrence.Recurrence[float32]) recurrence.State[float32] { return must.Have(r.NewState(4, 3)) }
	for want, err := range map[string]error{
		"recurrence: d = 0, dv = 3, want at least 1":                                         second(r.NewState(0, 3)),
		"recurrence: d = 4, dv = 0, want at least 1":                                         second(r.NewState(4, 0)),
		"recurrence: other is nil":                                                           s.Merge(nil),
		"recurrence: other has d = 4 and dv = 2, the state d = 4 and dv = 3":                 s.Merge(must.Have(r.NewState(4, 2))),
		"recurrence: the gated rule, but the state belongs to the linear rule":               s.Merge(other(of(recurrence.Options{Rule: recurrence.Gated}, 1))),
		"recurrence: 2 heads of queries and 2 of keys, but the state belongs to 1 and 1":     s.Merge(other(of(recurrence.Options{}, 2))),
		"recurrence: NormaliseKeys = true, but the state belongs to a recurrence with false": s.Merge(other(of(recurrence.Options{NormaliseKeys: true}, 1))),
	} {
		assert.EqualError(t, err, want)
	}
	assert.EqualError(t, s.Merge(struct{ recurrence.State[float32] }{s}),
		"recurrence: other is a struct { recurrence.State[float32] }, want a State of a Recurrence of this package")

	mat := dense.New[float32]
	for want, f := range map[string]func(){
		"recurrence: k is 2×4, v is 2×2, want n×4 and n×3 for 1 heads of the state": func() { s.Append(recurrence.Tokens[float32]{K: mat(2, 4), V: mat(2, 2)}) },
		"recurrence: q is 2×3, want n×4 for 1 heads of the state":                   func() { s.Attend(mat(2, 3), mat(2, 3)) },
		"recurrence: q is 1×4, k is 2×4, want as many queries as keys":              func() { s.Step(mat(2, 3), recurrence.Tokens[float32]{Q: mat(1, 4), K: mat(2, 4), V: mat(2, 3)}) },
		"recurrence: Tokens.Lengths is [2], want nil for a state, which has one sequence": func() {
			s.Append(recurrence.Tokens[float32]{K: mat(2, 4), V: mat(2, 3), Lengths: []int{2}})
		},
	} {
		assert.PanicsWithValue(t, want, f)
	}
}

// The bytes of a small state, worked out by hand: one key 2 with value 3 and decay −1 gives
// the sum 6.
//
//ci:portable
func TestStateGolden(t *testing.T) {
	s := must.Have(must.Have(recurrence.New[float64](2, 1, recurrence.Options{Rule: recurrence.Gated})).NewState(1, 1))
	s.Append(recurrence.Tokens[float64]{K: densetest.Filled[float64](1, 1, 2), V: densetest.Filled[float64](1, 1, 3), Decay: densetest.Filled[float64](1, 1, -1)})
	want := []byte{
		'r', 'f', 'r', 'e', 'c', 'u', 'r', 0,
		1, 0, 8, 1, // version, float64, the gated rule
		1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0,
		1, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0xf0, 0xbf,
		0, 0, 0, 0, 0, 0, 0x18, 0x40,
	}
	want = binary.LittleEndian.AppendUint32(want, crc32.Checksum(want, crc32.MakeTable(crc32.Castagnoli)))
	assert.Equal(t, want, must.Have(s.MarshalBinary()))
}

// Damage is found wherever it is, what is refused changes nothing, and hostile bytes with a
// right checksum get an error that names what is wrong.
//
//ci:portable
func TestStateDamage(t *testing.T) {
	r := must.Have(recurrence.New[float32](1, 1, recurrence.Options{Rule: recurrence.Delta}))
	s, target := must.Have(r.NewState(3, 2)), must.Have(r.NewState(3, 2))
	rng := rand.New(densetest.Source(323))
	s.Append(convertTokens[float32](recurrenceShape{heads: 1, keyHeads: 1, d: 3, dv: 2}.tokens(rng, recurrence.Delta, 5)))
	data, before := must.Have(s.MarshalBinary()), must.Have(target.MarshalBinary())
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 0x81
		require.Error(t, target.UnmarshalBinary(bad), "byte %d", i)
	}
	word := func(at int, v uint32) []byte {
		bad := bytes.Clone(data)
		binary.LittleEndian.PutUint32(bad[at:], v)
		return sealed(bad)
	}
	for want, bad := range map[string][]byte{
		"recurrence: state of 8-byte elements, want 4":                                    word(8, 1|8<<16|2<<24),
		"recurrence: state with flags 0x3, want 0x2 (the delta rule, 16 normalised keys)": word(8, 1|4<<16|3<<24),
		"recurrence: state with heads = 2, want 1":                                        word(28, 2),
		"recurrence: state of 67 bytes, want 68":                                          sealed(data[:len(data)-1]),
		"recurrence: state begins with \"rfrebur\\x00\", want \"rfrecur\\x00\"":           word(4, 'b'|'u'<<8|'r'<<16),
	} {
		assert.EqualError(t, target.UnmarshalBinary(bad), want)
	}
	assert.ErrorContains(t, target.UnmarshalBinary(word(36, 1<<31)), "recurrence: state of 9223372036854775813 tokens, want at most")
	require.Equal(t, before, must.Have(target.MarshalBinary()))
	require.NoError(t, target.UnmarshalBinary(data))
}
