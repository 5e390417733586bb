package layer_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// short are the types of 16 bits, with functions that round.
func short[T dense.Float]() map[safetensors.DType]func(x []T) []T {
	return map[safetensors.DType]func(x []T) []T{
		safetensors.F16:  func(x []T) []T { return half.Decode[T](nil, half.Encode[half.Float16](nil, x)) },
		safetensors.BF16: func(x []T) []T { return half.Decode[T](nil, half.Encode[half.BFloat16](nil, x)) },
	}
}

// typeName is the type of elements T in a file.
func typeName[T dense.Float]() safetensors.DType {
	return must.Have(safetensors.FromFloats([]int{0}, []T{})).DType
}

// A map with weights of 16 bits has the bits of the map with the same numbers as elements T.
func TestLinear(t *testing.T) { densetest.Both(t, testLinear[float32], testLinear[float64]) }

func testLinear[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(811))
	for _, c := range []struct{ in, out int }{{1, 1}, {5, 7}, {64, 33}, {320, 50}, {300, 16}} {
		w, bias := densetest.Normal[T](rng, c.out, c.in, 0, 1), densetest.Normal[T](rng, 1, c.out, 0, 1).Data
		for dtype, round := range short[T]() {
			got := must.Have(layer.NewLinear(w, bias, dtype))
			wide := must.Have(layer.NewLinear(dense.Of(c.out, c.in, round(w.Data)), bias, typeName[T]()))
			for i := range c.out {
				require.Equal(t, round(w.Row(i)), got.Row(nil, i))
				require.Equal(t, round(w.Row(i)), wide.Row(make([]T, c.in), i))
			}
			for _, n := range []int{0, 1, 3, 8, 20} {
				x := densetest.Normal[T](rng, n, c.in, 0, 1)
				y := wide.Apply(dense.Matrix[T]{}, x)
				require.Equal(t, y, got.Apply(dense.New[T](n, c.out), x), "%s, %d×%d, %d rows", dtype, c.out, c.in, n)
				for i := range n {
					for j := range c.out {
						sum, size := float64(bias[j]), math.Abs(float64(bias[j]))
						for l, v := range wide.Row(nil, j) {
							sum += float64(v) * float64(x.At(i, l))
							size += math.Abs(float64(v) * float64(x.At(i, l)))
						}
						require.InDelta(t, sum, float64(y.At(i, j)), float64(c.in+2)*densetest.Roundoff[T]()*size)
					}
				}
			}
		}
	}
	// The map has copies.
	w := densetest.Filled[T](2, 2, 1)
	l := must.Have(layer.NewLinear(w, nil, ""))
	w.Data[0] = 5
	assert.Equal(t, []T{1, 1}, l.Row(nil, 0))
	assert.Empty(t, new(layer.Linear[T]).Apply(dense.Matrix[T]{}, dense.New[T](3, 0)).Data)
}

func TestLinearErrors(t *testing.T) {
	w := dense.New[float32](3, 2)
	for want, f := range map[string]func() error{
		`layer: weights = "F64", want F16, BF16 or F32`: func() error {
			_, err := layer.NewLinear(w, nil, safetensors.F64)
			return err
		},
		`layer: weights = "F32", want F16, BF16 or F64`: func() error {
			_, err := layer.NewLinear(dense.New[float64](3, 2), nil, safetensors.F32)
			return err
		},
		"layer: w is 3×2, bias has length 2, want at least 1×1 and an element for each row": func() error {
			_, err := layer.NewLinear(w, make([]float32, 2), "")
			return err
		},
		"layer: w is 0×2, bias has length 0": func() error {
			_, err := layer.NewLinear(dense.New[float32](0, 2), nil, "")
			return err
		},
		"layer: w[1][0] = -65520 is beyond the range of F16": func() error {
			_, err := layer.NewLinear(dense.Of(2, 1, []float64{65519, -65520}), nil, safetensors.F16)
			return err
		},
		"layer: w[0][1] = 3.4e+38 is beyond the range of BF16": func() error {
			_, err := layer.NewLinear(dense.Of(1, 2, []float32{3.38e38, 3.4e38}), nil, safetensors.BF16)
			return err
		},
		"layer: Key[0][0] = 1e+06 is beyond the range of F16": func() error {
			p := layer.Projections[float32]{Query: dense.Of(1, 1, []float32{1}), Key: dense.Of(1, 1, []float32{1e6}), Value: dense.Of(1, 1, []float32{1})}
			one := must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: 1}, must.Have(performer.NewExact[float32](performer.ExactOptions{}))))
			_, err := layer.New(p, one, layer.Options{Weights: safetensors.F16})
			return err
		},
		"layer: w: dense: 1 elements cannot hold a 3×2 matrix of stride 2": func() error {
			_, err := layer.NewLinear(dense.Matrix[float32]{Rows: 3, Cols: 2, Stride: 2, Data: make([]float32, 1)}, nil, "")
			return err
		},
	} {
		assert.ErrorContains(t, f(), want)
	}
	// The largest numbers, and infinity itself, keep their kind.
	for weights, v := range map[safetensors.DType]float64{safetensors.F16: 65519, safetensors.BF16: 0x1.fefffffp127} {
		row := must.Have(layer.NewLinear(dense.Of(1, 2, []float64{v, math.Inf(-1)}), nil, weights)).Row(nil, 0)
		assert.True(t, row[0] > v/2 && !math.IsInf(row[0], 0) && math.IsInf(row[1], -1), "%s: %v", weights, row)
	}
	l := must.Have(layer.NewLinear(w, nil, safetensors.BF16))
	assert.PanicsWithValue(t, "layer: x is 1×3, want 2 columns", func() { l.Apply(dense.Matrix[float32]{}, dense.New[float32](1, 3)) })
	assert.PanicsWithValue(t, "layer: Row(3) into 0 elements of a Linear of 3×2", func() { l.Row(nil, 3) })
	assert.PanicsWithValue(t, "layer: Row(0) into 1 elements of a Linear of 3×2", func() { l.Row(make([]float32, 1), 0) })
}

func TestLinearAllocatesNothing(t *testing.T) {
	l := must.Have(layer.NewLinear(dense.New[float32](1024, 1024), make([]float32, 1024), safetensors.BF16))
	x, y, row := dense.New[float32](1, 1024), dense.New[float32](1, 1024), make([]float32, 1024)
	l.Apply(y, x)
	assert.Zero(t, testing.AllocsPerRun(20, func() { l.Apply(y, x); l.Row(row, 3) }))
}

// Layers keep the weights of a file in 16 bits and write them so. Outputs are those of the same
// numbers as elements T, bit for bit.
//
//ci:portable
func TestShortWeights(t *testing.T) {
	densetest.Both(t, testShortWeights[float32], testShortWeights[float64])
}

func testShortWeights[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(812))
	for name, w := range map[string]layer.Widths{
		"together": {Input: 64, Heads: 4, KeyHeads: 2, Bias: true}, "bare": {Input: 40, Heads: 2, NoOutput: true},
		"separate": {Input: 64, Keys: 32, Values: 20, Heads: 4},
	} {
		p := must.Have(layer.Draw[T](w, densetest.Source(813)))
		keyHeads := w.KeyHeads
		if w.KeyHeads == 0 {
			keyHeads = w.Heads
		}
		attention := batch(w.Heads, keyHeads, must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})))
		for dtype, round := range short[T]() {
			l := must.Have(layer.New(p, attention, layer.Options{Weights: dtype}))
			var file, again bytes.Buffer
			require.NoError(t, l.Write(&file, "x."))
			content := must.Have(safetensors.Read(bytes.NewReader(file.Bytes())))
			for name, x := range content.Tensors {
				assert.Equal(t, len(x.Shape) == 2, x.DType == dtype, "%s has type %s", name, x.DType)
			}
			kept := must.Have(layer.Read(content, "x.", attention, layer.Options{}))
			require.NoError(t, kept.Write(&again, "x."))
			assert.Equal(t, file.Bytes(), again.Bytes(), name)
			wide := must.Have(layer.Read(content, "x.", attention, layer.Options{Weights: typeName[T]()}))
			assert.Equal(t, wide.Projections(), kept.Projections())
			assert.Equal(t, round(p.Query.Data), kept.Projections().Query.Data)

			q, k, v := densetest.Normal[T](rng, 7, w.Input, 0, 1), densetest.Normal[T](rng, 9, p.Key.Cols, 0, 1), densetest.Normal[T](rng, 9, p.Value.Cols, 0, 1)
			assert.Equal(t, wide.ForwardCross(dense.Matrix[T]{}, q, k, v, performer.Sequences{}), kept.ForwardCross(dense.Matrix[T]{}, q, k, v, performer.Sequences{}))
			if p.Key.Cols == w.Input && p.Value.Cols == w.Input {
				want, got := must.Have(wide.NewState()), must.Have(kept.NewState())
				for i := range q.Rows {
					x := q.RowRange(i, i+1)
					assert.Equal(t, wide.Step(dense.Matrix[T]{}, x, want), kept.StepAll(dense.Matrix[T]{}, x, []*performer.State[T]{got}))
				}
			}

			assert.NoError(t, wide.CanBackward())
			text := "layer: gradients with weights of type " + string(dtype) + ", want Options.Weights = " + string(typeName[T]())
			assert.EqualError(t, kept.CanBackward(), text)
			_, _, _, out := kept.Dims()
			assert.PanicsWithValue(t, text, func() {
				kept.BackwardCross(dense.Matrix[T]{}, dense.Matrix[T]{}, dense.Matrix[T]{}, nil, q, k, v, dense.New[T](7, out), performer.Sequences{})
			})

			// Matrices of several types become T.
			for name, x := range content.Tensors {
				if len(x.Shape) == 2 && name != "x.in_proj_weight" && name != "x.W_key.weight" && name != "x.q_proj_weight" {
					content.Tensors[name] = tensor(x.Shape, must.Have(safetensors.Floats[float64](x)))
				}
			}
			assert.NoError(t, must.Have(layer.Read(content, "x.", attention, layer.Options{})).CanBackward(), name)
		}
	}
	p := must.Have(layer.Draw[T](layer.Widths{Input: 4, Heads: 2}, densetest.Source(813)))
	_, err := layer.New(p, exactBatch[T](2, 2), layer.Options{Weights: "I8"})
	assert.EqualError(t, err, `layer: Options.Weights = "I8", want F16, BF16 or `+string(typeName[T]()))
}
