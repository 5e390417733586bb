package performer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// prefixes is a PrefixAttention form of a user: exact attention of each query over the keys it
// sees.
type prefixes struct{ performer.Exact[float64] }

func (f prefixes) ForwardPrefixes(dst, q, k, v dense.Matrix[float64], seen []int) dense.Matrix[float64] {
	one := with(f.Exact, func(o *performer.ExactOptions) { o.Causal = false })
	for i, n := range seen {
		one.Forward(dst.RowRange(i, i+1), q.RowRange(i, i+1), k.RowRange(0, n), v.RowRange(0, n))
	}
	return dst
}

// foreign hides from package performer that a form is one of its own.
type foreign struct{ form prefixes }

func (f foreign) Forward(dst, q, k, v dense.Matrix[float64]) dense.Matrix[float64] {
	return f.form.Forward(dst, q, k, v)
}

func (f foreign) ForwardPrefixes(dst, q, k, v dense.Matrix[float64], seen []int) dense.Matrix[float64] {
	return f.form.ForwardPrefixes(dst, q, k, v, seen)
}

func (f foreign) Describe() performer.Description { return f.form.Describe() }

func (f foreign) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[float64]) (_, _, _ dense.Matrix[float64]) {
	return f.form.Backward(dq, dk, dv, q, k, v, dout)
}

func (f foreign) CanBackward() error { return nil }

// A PrefixAttention form of a user sees what exact attention sees: keys that count, a past, in
// heads that share keys, forward and, if it is bidirectional, backward.
func TestMaskable(t *testing.T) {
	const n, queries = 12, 9
	none := dense.Matrix[float64]{}
	fill := func(rows, cols int, at float64) dense.Matrix[float64] {
		m := dense.New[float64](rows, cols)
		for i := range m.Data {
			m.Data[i] = float64((i*7+int(at))%11)/4 - 1
		}
		return m
	}
	q, k, v, dout := fill(queries, 4, 1), fill(n, 2, 2), fill(n, 2, 3), fill(queries, 4, 4)
	holes := []bool{false, true, true, false, true, true, true, false, false, true, true, false}
	for _, causal := range []bool{false, true} {
		exact := must.Have(performer.NewExact[float64](performer.ExactOptions{Causal: causal}))
		own, err := performer.NewBatch[float64](2, 1, exact)
		require.NoError(t, err)
		user, err := performer.NewBatch[float64](2, 1, foreign{prefixes{exact}})
		require.NoError(t, err)
		for _, valid := range [][]bool{nil, holes, make([]bool, n)} {
			for _, past := range []int{0, 3, -2, 20} {
				s := performer.Sequences{Queries: []int{queries}, Keys: []int{n}, Past: []int{past}, Valid: valid}
				want := own.ForwardSequences(none, q, k, v, s)
				assert.InDeltaSlice(t, want.Data, user.ForwardSequences(none, q, k, v, s).Data, 1e-14, "causal %v, past %d", causal, past)
				if causal {
					if past != 0 || valid != nil {
						assert.PanicsWithValue(t, "performer: sequence 0 has keys that do not count or a past, which performer_test.foreign cannot take", func() {
							user.BackwardSequences(none, none, none, q, k, v, dout, s)
						})
					}
					continue
				}
				wantQ, wantK, wantV := own.BackwardSequences(none, none, none, q, k, v, dout, s)
				dq, dk, dv := user.BackwardSequences(none, none, none, q, k, v, dout, s)
				assert.InDeltaSlice(t, wantQ.Data, dq.Data, 1e-13)
				assert.InDeltaSlice(t, wantK.Data, dk.Data, 1e-13)
				assert.InDeltaSlice(t, wantV.Data, dv.Data, 1e-13)
			}
		}
		args := performer.AttendArgs[float64]{Q: dense.SplitHeads(q, 1, 2), K: dense.SplitHeads(k, 1, 1), V: dense.SplitHeads(v, 1, 1), Lengths: []int{10}}
		want, err := performer.Attend(performer.Attention[float64](exact), args)
		require.NoError(t, err)
		got, err := performer.Attend(performer.Attention[float64](foreign{prefixes{exact}}), args)
		require.NoError(t, err)
		assert.InDeltaSlice(t, want.Out.Data, got.Out.Data, 1e-14)
		_, err = performer.AttendBackward(performer.Attention[float64](foreign{prefixes{exact}}), args, dense.SplitHeads(dout, 1, 2))
		if causal {
			assert.ErrorContains(t, err, "performer_test.foreign cannot take")
		} else {
			assert.NoError(t, err)
		}
	}
}
