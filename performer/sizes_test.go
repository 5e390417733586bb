package performer

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
)

// What no memory can hold is an error that names the argument and the value.
func TestSizes(t *testing.T) {
	bothTypes(t, testSizes[float32], testSizes[float64])
}

func testSizes[T dense.Float](t *testing.T) {
	const most, large = math.MaxInt/2 + 1, 1 << 23 // memory holds large numbers, but not the square of it
	memory := func(want string, args ...any) func(f any, err error) {
		return func(_ any, err error) {
			t.Helper()
			require.ErrorContains(t, err, "performer: "+fmt.Sprintf(want, args...))
			assert.ErrorContains(t, err, " of memory, want at most ")
		}
	}
	exact := Form[T](Exact[T]{})
	elu := func(d int) *Attention[T] { return attention[T](must(rff.ELU[T](d)), Options{}) }
	recurrence := func(heads, keyHeads int, rule Rule) *Recurrence[T] {
		return must(NewRecurrence(heads, keyHeads, RecurrenceOptions[T]{Rule: rule}))
	}
	for _, n := range []int{math.MaxInt, most, most / 8} {
		memory("heads = %d: ", n)(NewHeads(exact, n))
		memory("heads = %d: ", n)(NewBatch(n, n, exact))
		memory("heads = %d: ", n)(NewBatch[T](n, 1, elu(4)))
		memory("heads = %d: ", n)(NewRecurrence(n, 1, RecurrenceOptions[T]{}))
		memory("heads = %d: ", n)(ReadMultiHead(bytes.NewReader(nil), "", n, n, exact))
		memory("dv = %d, for 1 heads of 4 features: ", n)(elu(4).NewState(n))
		memory("d = 3, dv = %d, for 2 heads of queries and 1 of keys with 3×%d sums: ", n, n)(recurrence(2, 1, DeltaRule).NewState(3, n))
		memory("d = %d, dv = 3, for 2 heads of queries and 1 of keys with %d×3 sums: ", n, n)(recurrence(2, 1, GatedRule).NewState(n, 3))
		memory("in = %d, out = 2: ", n)(NewLinearSelfAttention[T](n, 2, false, source(1)))
		memory("in = 2, out = %d: ", n)(NewLinearSelfAttention[T](2, n, true, source(1)))
		memory("d = %d, Features = 0: ", n)(NewUnbiased(n, UnbiasedOptions[T]{}, source(1)))
		memory("d = 3, Features = %d: ", n)(NewUnbiased(3, UnbiasedOptions[T]{Features: n}, source(1)))
		memory("Rotations = %d, of R^4: ", n)(NewPredictor(attention(positive[T](8, 4), Options{}), PredictorOptions{Rotations: n}, source(1)))
		memory("Widths.Heads = %d, HeadDim = 3, Input = 2: ", n)(RandomProjections[T](Widths{Input: 2, Heads: n, HeadDim: 3}, source(1)))
		memory("Widths.Heads = 2, HeadDim = %d, Input = 2: ", n)(RandomProjections[T](Widths{Input: 2, Heads: 2, HeadDim: n}, source(1)))
		memory("Widths.KeyHeads = 2, HeadDim = 3, Keys = %d: ", n)(RandomProjections[T](Widths{Input: 2, Heads: 2, HeadDim: 3, Keys: n}, source(1)))
		memory("Widths.KeyHeads = 2, HeadValues = 3, Values = %d: ", n)(RandomProjections[T](Widths{Input: 2, Heads: 2, HeadDim: 3, Values: n}, source(1)))
		memory("Widths.Heads = 2, HeadValues = 3, Output = %d: ", n)(RandomProjections[T](Widths{Input: 2, Heads: 2, HeadDim: 3, Output: n}, source(1)))
	}
	memory("dv = %d, for 1 heads of %d features: ", large, large)(elu(large).NewState(large))
	memory("dv = %d, for %d heads of 4 features: ", large, large)(must(NewHeads[T](elu(4), large)).NewState(large))
	memory("d = 1048576, dv = 1048576, for %d heads of queries and %d of keys", large, large)(recurrence(large, large, LinearRule).NewState(1<<20, 1<<20))
	memory("in = %d, out = %d: ", large, large)(NewLinearSelfAttention[T](large, large, false, source(1)))
	memory("Widths.Heads = %d, HeadDim = 64, Input = %d: ", large, large)(RandomProjections[T](Widths{Input: large, Heads: large, HeadDim: 64}, source(1)))
	if math.MaxInt > math.MaxInt32 {
		_, err := NewUnbiased(3, UnbiasedOptions[T]{Features: 2, Replicates: math.MaxInt}, source(1))
		assert.EqualError(t, err, fmt.Sprintf("performer: Replicates = %d, want at most 1099511627775", math.MaxInt))
	}
	assert.Equal(t, math.MaxInt, Crossover(Shape{Dim: 1, Values: 1, Features: math.MaxInt}))

	_, err := RandomProjections[T](Widths{Input: 2, Heads: 2, Output: most, NoOutput: true}, source(1))
	assert.NoError(t, err, "an Output that there is not has no size")
	_, err = recurrence(8, 2, GatedDeltaRule).NewState(256, 256)
	assert.NoError(t, err)
}

// One form for all heads takes no memory for each: a number of heads that a configuration
// has got wrong is seen where it does not fit, at once.
func TestManyHeads(t *testing.T) {
	const heads = 1 << 24
	for _, form := range []Form[float32]{Exact[float32]{}, attention(positive[float32](8, 4), Options{})} {
		for _, keyHeads := range []int{1, 1 << 20, heads} {
			b := must(NewBatch(heads, keyHeads, form))
			assert.Len(t, b.units, 1)
			last := b.unit(b.count - 1)
			assert.Equal(t, heads, last.to, "%T with %d heads of keys", form, keyHeads)
		}
	}
	l := must(NewMultiHead[float32](must(RandomProjections[float32](Widths{Input: 8, Heads: 2}, source(1))), 2, 2, Exact[float32]{}))
	var file bytes.Buffer
	require.NoError(t, l.Write(&file, ""))
	_, err := ReadMultiHead[float32](&file, "", heads, heads, Exact[float32]{})
	assert.EqualError(t, err, fmt.Sprintf(`performer: tensor "in_proj_weight" has shape [24 8], want a multiple of %d rows, for %d and %d heads`, 3*heads, heads, heads))
}
