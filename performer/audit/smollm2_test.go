package audit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/npy"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/audit"
)

// TestChooseSmolLM2: on heads of a language model Choose approximates, and keeps the tolerance on
// all outputs.
func TestChooseSmolLM2(t *testing.T) {
	const folder, n = "../../examples/attention/smollm2", 2048
	files, err := filepath.Glob(filepath.Join(folder, "*", "q.npy"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the heads are in a module of their own, which is not here")
	}
	for _, file := range files {
		var x []dense.Matrix[float32]
		for _, name := range []string{"q.npy", "k.npy", "v.npy"} {
			data, shape, err := npy.ReadFile[float32](filepath.Join(filepath.Dir(file), name))
			require.NoError(t, err)
			x = append(x, dense.Of(shape[1], shape[2], data).RowRange(0, n))
		}
		for _, causal := range []bool{false, true} {
			exact, err := performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}})
			require.NoError(t, err)
			want := exact.Forward(dense.Matrix[float32]{}, x[0], x[1], x[2])
			for _, tolerance := range []float64{0.05, 0.2} {
				name := fmt.Sprintf("%s, causal %v, within %v", filepath.Base(filepath.Dir(file)), causal, tolerance)
				chosen, err := audit.Choose(t.Context(), exact.Options().Softmax, x[0], x[1], x[2], tolerance, audit.ChooseOptions{Calls: 100, Budget: 5, Reproducible: true}, rand.NewPCG(1, 1))
				require.NoError(t, err)
				assert.False(t, chosen.Exact, name)
				assert.LessOrEqual(t, distance(chosen.Attention.Forward(dense.Matrix[float32]{}, x[0], x[1], x[2]), want), tolerance, name)
			}
		}
	}
}

// distance returns ‖a − b‖/‖b‖.
func distance(a, b dense.Matrix[float32]) float64 {
	var off, size float64
	for i := range a.Rows {
		for j, v := range b.Row(i) {
			d := float64(a.At(i, j)) - float64(v)
			off, size = off+d*d, size+float64(v)*float64(v)
		}
	}
	return math.Sqrt(off / size)
}
