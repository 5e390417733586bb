package main

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/performer"
)

// TestTrained holds the model of the nested module trained to the loss that its README states, on a
// few of the held-out files. Losses of sequences differ by some 0.5.
func TestTrained(t *testing.T) {
	if _, err := os.Stat("trained/model.safetensors"); err != nil {
		t.Skip("the model is in a module of its own, which is not here")
	}
	out := clitest.Output(t, run, "-model", "trained", "-tokens", "8192", "-form", "mean", "-length", "0")
	assert.Contains(t, out, "3688704 parameters")
	var exact, mean float64
	_, after, _ := strings.Cut(out, "in sequences of 2048:\n")
	losses := strings.Split(after, "\n")
	require.Len(t, losses, 3, out)
	read(t, losses[0], &exact)
	read(t, losses[1], &mean)
	assert.InDelta(t, 2.65, exact, 0.5)
	assert.Greater(t, mean, exact+1, "attention matters")
}

// TestTrainedInBits holds states in codes to the errors on the heads of the trained model that
// docs/attention.md states: token by token, where the last tokens are not rounded, and of queries
// that see a whole sequence. Queries that see a whole sequence, rounded as by ggml, have larger
// errors.
func TestTrainedInBits(t *testing.T) {
	if _, err := os.Stat("trained/model.safetensors"); err != nil {
		t.Skip("the model is in a module of its own, which is not here")
	}
	m, err := lm.Open("trained", "")
	require.NoError(t, err)
	const n = 2048
	text, err := m.Text("", 2*n, n)
	require.NoError(t, err)
	var every []int
	for i := range m.Layers * m.Heads {
		every = append(every, i)
	}
	all := m.Gather(text.Batches[1:2], every...)
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
		{16, 16, 0.7e-5, 2.7e-5, 5.1e-5, 6.5e-5, 0, 0},
		{8, 8, 0.00071, 0.0032, 0.0055, 0.0079, 8, 8},
		{8, 4, 0.0071, 0.0325, 0.0705, 0.106, 8, 4},
		{4, 4, 0.012, 0.0528, 0.0928, 0.143, 4, 4},
	} {
		var stream, whole, peer [2]float64 // mean and worst
		add := func(to *[2]float64, off float64) { to[0], to[1] = to[0]+off/float64(len(all)), max(to[1], off) }
		for _, h := range all {
			coded := performer.ExactOptions{KeyBits: c.keys, ValueBits: c.values}
			s, err := form(coded).NewState(m.HeadDim, m.HeadDim)
			require.NoError(t, err)
			got := s.Step(none, h.Q, h.K, h.V)
			add(&stream, distance(got, form(performer.ExactOptions{Causal: true}).Forward(none, h.Q, h.K, h.V)))
			want := form(performer.ExactOptions{}).Forward(none, h.Q, h.K, h.V)
			add(&whole, distance(s.Attend(none, h.Q), want))
			if c.peerKeys != 0 {
				add(&peer, distance(form(performer.ExactOptions{}).Forward(none, h.Q, ggml(h.K, c.peerKeys), ggml(h.V, c.peerValues)), want))
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
