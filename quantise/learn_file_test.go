package quantise_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/quantise"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// A file of Learn that Write has not written is refused.
func TestLearnedFileErrors(t *testing.T) {
	x := decaying[float32](400, 32, 100, 1, 1)
	q := learned(t, x, 2, 1)
	sizes, bits := quantise.Bands(q)
	require.Equal(t, []int{16, 16}, sizes)
	require.Equal(t, []int{4, 0}, bits)
	require.True(t, quantise.HasMean(q))
	data := fileOf(t, codesOf(t, q, x.RowRange(0, 2)))
	word := func(name, v string) func(f *safetensors.File) {
		return func(f *safetensors.File) {
			require.Contains(t, f.Metadata, name)
			f.Metadata[name] = v
		}
	}
	number := func(name string, at int, v float64) func(f *safetensors.File) {
		return func(f *safetensors.File) {
			binary.LittleEndian.PutUint64(f.Tensors[name].Data[8*at:], math.Float64bits(v))
		}
	}
	for want, change := range map[string]func(f *safetensors.File){
		"quantise: Bits = 9, want from 1/8 to 8, or 0 for 4":           word("codes.bits", "9"),
		"quantise: Bits = NaN, want from 1/8 to 8, or 0 for 4":         word("codes.bits", "NaN"),
		"quantise: d = 0, want at least 1":                             word("codes.d", "0"),
		"quantise: 32×32 directions and a mean of 32 elements for d =": word("codes.d", "31"),
		"quantise: bands of 2 words, want at most 1":                   word("codes.learned.0.bands.0.bits", "8"),
		"quantise: band 0 is {Size:16 Bits:-1":                         word("codes.learned.0.bands.0.bits", "-1"),
		"quantise: band 0 is {Size:33":                                 word("codes.learned.0.bands.0.size", "33"),
		"quantise: bands of 31 coordinates for d = 32":                 word("codes.learned.0.bands.0.size", "15"),
		"quantise: band 1 is":                                          word("codes.learned.0.bands.1.noise", "NaN"),
		"quantise: band 0 is {Size:16 Bits:4 Step:0 ":                  word("codes.learned.0.bands.0.step", "0"),
		"quantise: the mean has the norm NaN":                          number("codes.learned.0.mean", 3, math.NaN()),
		"quantise: the mean has the norm +Inf":                         number("codes.learned.0.mean", 3, 1e300),
		"quantise: direction 0 has the element NaN": func(f *safetensors.File) {
			binary.LittleEndian.PutUint32(f.Tensors["codes.learned.0.rotation"].Data[4:], math.Float32bits(float32(math.NaN())))
		},
	} {
		_, err := quantise.View[float32](changed(t, data, change))
		assert.ErrorContains(t, err, want)
	}
}
