package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/performer"
)

// TestPipe: the outputs of two layers are causal attention of each head, exactly and by some keys, and
// input that ends too early is an error.
func TestPipe(t *testing.T) {
	const heads, keyHeads, n, d = 4, 2, 400, 8
	rng := rand.New(rand.NewPCG(2, 1))
	causal, err := performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})
	require.NoError(t, err)
	for form, bound := range map[string]float64{"exact": 1e-6, "topk:300": 1e-6, "topk:64": 0.1, "topk:64+8": 0.1} {
		f, err := lm.ParseForm(form)
		require.NoError(t, err)
		var in bytes.Buffer
		var want []dense.Matrix[float32]
		for range 2 {
			x := [3][]dense.Matrix[float32]{}
			require.NoError(t, binary.Write(&in, binary.LittleEndian, []int32{heads, keyHeads, n, d}))
			for i, heads := range [...]int{heads, keyHeads, keyHeads} {
				for range heads {
					m := dense.New[float32](n, d)
					for i := range m.Data {
						m.Data[i] = 1 + float32(rng.NormFloat64())
					}
					x[i] = append(x[i], m)
					require.NoError(t, binary.Write(&in, binary.LittleEndian, m.Data))
				}
			}
			for h, q := range x[0] {
				want = append(want, causal.Forward(dense.Matrix[float32]{}, q, x[1][h/2], x[2][h/2]))
			}
		}
		all := in.Bytes()
		var out bytes.Buffer
		require.NoError(t, settings{}.attendLayers(&in, &out, f))
		for h, w := range want {
			got := dense.New[float32](n, d)
			require.NoError(t, binary.Read(&out, binary.LittleEndian, got.Data))
			assert.LessOrEqual(t, matrices.Distance([]dense.Matrix[float32]{got}, []dense.Matrix[float32]{w}), bound, "%s, head %d", form, h)
		}
		assert.Zero(t, out.Len())
		for _, short := range []int{7, 16, 100} {
			assert.ErrorContains(t, settings{}.attendLayers(bytes.NewReader(all[:short]), &out, f), "-pipe: ")
		}
	}
	large := []byte{0, 0, 0, 127, 0, 0, 0, 127, 0, 0, 0, 127, 0, 0, 0, 127}
	assert.ErrorContains(t, settings{}.attendLayers(bytes.NewReader(large), nil, lm.Form{Name: "exact"}), "-pipe: a layer of 2130706432 heads")
}
