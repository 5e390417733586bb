package performer_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// The numbers of small states, worked out by hand: one feature φ(x) = x, one key 2 with value 3, so
// that the sums are 6 and 2; and keys and values of exact attention with a window.
//
//ci:portable
func TestStateGolden(t *testing.T) {
	s := must.Have(attention[float64](must.Have(rff.Draw[float64](rff.Identity{D: 1}, nil)), performer.LinearOptions{}).NewState(1, 1))
	s.Append(densetest.Filled[float64](1, 1, 2), densetest.Filled[float64](1, 1, 3))
	// The point i is 2·frac(i·golden ratio) − 1, and a mark Σ 2^(i−4)·x_i.
	mark := 0.0
	for i := 1; i <= 4; i++ {
		at := float64(i) * 1.6180339887498948482
		mark = mark/2 + 2*(at-math.Floor(at)) - 1
	}
	file := must.Have(safetensors.View(must.Have(s.MarshalBinary())))
	assert.Equal(t, doubles(mark, mark), file.Tensors["state.runs.0.marks"].Data)
	assert.Equal(t, doubles(6, 2), file.Tensors["state.runs.0.doubles"].Data)
	assert.Equal(t, "m = 1", file.Metadata["state.runs.0.parameters.2"])

	// A log-feature of 2²⁸ lies two octaves less the fraction of ln 2 above that of 2²⁷·ln 2.
	logs := must.Have(attention(newExponential[float64](), performer.LinearOptions{}).NewState(1, 1))
	logs.Append(densetest.Filled[float64](1, 1, 0x1p28), densetest.Filled[float64](1, 1, 3))
	file = must.Have(safetensors.View(must.Have(logs.MarshalBinary())))
	assert.Equal(t, binary.LittleEndian.AppendUint64(nil, 1<<27+2<<52-0x62e42fefa39ef), file.Tensors["state.runs.0.words"].Data)
	assert.Equal(t, doubles(3, 1), file.Tensors["state.runs.0.doubles"].Data)

	kept := must.Have(must.Have(performer.NewExact[float64](performer.ExactOptions{Window: 9})).NewState(1, 2))
	kept.Append(dense.Of(2, 1, []float64{2, 3}), dense.Of(2, 2, []float64{4, 5, 6, 7}))
	file = must.Have(safetensors.View(must.Have(kept.MarshalBinary())))
	assert.Equal(t, doubles(2, 3, 4, 5, 6, 7), file.Tensors["state.runs.0.doubles"].Data)
	assert.Equal(t, "Window = 9", file.Metadata["state.runs.0.parameters.7"])
	assert.Equal(t, "2", file.Metadata["state.tokens"])
}

// doubles returns numbers as bytes.
func doubles(x ...float64) []byte { return must.Have(binary.Append(nil, binary.LittleEndian, x)) }

// Hostile files with a right checksum get an error that names what is wrong, and change nothing.
// TestEveryFile of tests/files has damaged files.
//
//ci:portable
func TestStateHostile(t *testing.T) {
	const run = "state.runs.0."
	s := must.Have(attention(maptest.Positive[float32](4, 3), performer.LinearOptions{}).NewState(3, 2))
	kept := must.Have(must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Scale: 0.5}})).NewState(3, 2))
	kept.Append(densetest.Filled[float32](3, 3, 1), densetest.Filled[float32](3, 2, 1))
	text := func(key, value string) func(f *safetensors.File) {
		return func(f *safetensors.File) { f.Metadata[key] = value }
	}
	number := func(tensor string, at int, bits uint64) func(f *safetensors.File) {
		return func(f *safetensors.File) {
			copy(f.Tensors[run+tensor].Data[at:], binary.LittleEndian.AppendUint64(nil, bits))
		}
	}
	for _, c := range []struct {
		into   *performer.State[float32]
		change func(f *safetensors.File)
		want   string
	}{
		{s, text("state.keyHeads", "0"), "performer: state of {Heads:1 KeyHeads:0 D:3 DV:2}, want {Heads:1 KeyHeads:1 D:3 DV:2}"},
		{s, text("state.tokens", "-1"), fmt.Sprintf("performer: state of -1 tokens, want 0 to %d", limit.Tokens)},
		{s, text("state.tokens", strconv.Itoa(limit.Tokens+1)), fmt.Sprintf("performer: state of %d tokens, want 0 to %d", limit.Tokens+1, limit.Tokens)},
		{s, text(run+"parameters.2", "m = 5"), `performer: state with "m = 5", want "m = 4"`},
		{s, number("marks", 0, 0x7ff8<<48), "performer: the features differ from those that the state belongs to"},
		{s, number("words", 0, 1<<27+1), "performer: state with exponent 134217729, want that of a finite float32"},
		{s, number("singles", 0, 0x3f800000), "performer: state with sums of a feature that no key has had"},
		{kept, text(run+"parameters.5", "Softcap = 2"), `performer: state with "Softcap = 2", want "Softcap = 0"`},
		{kept, text("state.tokens", "4"), "performer: state of 4 tokens with 0 words, 15 float32 and 0 float64, want 0, 20 and 0"},
	} {
		before := must.Have(c.into.MarshalBinary())
		assert.EqualError(t, c.into.UnmarshalBinary(must.Have(archive.Changed(before, c.change))), c.want)
		assert.Equal(t, before, must.Have(c.into.MarshalBinary()), c.want)
	}
	for _, n := range []int64{logscale.None, 0, 1 << 27, -1 << 27, logscale.ExponentOf(math.MaxFloat32), logscale.ExponentOf(-0x1p60)} {
		assert.NoError(t, s.UnmarshalBinary(must.Have(archive.Changed(must.Have(s.MarshalBinary()), number("words", 0, uint64(n))))), "%d", n)
	}
	assert.Error(t, s.UnmarshalBinary(must.Have(kept.MarshalBinary())), "keys and values are no sums")
	assert.ErrorContains(t, s.UnmarshalBinary([]byte("rfstate\x00\x05\x00\x04\x00")), "not a safetensors file", "a file of an older format")
}
