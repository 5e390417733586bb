package audit_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/npy"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/audit"
)

// TestChooseSmolLM2: on heads of a language model Choose approximates, and keeps the tolerance on
// all outputs.
func TestChooseSmolLM2(t *testing.T) {
	for text, x := range smollm2(t) {
		for _, causal := range []bool{false, true} {
			exact, err := performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}})
			require.NoError(t, err)
			want := exact.Forward(dense.Matrix[float32]{}, x[0], x[1], x[2])
			for _, tolerance := range []float64{0.05, 0.2} {
				name := fmt.Sprintf("%s, causal %v, within %v", text, causal, tolerance)
				chosen, err := audit.Choose(t.Context(), exact.Options().Softmax, x[0], x[1], x[2], tolerance, audit.ChooseOptions{Calls: 100, Budget: 5, Reproducible: true}, rand.NewPCG(1, 1))
				require.NoError(t, err)
				assert.False(t, chosen.Exact, name)
				assert.LessOrEqual(t, distance(chosen.Attention.Forward(dense.Matrix[float32]{}, x[0], x[1], x[2]), want), tolerance, name)
			}
		}
	}
}

// TestToleranceSmolLM2: the error of steps after a prompt, from a TopK that ChooseTopK has chosen
// for the prompt, is within the tolerance.
func TestToleranceSmolLM2(t *testing.T) {
	const prompt, n = 1024, 2048
	for text, x := range smollm2(t) {
		part := func(i, from, to int) dense.Matrix[float32] { return x[i].RowRange(from, to) }
		whole := must.Have(must.Have(performer.NewExact[float32](performer.ExactOptions{})).NewState(64, 64))
		want := whole.Step(dense.Matrix[float32]{}, x[0], x[1], x[2]).RowRange(prompt, n)
		for _, tolerance := range []float64{0.02, 0.05, 0.1, 0.2} {
			paced := must.Have(performer.NewExact[float32](performer.ExactOptions{TopK: 64, Tolerance: tolerance}))
			c := must.Have(audit.ChooseTopK(paced, part(0, 0, prompt), part(1, 0, prompt), part(2, 0, prompt), tolerance))
			s := must.Have(c.Attention.NewState(64, 64))
			s.Append(part(1, 0, prompt), part(2, 0, prompt))
			e := distance(s.Step(dense.Matrix[float32]{}, part(0, prompt, n), part(1, prompt, n), part(2, prompt, n)), want)
			keys, errs := s.TopK()
			t.Logf("%s, within %v: %v keys, then %v, error %.4f, measured %.4f", text, tolerance, c.Keys, keys, e, errs)
			assert.LessOrEqual(t, e, tolerance, "%s, within %v", text, tolerance)
			if tolerance == 0.2 {
				assert.NotZero(t, keys[0])
				assert.InDelta(t, e, errs[0], 0.6*e)
			}
		}
	}
}

// smollm2 returns queries, keys and values of heads of a language model over 2048 tokens, by text.
func smollm2(t *testing.T) map[string][]dense.Matrix[float32] {
	const folder, n = "../../examples/attention/smollm2", 2048
	files, err := filepath.Glob(filepath.Join(folder, "*", "q.npy"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the heads are in a module of their own, which is not here")
	}
	heads := map[string][]dense.Matrix[float32]{}
	for _, file := range files {
		text := filepath.Base(filepath.Dir(file))
		for _, name := range []string{"q.npy", "k.npy", "v.npy"} {
			data, shape, err := npy.ReadFile[float32](filepath.Join(filepath.Dir(file), name))
			require.NoError(t, err)
			heads[text] = append(heads[text], dense.Of(shape[1], shape[2], data).RowRange(0, n))
		}
	}
	return heads
}

// distance returns ‖a − b‖/‖b‖.
func distance(a, b dense.Matrix[float32]) float64 {
	return densetest.Distance(a, b) / densetest.Distance(b, dense.New[float32](b.Rows, b.Cols))
}
