package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/performer"
)

// TestCodes holds states in codes to the errors on heads of SmolLM2 that docs/attention.md states:
// token by token, where the last tokens are not rounded, and of queries that see a whole sequence.
// Queries that see a whole sequence, rounded as by ggml, have larger errors.
func TestCodes(t *testing.T) {
	const n = 2048
	all := smollm2(t, n)
	none := dense.Matrix[float32]{}
	form := func(o performer.ExactOptions) performer.Exact[float32] {
		e, err := performer.NewExact[float32](o)
		require.NoError(t, err)
		return e
	}
	distance := func(got, want dense.Matrix[float32]) float64 {
		return matrices.Distance([]dense.Matrix[float32]{got.RowRange(n/2, n)}, []dense.Matrix[float32]{want.RowRange(n/2, n)})
	}
	for _, c := range []struct {
		keys, values         int
		stream, streamWorst  float64
		whole, wholeWorst    float64
		peerKeys, peerValues int // at about as many bytes, 0 for none
	}{
		{16, 16, 3.1e-5, 4.5e-5, 4.7e-5, 4.7e-5, 0, 0},
		{8, 8, 0.00284, 0.00411, 0.00438, 0.00461, 8, 8},
		{8, 4, 0.0266, 0.0398, 0.0371, 0.0399, 8, 4},
		{4, 4, 0.0587, 0.0826, 0.0790, 0.0814, 4, 4},
		{3, 3, 0.1182, 0.1788, 0.1612, 0.1758, 0, 0},
	} {
		var stream, whole, peer [2]float64 // mean and worst
		add := func(to *[2]float64, off float64) { to[0], to[1] = to[0]+off/float64(len(all)), max(to[1], off) }
		for _, h := range all {
			coded := performer.ExactOptions{KeyBits: c.keys, ValueBits: c.values}
			s, err := form(coded).NewState(h.k.Cols, h.v.Cols)
			require.NoError(t, err)
			got := s.Step(none, h.q, h.k, h.v)
			add(&stream, distance(got, form(performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}).Forward(none, h.q, h.k, h.v)))
			want := form(performer.ExactOptions{}).Forward(none, h.q, h.k, h.v)
			add(&whole, distance(s.Attend(none, h.q), want))
			if c.peerKeys != 0 {
				add(&peer, distance(form(performer.ExactOptions{}).Forward(none, h.q, ggml(h.k, c.peerKeys), ggml(h.v, c.peerValues)), want))
			}
		}
		t.Logf("%d and %d bits: in a stream %.4f %% (%.4f %%), whole %.4f %% (%.4f %%), ggml %.4f %% (%.4f %%)", c.keys, c.values,
			100*stream[0], 100*stream[1], 100*whole[0], 100*whole[1], 100*peer[0], 100*peer[1])
		assert.InEpsilonSlice(t, []float64{c.stream, c.streamWorst, c.whole, c.wholeWorst}, []float64{stream[0], stream[1], whole[0], whole[1]}, 0.1, "%d and %d bits", c.keys, c.values)
		if c.peerKeys != 0 {
			assert.Less(t, whole[0], peer[0])
		}
	}
}

// ggml returns x rounded as the types q8_0 and q4_0 of ggml do, but for their scales of 16 bits: 32
// elements share a scale.
func ggml(x dense.Matrix[float32], bits int) dense.Matrix[float32] {
	x = dense.Copy(dense.Matrix[float32]{}, x)
	for first := 0; first < len(x.Data); first += 32 {
		part := x.Data[first:][:32]
		var most float64
		for _, v := range part {
			if math.Abs(float64(v)) > math.Abs(most) {
				most = float64(v)
			}
		}
		for i, v := range part {
			switch v := float64(v); {
			case most == 0:
			case bits == 8:
				part[i] = float32(most / 127 * math.Round(v/most*127))
			default:
				part[i] = float32(most / -8 * (min(15, math.Floor(v/most*-8+8.5)) - 8))
			}
		}
	}
	return x
}
