package performer_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// allOptions are the options of one kind of attention, of which each kind reads some.
type allOptions struct {
	Exact  performer.ExactOptions
	Linear performer.LinearOptions
}

// others returns values of an option that are not x.
func others(x reflect.Value) (all []reflect.Value) {
	switch x.Kind() {
	case reflect.Bool:
		return []reflect.Value{reflect.ValueOf(!x.Bool())}
	case reflect.Int:
		for _, n := range []int{0, 4, 8, 16, 29} {
			if n != int(x.Int()) {
				all = append(all, reflect.ValueOf(n))
			}
		}
	case reflect.Float64:
		for _, n := range []float64{0, 0.25, 2} {
			if n != x.Float() {
				all = append(all, reflect.ValueOf(n))
			}
		}
	}
	return all
}

// A State takes the tokens of another one, by Merge or as bytes, only if the attention of both
// gives the same outputs. Otherwise the error names the option and both of its values. Each option
// of each kind of attention gets other values, of which the constructor takes one at least.
func TestStatesOfOtherOptions(t *testing.T) {
	densetest.Both(t, testStatesOfOtherOptions[float32], testStatesOfOtherOptions[float64])
}

func testStatesOfOtherOptions[T dense.Float](t *testing.T) {
	const n, d, heads = 300, 4, 2
	rng, none := rand.New(rand.NewPCG(1, 2)), dense.Matrix[T]{}
	q, k, v := densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, heads*d, 0, 1)
	elu := must.Have(rff.Draw[T](rff.ELU{D: d}, nil))
	taken := map[string]int{}
	softmax := performer.Softmax{Scale: 0.3}
	for name, options := range map[string]allOptions{
		"exact":                    {Exact: performer.ExactOptions{Softmax: softmax}},
		"exact in bits":            {Exact: performer.ExactOptions{Softmax: softmax, Bits: 8, Softcap: 3, SinkWeight: 5}},
		"exact with sinks":         {Exact: performer.ExactOptions{Softmax: softmax, Window: 20, Sinks: 3, Slope: 0.1}},
		"exact with sinks in bits": {Exact: performer.ExactOptions{Softmax: softmax, Window: 20, Sinks: 3, KeyBits: 8, ValueBits: 4}},
		"exact with chunks":        {Exact: performer.ExactOptions{Softmax: softmax, Chunk: 20}},
		"linear":                   {},
	} {
		part, fields := "Exact", reflect.TypeOf(options.Exact)
		form := func(o allOptions) (performer.Attention[T], error) { return performer.NewExact[T](o.Exact) }
		if name == "linear" {
			part, fields = "Linear", reflect.TypeOf(options.Linear)
			form = func(o allOptions) (performer.Attention[T], error) { return performer.NewLinear(elu, o.Linear) }
		}
		state := func(o allOptions) (*performer.State[T], error) {
			a, err := form(o)
			if err != nil {
				return nil, err
			}
			return must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads}, a)).NewState(d, d)
		}
		base := must.Have(state(options))
		want := base.Clone().Step(none, q, k, v)
		base.Append(k.RowRange(0, 150), v.RowRange(0, 150))
		before := must.Have(base.MarshalBinary())
		for _, f := range reflect.VisibleFields(fields) {
			if f.Anonymous {
				continue
			}
			field, at := f.Name, f.Index
			taken[part+"."+field] += 0
			now := reflect.ValueOf(options).FieldByName(part).FieldByIndex(at)
			values := others(now)
			require.NotEmpty(t, values, "%s is of a kind that the test does not know", field)
			if field == "TopK" || field == "Tolerance" {
				values = nil // they change what queries read, and not what a State holds
			}
			for _, value := range values {
				o := options
				reflect.ValueOf(&o).Elem().FieldByName(part).FieldByIndex(at).Set(value)
				s, err := state(o)
				if err != nil {
					continue
				}
				taken[part+"."+field]++
				title := fmt.Sprintf("%s, %s = %v for %v", name, field, value, now)
				alike := densetest.Identical(want, s.Clone().Step(none, q, k, v))
				s.Append(k, v)
				merge := base.Merge(s)
				read := base.UnmarshalBinary(must.Have(s.MarshalBinary()))
				if merge == nil || read == nil {
					assert.True(t, alike, "%s is taken: %v, %v", title, merge, read)
					require.NoError(t, base.UnmarshalBinary(before))
					continue
				}
				assert.Equal(t, before, must.Have(base.MarshalBinary()), "%s: what is refused changes nothing", title)
				assertNames(t, read, field, value, now, title)
				assertNames(t, merge, field, value, now, title)
			}
		}
	}
	delete(taken, "Exact.TopK")
	delete(taken, "Exact.Tolerance")
	for field, times := range taken {
		assert.NotZero(t, times, "no constructor takes another value of %s", field)
	}
}

// assertNames asserts that an error names an option and two of its values. A State without Bits has
// no codes, and the error says so.
func assertNames(t *testing.T, err error, field string, value, now reflect.Value, title string) {
	t.Helper()
	if strings.HasSuffix(field, "Bits") && (value.Int() == 0 || now.Int() == 0) {
		assert.Regexp(t, "codes|Bits|other attention", err.Error(), title)
		return
	}
	words := []string{strings.TrimPrefix(strings.TrimPrefix(field, "Key"), "Value"), fmt.Sprint(now)}
	switch {
	case !value.IsZero() || slices.Contains([]string{"Window", "Sinks", "Chunk", "Slope", "Softcap", "SinkWeight"}, field):
		words = append(words, fmt.Sprint(value))
	case value.Kind() == reflect.Bool:
		words = append(words, "false")
	default: // zero stands for a default
	}
	for _, word := range words {
		assert.Contains(t, err.Error(), word, title)
	}
}

// Heads that differ only in SinkWeight share a memory, which has the SinkWeight of each head.
func TestStatesOfOtherSinkWeights(t *testing.T) {
	for _, bits := range []int{0, 8} {
		state := func(weights ...float64) *performer.State[float64] {
			var heads []performer.Attention[float64]
			for _, w := range weights {
				heads = append(heads, must.Have(performer.NewExact[float64](performer.ExactOptions{Bits: bits, SinkWeight: w})))
			}
			return must.Have(must.Have(performer.NewBatch(performer.BatchOptions{Heads: len(heads), KeyHeads: 1}, heads...)).NewState(2, 2))
		}
		s, swapped := state(3, 3, 7), state(3, 7, 3)
		x := densetest.Filled[float64](200, 2, 1)
		swapped.Append(x, x)
		assert.EqualError(t, s.Merge(swapped), `performer: other with "SinkWeight = 7", want "SinkWeight = 3"`)
		assert.EqualError(t, s.UnmarshalBinary(must.Have(swapped.MarshalBinary())), `performer: state with "SinkWeight = 7", want "SinkWeight = 3"`)
		assert.Zero(t, s.Len())
		same := state(3, 3, 7)
		same.Append(x, x)
		assert.NoError(t, s.Merge(same))
		assert.NoError(t, s.UnmarshalBinary(must.Have(same.MarshalBinary())))
		assert.Equal(t, 200, s.Len())
	}
}
