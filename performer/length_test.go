package performer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
)

// The number of tokens of a state neither overflows nor comes near it by bytes or another
// state.
func TestTokenCount(t *testing.T) {
	key, value := dense.Of(1, 2, []float64{1, 2}), dense.Of(1, 1, []float64{3})
	a := attention[float64](must(rff.ELU[float64](2)), Options{})
	s := must(a.NewState(1))
	r := must(must(NewRecurrence(1, 1, RecurrenceOptions[float64]{})).NewState(2, 1))
	token := Tokens[float64]{Q: key, K: key, V: value}
	for name, c := range map[string]struct {
		n             *int
		append, step  func()
		bytes         func() ([]byte, error)
		read          func([]byte) error
		merge, mergeN func() error
	}{
		"State": {
			&s.n, func() { s.Append(key, value) }, func() { s.Step(dense.Matrix[float64]{}, key, key, value) },
			s.MarshalBinary, s.UnmarshalBinary,
			func() error { return s.Merge(s.Clone()) },
			func() error { other := must(a.NewState(1)); other.n = maxTokens - s.n; return s.Merge(other) },
		},
		"RecurrentState": {
			&r.n, func() { r.Append(token) }, func() { r.Step(dense.Matrix[float64]{}, token) },
			r.MarshalBinary, r.UnmarshalBinary,
			func() error { return r.Merge(r.Clone()) },
			func() error { other := must(r.r.NewState(2, 1)); other.n = maxTokens - r.n; return r.Merge(other) },
		},
	} {
		c.append()
		data := must(c.bytes())
		with := func(tokens uint64) []byte {
			changed := bytes.Clone(data)
			binary.LittleEndian.PutUint64(changed[32:], tokens)
			return sealed(changed)
		}
		for _, tokens := range []uint64{math.MaxInt, maxTokens + 1, math.MaxUint64} {
			assert.EqualError(t, c.read(with(tokens)), fmt.Sprintf("performer: state of %d tokens, want at most %d", tokens, maxTokens), name)
		}
		require.Equal(t, 1, *c.n, "what is refused changes nothing")
		require.NoError(t, c.mergeN(), name)
		require.Equal(t, maxTokens, *c.n, name)
		assert.EqualError(t, c.merge(), fmt.Sprintf("performer: other has %d tokens, the state %[1]d, want at most %[1]d in all", maxTokens), name)

		require.NoError(t, c.read(with(maxTokens)), name)
		c.append()
		c.step()
		assert.Equal(t, maxTokens+2, *c.n, name)
		*c.n = math.MaxInt
		want := fmt.Sprintf("performer: 1 tokens after %d, want at most %[1]d in all", math.MaxInt)
		assert.PanicsWithValue(t, want, c.append, name)
		assert.PanicsWithValue(t, want, c.step, name)
		assert.Equal(t, math.MaxInt, *c.n, name)
	}
}
